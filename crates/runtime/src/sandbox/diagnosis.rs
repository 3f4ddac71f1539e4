//! The diagnoses of a sandbox's own errors.

use diagnosis::{Detail, Diagnose, Diagnosis, ErrorKind, Hint};

use super::{
    AdoptError, ConnectError, CreateError, RecordError, RemoveError, RenameError, StartError,
    UpdateError, UpperError,
};

impl Diagnose for CreateError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Io { source, .. } => source.diagnosis(),
            Self::NameTaken { name } => Diagnosis::new(ErrorKind::NameTaken).detail("name", name),
            Self::InvalidName { name } => {
                Diagnosis::new(ErrorKind::InvalidArgument).detail("name", name)
            }
            Self::Command(source) => source.diagnosis(),
            Self::Mount(source) => source.diagnosis(),
            Self::Volume(source) => source.diagnosis(),
            Self::Upper(source) => source.diagnosis(),
            Self::Adopt(source) | Self::Share(source) => source.diagnosis(),
            Self::Stage(source) => source.diagnosis(),
        }
    }
}

impl Diagnose for UpperError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Io(source) => source.diagnosis(),
            Self::Image { source, .. } => Diagnosis::of_foreign(source),
            Self::Open { source, .. } => Diagnosis::of_foreign(source),
            Self::Patch(source) => source.diagnosis(),
            Self::Native(source) => source.diagnosis(),
            Self::Disk(source) => source.diagnosis(),
            Self::Layout { source, .. } => Diagnosis::of_foreign(source),
        }
    }
}

impl Diagnose for AdoptError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Io(source) => source.diagnosis(),
            Self::Pool(source) => Diagnosis::of_foreign(source),
            Self::Flush(source) => Diagnosis::of_foreign(source),
        }
    }
}

impl Diagnose for StartError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Kernel(source) => source.diagnosis(),
            Self::BootDisk(source) => source.diagnosis(),
            Self::RootDisk(_) => Diagnosis::new(ErrorKind::StartError)
                .hint("restore the disk image, or create a new sandbox from the changed one"),
            Self::Publish(source) => source.diagnosis(),
            Self::Mount(source) => source.diagnosis(),
            Self::Volume(source) => source.diagnosis(),
            Self::Timeline(source) => source.diagnosis(),
            Self::Io { source, .. } => source.diagnosis(),
            Self::Ended { log_tail, .. } => {
                with_last_words(Diagnosis::new(ErrorKind::MachineFailed), log_tail)
            }
            Self::Silent { limit_s, log_tail } => {
                let late = Diagnosis::new(ErrorKind::BootTimeout)
                    .detail("limit_s", *limit_s)
                    .hint(Hint::more_time_to_boot());
                with_last_words(late, log_tail)
            }
            Self::Agent(source) => {
                Diagnosis::new(ErrorKind::MachineFailed).caused_by(source.diagnosis())
            }
            Self::Own(source) => source.diagnosis(),
        }
    }
}

fn with_last_words(diagnosis: Diagnosis, log_tail: &[String]) -> Diagnosis {
    match log_tail {
        [] => diagnosis,
        lines => diagnosis.detail("last_words", Detail::Lines(lines.to_vec())),
    }
}

impl Diagnose for RemoveError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Running { name } => Diagnosis::new(ErrorKind::SandboxRunning)
                .detail("name", name)
                .hint(Hint::stop_or_remove(name)),
            Self::Io { source, .. } => source.diagnosis(),
        }
    }
}

impl Diagnose for RenameError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Running { name } => Diagnosis::new(ErrorKind::SandboxRunning)
                .detail("name", name)
                .hint(Hint::stop(name)),
            Self::Name(source) => source.diagnosis(),
            Self::Io { source, .. } => source.diagnosis(),
        }
    }
}

impl Diagnose for UpdateError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Shrinks { .. } | Self::TooLarge { .. } => {
                Diagnosis::new(ErrorKind::InvalidArgument)
            }
            Self::Rules { source } => source.diagnosis(),
            Self::Gone { name } => Diagnosis::new(ErrorKind::SandboxNotFound).detail("name", name),
            Self::Io { source, .. } => source.diagnosis(),
        }
    }
}

impl Diagnose for ConnectError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::NotRunning { name } => Diagnosis::new(ErrorKind::NotRunning)
                .detail("name", name)
                .hint(Hint::start(name)),
            Self::Starting { name } => Diagnosis::new(ErrorKind::NotRunning).detail("name", name),
            Self::Paused { name } => Diagnosis::new(ErrorKind::SandboxPaused)
                .detail("name", name)
                .hint(Hint::unpause(name)),
            Self::NotPaused { name } => Diagnosis::new(ErrorKind::NotPaused).detail("name", name),
            Self::Io { source, .. } => source.diagnosis(),
            // A process that was stopped may continue.
            Self::Stopped { name, .. } => Diagnosis::new(ErrorKind::Busy).detail("name", name),
            Self::Agent { source, .. } => source.diagnosis(),
            Self::Immortal { .. } => Diagnosis::default(),
        }
    }
}

impl Diagnose for RecordError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Damaged { .. } => Diagnosis::default().hint(
                "restore the sandbox's directory from a backup, or remove the sandbox with msb rm",
            ),
            Self::Newer { .. } | Self::UnknownField { .. } | Self::Unknown { .. } => {
                Diagnosis::new(ErrorKind::VersionMismatch)
                    .hint("use the msb that made the sandbox, or a later one")
            }
        }
    }
}
