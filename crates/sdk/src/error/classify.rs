//! The kind, the details and the hints of an error of msb's other crates.

use std::error::Error as StdError;
use std::io;

use serde_json::Map;

use super::chain::{causes, line, printable};
use super::hint::Hint;
use super::meaning::Meaning;
use super::{Error, ErrorKind, Inner, command, exit_code, files, images, machine, sandboxes};

/// Returns the meaning of an error of any crate; `None` if it has none by itself.
fn meaning(cause: &(dyn StdError + 'static)) -> Option<Meaning> {
    images::meaning(cause)
        .or_else(|| sandboxes::meaning(cause))
        .or_else(|| machine::meaning(cause))
        .or_else(|| command::meaning(cause))
        .or_else(|| files::meaning(cause))
        .or_else(|| cause.downcast_ref::<io::Error>().and_then(of_io))
}

/// Returns the meaning of an error of the host's kernel. A missing file has none: only the
/// operation knows whose it is.
fn of_io(error: &io::Error) -> Option<Meaning> {
    // The error inside of another one does not appear among the causes.
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
    if let Some(record) = inner {
        return Some(sandboxes::of_record(record));
    }
    Some(Meaning::new(match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ErrorKind::OutOfSpace,
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            ErrorKind::PermissionDenied
        }
        _ => return None,
    }))
}

/// Returns true if a disk that msb writes to is full.
fn lacks_space(cause: &(dyn StdError + 'static)) -> bool {
    let error = cause.downcast_ref::<io::Error>();
    error.is_some_and(|error| {
        matches!(
            error.kind(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
        )
    })
}

impl Error {
    /// Converts an error of another crate. Its kind comes from the outermost error in the chain
    /// that has one; a full disk counts before all others.
    pub(super) fn convert<E: StdError + Send + Sync + 'static>(error: E) -> Self {
        let mut all = Meaning::default();
        for cause in causes(&error) {
            if let Some(meaning) = meaning(cause) {
                all.add(meaning);
            }
        }
        let is_full = causes(&error).any(lacks_space);
        let kind = if is_full {
            ErrorKind::OutOfSpace
        } else {
            all.kind.unwrap_or(ErrorKind::InternalError)
        };
        let mut details = Map::new();
        for (key, value) in all.details {
            details.entry(key).or_insert(value);
        }
        let mut hints: Vec<Hint> = Vec::new();
        for hint in all.hints {
            if !hints.contains(&hint) {
                hints.push(hint);
            }
        }
        let causes = causes(&error)
            .skip(1)
            .map(|cause| printable(&cause.to_string()));
        let inner = Inner {
            kind,
            message: line(&error),
            causes: causes.collect(),
            hints,
            details,
            exit_code: exit_code(kind),
            stdout: bytes::Bytes::new(),
            stderr: bytes::Bytes::new(),
            origin: None,
        };
        let mut converted = Self {
            inner: Box::new(inner),
        };
        if !all.last_words.is_empty() {
            converted = converted.with_last_words(all.last_words);
        }
        converted.inner.origin = Some(Box::new(error));
        converted
    }
}

/// Implements the conversion from errors of other crates, with the kind of those that have no kind
/// of their own.
macro_rules! converted {
    ($($kind:ident: $($error:ty),+;)+) => {
        $($(impl From<$error> for Error {
            fn from(error: $error) -> Self {
                Self::convert(error).or_kind(ErrorKind::$kind)
            }
        })+)+
    };
}

converted! {
    InternalError:
        io::Error,
        serde_json::Error,
        erofs_writer::DumpError,
        erofs_writer::OpenError,
        image_export::PushError,
        image_export::SaveError,
        image_store::DocumentsError,
        image_store::OpenError,
        image_store::FindError,
        image_store::PruneError,
        image_store::RemoveError,
        image_store::TagError,
        image_store::VerifyError,
        oci_image::ManifestError,
        oci_registry::LoginError,
        msb_agent_protocol::ClientError,
        msb_runtime::ApplyError,
        msb_runtime::AtRestError,
        msb_runtime::CommitError,
        msb_runtime::CommittedError,
        msb_runtime::ConnectError,
        msb_runtime::CopyError,
        msb_runtime::CreateError,
        msb_runtime::DiffError,
        msb_runtime::DiscardError,
        msb_runtime::ExportError,
        msb_runtime::FilesError,
        msb_runtime::HomeError,
        msb_runtime::ImportError,
        msb_runtime::RemoveError,
        msb_runtime::RenameError,
        msb_runtime::RootDiskError,
        msb_runtime::SnapshotError,
        msb_runtime::TimelineError,
        msb_runtime::UpdateError,
        msb_runtime::VolumeError;
    PullError:
        image_import::PullError,
        image_import::LoadError,
        image_import::RepairError,
        image_import::AddError;
    StartError:
        image_store::CheckError,
        msb_runtime::StartError,
        msb_runtime::KernelError,
        msb_vmm::ChooseError;
    InvalidArgument:
        msb_runtime::MountError,
        msb_runtime::NoCommand,
        msb_runtime::NoSignal,
        msb_runtime::NoAuthorities,
        msb_runtime::InvalidSnapshotName,
        msb_runtime::InvalidVolumeName,
        msb_runtime::UlimitError,
        msb_runtime::network::InvalidPublish,
        msb_runtime::network::InvalidRule,
        msb_sandbox_model::InvalidGuestSettings,
        msb_sandbox_model::InvalidHostname,
        msb_sandbox_model::InvalidPidNamespace,
        msb_sandbox_model::SysctlError,
        msb_jail::UnknownStrictness,
        msb_agent_protocol::TooLong,
        oci_image::InvalidInstruction,
        oci_image::InvalidPlatform,
        oci_image::InvalidReference,
        oci_layers::InvalidLimit,
        oci_registry::RegistriesError;
}

impl From<oci_image::ChildConfigError> for Error {
    fn from(error: oci_image::ChildConfigError) -> Self {
        match error {
            oci_image::ChildConfigError::Parent(error) => error.into(),
            oci_image::ChildConfigError::Instruction(error) => error.into(),
        }
    }
}

impl From<msb_sandbox_model::InvalidSize> for Error {
    fn from(error: msb_sandbox_model::InvalidSize) -> Self {
        let text = error.text().to_owned();
        Self::convert(error)
            .or_kind(ErrorKind::InvalidArgument)
            .with_detail("value", text)
    }
}

impl From<std::convert::Infallible> for Error {
    fn from(never: std::convert::Infallible) -> Self {
        match never {}
    }
}
