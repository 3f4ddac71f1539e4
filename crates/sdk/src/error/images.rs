//! Errors of images: the store, pulls and loads.

use std::error::Error as StdError;
use std::io;

use image_export::{PushError, SaveError};
use image_import::{AddError, ArchiveError, LoadError, PullError};
use image_store::{
    CheckError, DocumentsError, FindError, LayerTarError, OpenError, PruneError, RemoveError,
    TagError,
};
use oci_registry::{LoginError, RegistryError};

use super::ErrorKind;
use super::meaning::Meaning;

/// The hint if msb cannot write to its home.
const HOME_REMEDY: &str =
    "msb keeps images and sandboxes there; set MSB_HOME to a directory that you can write";

pub(super) fn meaning(cause: &(dyn StdError + 'static)) -> Option<Meaning> {
    if let Some(error) = cause.downcast_ref::<FindError>() {
        return Some(of_find(error));
    }
    if let Some(error) = cause.downcast_ref::<PullError>() {
        return Some(of_pull(error));
    }
    if let Some(error) = cause.downcast_ref::<RegistryError>() {
        return Some(Meaning::new(of_registry(error)));
    }
    if let Some(error) = cause.downcast_ref::<AddError>() {
        return Some(Meaning::default().hint(error.hint()));
    }
    if let Some(error) = cause.downcast_ref::<PushError>() {
        return Some(of_push(error));
    }
    if let Some(error) = cause.downcast_ref::<LoginError>() {
        return Some(of_login(error));
    }
    if let Some(error) = cause.downcast_ref::<LoadError>() {
        return Some(Meaning::default().hint(error.hint()));
    }
    if let Some(error) = cause.downcast_ref::<ArchiveError>() {
        return of_archive(error);
    }
    // The archive's error is boxed, and the box is what appears among the causes.
    if let Some(error) = cause.downcast_ref::<Box<ArchiveError>>() {
        return of_archive(error);
    }
    if let Some(error) = cause.downcast_ref::<CheckError>() {
        return Some(Meaning::default().hint(error.hint()));
    }
    if let Some(error) = cause.downcast_ref::<RemoveError>() {
        return of_remove(error);
    }
    if let Some(error) = cause.downcast_ref::<PruneError>() {
        let meaning = match error {
            PruneError::Busy => Meaning::new(ErrorKind::Busy),
            _ => Meaning::default(),
        };
        return Some(meaning.hint(error.hint().map(str::to_owned)));
    }
    if let Some(error) = cause.downcast_ref::<SaveError>() {
        return Some(of_save(error));
    }
    if let Some(error) = cause.downcast_ref::<DocumentsError>() {
        let is_old = matches!(error, DocumentsError::Absent { .. });
        return Some(of_age(is_old).hint(error.hint()));
    }
    if let Some(error) = cause.downcast_ref::<LayerTarError>() {
        let is_old = matches!(error, LayerTarError::Absent { .. });
        return Some(of_age(is_old).hint(error.hint()));
    }
    if let Some(error) = cause.downcast_ref::<TagError>() {
        return Some(of_tag(error));
    }
    if let Some(error) = cause.downcast_ref::<OpenError>() {
        return Some(of_open(error));
    }
    None
}

/// Returns the meaning of a home that cannot be used. A full disk has a hint of its own.
fn of_open(error: &OpenError) -> Meaning {
    let source = error.source().and_then(|source| source.downcast_ref());
    let is_full = source.is_some_and(|source: &io::Error| {
        matches!(
            source.kind(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
        )
    });
    let remedy = (!is_full).then(|| HOME_REMEDY.to_owned());
    Meaning::new(ErrorKind::PermissionDenied).hint(remedy)
}

fn of_find(error: &FindError) -> Meaning {
    let meaning = match error {
        FindError::NotFound { name } | FindError::OtherPlatform { name, .. } => {
            Meaning::new(ErrorKind::ImageNotFound).detail("name", name.as_str())
        }
        FindError::Ambiguous { name, .. } => {
            Meaning::new(ErrorKind::InvalidArgument).detail("name", name.as_str())
        }
        FindError::Io(_) => Meaning::default(),
    };
    meaning.hint(error.hint())
}

fn of_pull(error: &PullError) -> Meaning {
    let meaning = match error {
        PullError::Registry { reference, source } => {
            Meaning::new(of_registry(source)).detail("name", reference.as_str())
        }
        PullError::Import { reference, .. } => {
            Meaning::default().detail("name", reference.as_str())
        }
        PullError::Io(_) => Meaning::default(),
    };
    meaning.hint(error.hint())
}

fn of_push(error: &PushError) -> Meaning {
    let meaning = match error {
        PushError::Digest { .. } => Meaning::new(ErrorKind::InvalidArgument),
        PushError::Registry { source, .. } => Meaning::new(match of_registry(source) {
            // It is the repository that is missing, not the image.
            ErrorKind::ImageNotFound => ErrorKind::RegistryError,
            kind => kind,
        }),
        _ => Meaning::default(),
    };
    meaning.hint(error.hint())
}

fn of_login(error: &LoginError) -> Meaning {
    let meaning = match error {
        LoginError::Name { .. } | LoginError::Credential { .. } => {
            Meaning::new(ErrorKind::InvalidArgument)
        }
        LoginError::Refused { .. } => Meaning::new(ErrorKind::Unauthorized),
        LoginError::Registry { source, .. } => Meaning::new(of_registry(source)),
        LoginError::Store { .. } => Meaning::default(),
    };
    meaning.hint(error.hint())
}

fn of_registry(error: &RegistryError) -> ErrorKind {
    match error {
        RegistryError::Unauthorized { .. } => ErrorKind::Unauthorized,
        RegistryError::NotFound { .. } => ErrorKind::ImageNotFound,
        _ => ErrorKind::RegistryError,
    }
}

fn of_archive(error: &ArchiveError) -> Option<Meaning> {
    match error {
        ArchiveError::Io(error) if error.kind() == io::ErrorKind::NotFound => {
            Some(Meaning::new(ErrorKind::PathNotFound))
        }
        _ => None,
    }
}

fn of_save(error: &SaveError) -> Meaning {
    let meaning = match error {
        SaveError::Exists { .. } => Meaning::new(ErrorKind::PathExists),
        SaveError::NeedsPath => Meaning::new(ErrorKind::InvalidArgument),
        SaveError::Output(error) if error.kind() == io::ErrorKind::NotFound => {
            Meaning::new(ErrorKind::PathNotFound)
        }
        _ => Meaning::default(),
    };
    meaning.hint(error.hint())
}

/// Returns the meaning of a part that is not in the store: an older msb may not have kept it.
fn of_age(is_old: bool) -> Meaning {
    if is_old {
        Meaning::new(ErrorKind::Unsupported)
    } else {
        Meaning::default()
    }
}

fn of_tag(error: &TagError) -> Meaning {
    let meaning = match error {
        TagError::Digest { .. } => Meaning::new(ErrorKind::InvalidArgument),
        TagError::Find(_) | TagError::Io(_) => Meaning::default(),
    };
    meaning.hint(error.hint())
}

fn of_remove(error: &RemoveError) -> Option<Meaning> {
    match error {
        RemoveError::InUse { digest } | RemoveError::Needed { digest } => {
            Some(Meaning::new(ErrorKind::ImageInUse).detail("digest", digest.to_string()))
        }
        RemoveError::Busy => Some(Meaning::new(ErrorKind::Busy)),
        RemoveError::Find(_) | RemoveError::Io(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::{ErrorKind, Msb};

    #[tokio::test]
    async fn a_home_that_cannot_be_made_is_named_with_a_remedy() {
        let msb = Msb::builder().home("/proc/msb").build().expect("a client");
        let error = msb.images().list().await.expect_err("no home");
        assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
        let hint = error.hint().expect("a hint");
        assert!(hint.contains("set MSB_HOME"), "{hint}");
    }
}
