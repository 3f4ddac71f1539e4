mod allow;
mod deny;
mod network;
mod sockets;

use std::collections::BTreeMap;
use std::io;

use libc::c_long;
use rustix::io::Errno;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

use crate::{Calls, JailError, LayerStatus};

/// Rules by the number of their call. An empty list of rules applies to every call of that number.
pub(super) type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Restricts the thread to these calls. Others fail with `EPERM`.
pub(crate) fn restrict(calls: Calls) -> Result<LayerStatus, JailError> {
    let filters = filters(calls).map_err(|error| refused(io::Error::other(error)))?;
    for filter in &filters {
        match seccompiler::apply_filter(filter) {
            Ok(()) => {}
            Err(seccompiler::Error::Seccomp(error)) if is_lacking(&error) => {
                return Ok(LayerStatus::Off(
                    "this kernel has no seccomp filters".to_owned(),
                ));
            }
            Err(error) => return Err(refused(io::Error::other(error))),
        }
    }
    Ok(LayerStatus::On(
        match calls {
            Calls::Supervisor | Calls::Network | Calls::Sockets => "measured calls only",
            Calls::Vmm | Calls::Share | Calls::Starter => "dangerous calls refused",
        }
        .to_owned(),
    ))
}

fn is_lacking(error: &io::Error) -> bool {
    [Errno::INVAL, Errno::NOSYS]
        .map(|errno| Some(errno.raw_os_error()))
        .contains(&error.raw_os_error())
}

fn refused(source: io::Error) -> JailError {
    JailError::Refused {
        action: "restrict the process's system calls with seccomp",
        source,
    }
}

/// Returns the filters in the order in which they are applied. The main one is last: it blocks the
/// application of further filters.
fn filters(calls: Calls) -> Result<Vec<BpfProgram>, seccompiler::BackendError> {
    let main = match calls {
        Calls::Supervisor => allow(allow::rules()?)?,
        Calls::Network => allow(network::rules()?)?,
        Calls::Sockets => allow(sockets::rules()?)?,
        Calls::Vmm | Calls::Share | Calls::Starter => refuse(deny::rules(calls)?, Errno::PERM)?,
    };
    // A filter cannot read the flags of `clone3`, which lie in memory. Without `clone3`, libc calls
    // `clone`.
    let no_clone3 = refuse(unconditional(&[libc::SYS_clone3]), Errno::NOSYS)?;
    Ok(vec![no_clone3, main])
}

fn allow(rules: Rules) -> Result<BpfProgram, seccompiler::BackendError> {
    let refusal = SeccompAction::Errno(errno(Errno::PERM));
    filter(rules, refusal, SeccompAction::Allow)
}

fn refuse(rules: Rules, error: Errno) -> Result<BpfProgram, seccompiler::BackendError> {
    let action = SeccompAction::Errno(errno(error));
    filter(rules, SeccompAction::Allow, action)
}

fn filter(
    rules: Rules,
    otherwise: SeccompAction,
    matched: SeccompAction,
) -> Result<BpfProgram, seccompiler::BackendError> {
    SeccompFilter::new(rules, otherwise, matched, ARCHITECTURE)?.try_into()
}

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: TargetArch = TargetArch::x86_64;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: TargetArch = TargetArch::aarch64;

fn errno(error: Errno) -> u32 {
    error.raw_os_error().unsigned_abs()
}

fn unconditional(calls: &[c_long]) -> Rules {
    calls.iter().map(|call| (*call, Vec::new())).collect()
}

/// Returns a rule for one call, with a condition on the low 32 bits of an argument.
fn conditional(
    argument: u8,
    operator: SeccompCmpOp,
    value: u64,
) -> Result<SeccompRule, seccompiler::BackendError> {
    let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)?;
    SeccompRule::new(vec![condition])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_filter_compiles_and_fits_the_kernel() {
        // `BPF_MAXINSNS` (uapi/linux/bpf_common.h).
        const INSTRUCTIONS_MAX: usize = 4096;
        for calls in [
            Calls::Supervisor,
            Calls::Network,
            Calls::Sockets,
            Calls::Vmm,
            Calls::Share,
            Calls::Starter,
        ] {
            for filter in filters(calls).unwrap() {
                assert!(
                    filter.len() < INSTRUCTIONS_MAX,
                    "{calls:?}: {}",
                    filter.len()
                );
            }
        }
    }
}
