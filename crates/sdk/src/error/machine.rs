//! Errors of a start: the kernel, the VMM, the machine.

use std::error::Error as StdError;
use std::io;

use msb_runtime::network::PublishError;
use msb_runtime::{KernelError, StartError};
use msb_vmm::ChooseError;

use super::ErrorKind;
use super::hint::Hint;
use super::meaning::Meaning;
use super::sandboxes::{of_mount, of_volume};

pub(super) fn meaning(cause: &(dyn StdError + 'static)) -> Option<Meaning> {
    if let Some(error) = cause.downcast_ref::<StartError>() {
        return of_start(error);
    }
    if let Some(error) = cause.downcast_ref::<KernelError>() {
        return Some(
            Meaning::new(ErrorKind::KernelMissing).hint(Some(Hint::kernel(error.remedy()))),
        );
    }
    if let Some(error) = cause.downcast_ref::<ChooseError>() {
        let mut meaning = Meaning::new(ErrorKind::VmmMissing);
        meaning.hints = error.hints().into_iter().map(Into::into).collect();
        return Some(meaning);
    }
    if let Some(error) = cause.downcast_ref::<PublishError>() {
        return Some(of_publish(error));
    }
    None
}

fn of_start(error: &StartError) -> Option<Meaning> {
    match error {
        StartError::Ended { log_tail, .. } => Some(Meaning {
            last_words: log_tail.clone(),
            ..Meaning::new(ErrorKind::MachineFailed)
        }),
        StartError::Silent { limit_s, log_tail } => Some(
            Meaning {
                last_words: log_tail.clone(),
                ..Meaning::new(ErrorKind::BootTimeout)
            }
            .detail("limit_s", *limit_s)
            .hint(Some(Hint::more_time_to_boot())),
        ),
        // Transparent errors do not appear among the causes.
        StartError::Mount(error) => Some(of_mount(error)),
        StartError::Volume(error) => of_volume(error),
        StartError::Agent(_) => Some(Meaning::new(ErrorKind::MachineFailed)),
        StartError::RootDisk(_) => Some(Meaning::new(ErrorKind::StartError).hint(Some(
            "restore the disk image, or create a new sandbox from the changed one".to_owned(),
        ))),
        StartError::Kernel(_)
        | StartError::BootDisk(_)
        | StartError::Publish(_)
        | StartError::Timeline(_)
        | StartError::Own(_)
        | StartError::Io { .. } => None,
    }
}

fn of_publish(error: &PublishError) -> Meaning {
    let kind = match error.source.kind() {
        io::ErrorKind::AddrInUse => ErrorKind::PortInUse,
        io::ErrorKind::PermissionDenied => ErrorKind::PermissionDenied,
        _ => ErrorKind::InvalidArgument,
    };
    Meaning::new(kind)
        .detail("host_port", error.publish.host.port())
        .detail("host_address", error.publish.host.ip().to_string())
}
