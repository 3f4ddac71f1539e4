//! The filter of system calls: a profile as a program of classic BPF.

mod action;
mod compile;
mod profile;
mod syscalls;
#[cfg(test)]
mod tests;

use container_plan::SeccompFilter;

use crate::node::Fields;
use crate::plan::Note;
use crate::{Architecture, Refusal};

use profile::Profile;

/// An interface of system calls, which has its own numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Abi {
    X86_64,
    /// Programs for 32-bit x86, on a kernel for x86-64.
    X86,
    Aarch64,
}

impl Abi {
    const ALL: [Self; 3] = [Self::X86_64, Self::X86, Self::Aarch64];

    /// Returns `AUDIT_ARCH_*` (`include/uapi/linux/audit.h`), which a filter finds in `struct seccomp_data`.
    const fn audit_number(self) -> u32 {
        match self {
            Self::X86_64 => 0xc000_003e,
            Self::X86 => 0x4000_0003,
            Self::Aarch64 => 0xc000_00b7,
        }
    }

    /// Returns true if arguments have 32 bits.
    const fn is_32_bit(self) -> bool {
        matches!(self, Self::X86)
    }
}

/// Plans the filter of a profile.
pub(crate) fn plan(
    mut fields: Fields,
    architecture: Architecture,
    notes: &mut Vec<Note>,
) -> Result<SeccompFilter, Refusal> {
    let default = fields.require("defaultAction")?;
    let abis = profile::abis(&fields.list("architectures")?, architecture)?;
    let flags = fields.take("flags");
    let profile = Profile::read(&default, &mut fields)?;
    let program = compile::compile(&profile, &abis);
    if program.len() > container_plan::limits::FILTER_INSTRUCTIONS_MAX {
        let reason = "the profile has more than 4,096 instructions";
        return Err(default.refuse(reason, Some("use a profile with fewer conditions")));
    }
    let mut filter = SeccompFilter::new(&program);
    profile::set_flags(flags, &mut filter, notes)?;
    fields.finish(notes)?;
    Ok(filter)
}
