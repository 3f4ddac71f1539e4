//! The kind of an error, its details and its remedies, which each error states itself.
//!
//! [`Diagnose`] is implemented beside an error's type, by an exhaustive match: a new variant does not
//! compile without a diagnosis. A variant with a cause takes over the cause's diagnosis, or adds to it,
//! whether its message is transparent or not.
//!
//! ```
//! use diagnosis::{Diagnose, Diagnosis, ErrorKind, Hint};
//!
//! #[derive(Debug, thiserror::Error)]
//! enum LoadError {
//!     #[error("no image has the name {name}")]
//!     Missing { name: String },
//!     #[error(transparent)]
//!     Io(#[from] std::io::Error),
//! }
//!
//! impl Diagnose for LoadError {
//!     fn diagnosis(&self) -> Diagnosis {
//!         match self {
//!             Self::Missing { name } => Diagnosis::new(ErrorKind::ImageNotFound)
//!                 .detail("name", name)
//!                 .hint("list the images with msb images"),
//!             Self::Io(source) => source.diagnosis(),
//!         }
//!     }
//! }
//!
//! let full = LoadError::from(std::io::Error::from(std::io::ErrorKind::StorageFull));
//! assert_eq!(full.diagnosis().kind(), ErrorKind::OutOfSpace);
//! ```

#![forbid(unsafe_code)]

mod detail;
mod hint;
mod host;
mod kind;

pub use detail::Detail;
pub use hint::{Face, Hint};
pub use host::{io_error, is_full_disk};
pub use kind::ErrorKind;

/// An error that states its kind, its details and its remedies.
pub trait Diagnose {
    /// Returns the diagnosis of the error and of its causes.
    fn diagnosis(&self) -> Diagnosis;
}

impl<E: Diagnose + ?Sized> Diagnose for Box<E> {
    fn diagnosis(&self) -> Diagnosis {
        (**self).diagnosis()
    }
}

/// The kind, the details and the remedies of an error. The default one has nothing of these.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use]
pub struct Diagnosis {
    kind: Option<ErrorKind>,
    details: Vec<(&'static str, Detail)>,
    hints: Vec<Hint>,
}

impl Diagnosis {
    /// Returns the diagnosis of an error of this kind.
    pub fn new(kind: ErrorKind) -> Self {
        Self {
            kind: Some(kind),
            ..Self::default()
        }
    }

    /// Returns the diagnosis with a named value, unless it has one of this name.
    pub fn detail(mut self, name: &'static str, value: impl Into<Detail>) -> Self {
        if self.details.iter().all(|(known, _)| *known != name) {
            self.details.push((name, value.into()));
        }
        self
    }

    /// Returns the diagnosis with a remedy after the others.
    pub fn hint(mut self, hint: impl Into<Hint>) -> Self {
        let hint = hint.into();
        if !self.hints.contains(&hint) {
            self.hints.push(hint);
        }
        self
    }

    /// Returns the diagnosis with some remedies, such as those of an `Option`, after the others.
    pub fn with_hints<H: Into<Hint>>(self, hints: impl IntoIterator<Item = H>) -> Self {
        hints.into_iter().fold(self, Self::hint)
    }

    /// Returns the diagnosis with the details and the remedies of a cause's diagnosis after its own, and with
    /// the kind of the cause if it has none.
    pub fn caused_by(self, cause: Self) -> Self {
        let kind = self.kind.or(cause.kind);
        let all = cause
            .details
            .into_iter()
            .fold(self, |all, (name, value)| all.detail(name, value));
        let all = all.with_hints(cause.hints);
        Self { kind, ..all }
    }

    /// Returns the diagnosis with this kind if it has none.
    pub fn or_kind(mut self, kind: ErrorKind) -> Self {
        self.kind.get_or_insert(kind);
        self
    }

    /// Returns the kind: [`ErrorKind::InternalError`] if neither the error nor a cause has one.
    pub fn kind(&self) -> ErrorKind {
        self.kind.unwrap_or(ErrorKind::InternalError)
    }

    /// Returns the named values, those of the error itself first.
    pub fn details(&self) -> &[(&'static str, Detail)] {
        &self.details
    }

    /// Returns the remedies, those of the error itself first.
    pub fn hints(&self) -> &[Hint] {
        &self.hints
    }

    /// Returns the remedies in the words of the command line, one on each line; `None` if no remedy is known.
    pub fn advice(&self) -> Option<String> {
        let words: Vec<_> = self
            .hints
            .iter()
            .map(|hint| hint.words(Face::CommandLine))
            .collect();
        (!words.is_empty()).then(|| words.join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_goes_before_its_cause() {
        struct Cause;
        impl Diagnose for Cause {
            fn diagnosis(&self) -> Diagnosis {
                Diagnosis::new(ErrorKind::Busy)
                    .detail("name", "inner")
                    .detail("path", "/a")
                    .hint("wait")
                    .hint("stop it")
            }
        }
        let own = Diagnosis::default().detail("name", "outer").hint("stop it");
        let diagnosis = own.caused_by(Box::new(Cause).diagnosis());
        assert_eq!(diagnosis.kind(), ErrorKind::Busy);
        let details = [
            ("name", Detail::from("outer")),
            ("path", Detail::from("/a")),
        ];
        assert_eq!(diagnosis.details(), details);
        assert_eq!(diagnosis.advice().as_deref(), Some("stop it\nwait"));
        let own = Diagnosis::new(ErrorKind::InternalError).caused_by(Cause.diagnosis());
        assert_eq!(own.kind(), ErrorKind::InternalError);
    }
}
