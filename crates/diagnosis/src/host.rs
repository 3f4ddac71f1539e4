//! Errors of the host, and errors of other crates, which state nothing.

use std::error::Error;
use std::{fmt, io};

use super::{Diagnose, Diagnosis, ErrorKind};

impl Diagnosis {
    /// Returns the diagnosis of an error that implements no [`Diagnose`]: that of the first error of the
    /// host among it and its causes that has a kind.
    pub fn of_foreign(error: &(dyn Error + 'static)) -> Self {
        let mut next = Some(error);
        while let Some(cause) = next {
            let diagnosis = cause.downcast_ref().map(io::Error::diagnosis);
            if let Some(found) = diagnosis.filter(|found| found != &Self::default()) {
                return found;
            }
            next = cause.source();
        }
        Self::default()
    }

    /// Returns the diagnosis of an error of the host that concerns a named path.
    pub fn of_path(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::new(ErrorKind::PathNotFound),
            io::ErrorKind::AlreadyExists => Self::new(ErrorKind::PathExists),
            _ => error.diagnosis().or_kind(ErrorKind::InvalidArgument),
        }
    }
}

/// A missing file has no kind: only the operation knows whose it is.
impl Diagnose for io::Error {
    fn diagnosis(&self) -> Diagnosis {
        if is_full_disk(self) {
            return Diagnosis::new(ErrorKind::OutOfSpace);
        }
        let inner = self.get_ref().map(|inner| inner as &(dyn Error + 'static));
        let carried = inner.and_then(|inner| inner.downcast_ref::<Carried>());
        match (self.kind(), carried, inner) {
            (_, Some(carried), _) => carried.diagnosis.clone(),
            (io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem, ..) => {
                Diagnosis::new(ErrorKind::PermissionDenied)
            }
            (.., Some(inner)) => Diagnosis::of_foreign(inner),
            (.., None) => Diagnosis::default(),
        }
    }
}

/// Returns true if a disk is full, or the user's share of it.
pub fn is_full_disk(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}

/// Returns an error of the host that carries another error, with its diagnosis.
pub fn io_error<E>(kind: io::ErrorKind, error: E) -> io::Error
where
    E: Diagnose + Error + Send + Sync + 'static,
{
    let diagnosis = error.diagnosis();
    let error = Box::new(error);
    io::Error::new(kind, Carried { diagnosis, error })
}

/// The content of [`io_error`].
struct Carried {
    diagnosis: Diagnosis,
    error: Box<dyn Error + Send + Sync>,
}

impl fmt::Debug for Carried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl fmt::Display for Carried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl Error for Carried {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.error.source()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot read it")]
    struct Unreadable(#[source] io::Error);

    impl Diagnose for Unreadable {
        fn diagnosis(&self) -> Diagnosis {
            Diagnosis::new(ErrorKind::VersionMismatch).hint("use a later msb")
        }
    }

    fn denied() -> io::Error {
        io::ErrorKind::PermissionDenied.into()
    }

    #[test]
    fn a_foreign_error_has_the_kind_of_its_cause() {
        let kind = |error: &(dyn Error + 'static)| Diagnosis::of_foreign(error).kind();
        assert_eq!(kind(&Unreadable(denied())), ErrorKind::PermissionDenied);
        let inside = io::Error::other(Unreadable(denied()));
        assert_eq!(kind(&inside), ErrorKind::PermissionDenied);
        let missing = Unreadable(io::ErrorKind::NotFound.into());
        assert_eq!(Diagnosis::of_foreign(&missing), Diagnosis::default());
    }

    #[test]
    fn an_error_of_the_host_keeps_the_diagnosis_that_it_carries() {
        let error = io_error(io::ErrorKind::InvalidData, Unreadable(denied()));
        assert_eq!(error.to_string(), "cannot read it");
        assert_eq!(error.diagnosis().kind(), ErrorKind::VersionMismatch);
        assert_eq!(
            error.diagnosis().advice().as_deref(),
            Some("use a later msb")
        );
        let cause = error.source().map(ToString::to_string);
        assert_eq!(cause, Some(denied().to_string()));
    }
}
