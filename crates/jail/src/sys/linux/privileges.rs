use std::io;

use rustix::process::{
    DumpableBehavior, Resource, Rlimit, geteuid, getrlimit, set_dumpable_behavior, setrlimit,
};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, capability_is_in_bounding_set,
    clear_ambient_capability_set, remove_capability_from_bounding_set, set_capabilities,
    set_no_new_privs,
};

use crate::jail::require;
use crate::{JailError, LayerStatus, Limits, Report, Strictness};

/// A core-dump limit that also applies if the kernel pipes core dumps to a program. Such a pipe
/// ignores every limit but 1 (`coredump_pipe`, fs/coredump.c), and no core dump is that short.
const NO_CORE_BYTES: u64 = 1;

/// Gives up privileges, for the calling thread and everything that it starts.
///
/// These are new privileges, capabilities, core dumps, being traced by other processes of the user,
/// and resources beyond `limits`. Must be called while the process has one thread.
///
/// # Errors
/// If the kernel refuses one of these.
pub fn renounce(limits: &Limits, strictness: Strictness) -> Result<Report, JailError> {
    let mut report = Report::default();
    if strictness == Strictness::Off {
        return Ok(report);
    }
    set_no_new_privs(true).map_err(refused("renounce new privileges"))?;
    drop_capabilities(limits.any_owner).map_err(refused("renounce capabilities"))?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(refused("renounce core dumps"))?;
    limit(limits).map_err(refused("limit the process"))?;
    let who = match (geteuid().is_root(), limits.any_owner) {
        (true, true) => "root with the right to files of other users only",
        (true, false) => "root without capabilities",
        (false, _) => "an ordinary user",
    };
    report.add("privileges", LayerStatus::On(who.to_owned()));
    require(&report, strictness)?;
    Ok(report)
}

fn refused<E: Into<io::Error>>(action: &'static str) -> impl FnOnce(E) -> JailError {
    move |error| JailError::Refused {
        action,
        source: error.into(),
    }
}

/// Drops all capabilities irrevocably, also those of root. With `any_owner`, root keeps one.
fn drop_capabilities(any_owner: bool) -> rustix::io::Result<()> {
    let kept = if any_owner && geteuid().is_root() {
        CapabilitySet::DAC_OVERRIDE
    } else {
        CapabilitySet::empty()
    };
    for number in 0..u64::BITS {
        let capability = CapabilitySet::from_bits_retain(1 << number);
        match capability_is_in_bounding_set(capability) {
            Ok(true) if !kept.contains(capability) => {}
            Ok(_) => continue,
            // The number is beyond the last capability of this kernel.
            Err(_) => break,
        }
        match remove_capability_from_bounding_set(capability) {
            // A process that may not remove one has none: without new privileges the bounding set
            // has no effect.
            Err(rustix::io::Errno::PERM) => break,
            other => other?,
        }
    }
    clear_ambient_capability_set()?;
    let left = kept & capabilities(None)?.permitted;
    let sets = CapabilitySets {
        effective: left,
        permitted: left,
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, sets)
}

fn limit(limits: &Limits) -> rustix::io::Result<()> {
    lower(Resource::Core, NO_CORE_BYTES)?;
    if let Some(open_files) = limits.open_files {
        lower(Resource::Nofile, open_files)?;
    }
    if let Some(file_bytes) = limits.file_bytes {
        lower(Resource::Fsize, file_bytes)?;
    }
    if let Some(data_bytes) = limits.data_bytes {
        lower(Resource::Data, data_bytes)?;
    }
    Ok(())
}

/// Lowers a limit irrevocably. A lower limit stays.
fn lower(resource: Resource, value: u64) -> rustix::io::Result<()> {
    let maximum = getrlimit(resource).maximum;
    let value = maximum.map_or(value, |maximum| maximum.min(value));
    setrlimit(
        resource,
        Rlimit {
            current: Some(value),
            maximum: Some(value),
        },
    )
}
