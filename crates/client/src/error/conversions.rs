//! The conversions from errors of msb's other crates.

use std::io;

use diagnosis::{Diagnose, Diagnosis};

use super::Error;

/// Implements the conversion from errors, with a function that diagnoses them, and with the kind of those
/// that have none.
macro_rules! converted {
    ($diagnosis:path; $($kind:ident: $($error:ty),+;)+) => {
        $($(impl From<$error> for Error {
            fn from(error: $error) -> Self {
                let diagnosis = $diagnosis(&error).or_kind(diagnosis::ErrorKind::$kind);
                Self::convert(error, &diagnosis)
            }
        })+)+
    };
}

converted! {
    Diagnose::diagnosis;
    InternalError:
        io::Error,
        command_journal::UndoError,
        image_export::PushError,
        image_export::SaveError,
        image_store::DocumentsError,
        image_store::OpenError,
        image_store::PackError,
        image_store::FindError,
        image_store::PruneError,
        image_store::RemoveError,
        image_store::TagError,
        image_store::VerifyError,
        oci_registry::LoginError,
        msb_agent_protocol::ClientError,
        msb_sandbox_files::AllowError,
        msb_sandbox_files::ApplyError,
        msb_sandbox_files::AtRestError,
        msb_sandbox_files::CommitError,
        msb_sandbox_files::CommittedError,
        msb_runtime::ConnectError,
        msb_sandbox_files::CopyError,
        msb_runtime::CreateError,
        msb_sandbox_files::DiffError,
        msb_sandbox_files::DiscardError,
        msb_sandbox_snapshots::ExportError,
        msb_sandbox_files::FilesError,
        msb_runtime::HomeError,
        msb_sandbox_snapshots::ImportError,
        msb_runtime::RemoveError,
        msb_runtime::RenameError,
        msb_sandbox_files::RestageError,
        msb_sandbox_network::NetworkRulesError,
        msb_sandbox_secrets::SecretsError,
        msb_runtime::RootDiskError,
        msb_sandbox_snapshots::SnapshotError,
        msb_machine_records::TimelineError,
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
        msb_sandbox_secrets::DeliveryError,
        msb_sandbox_sockets::SocketsError,
        msb_runtime::KernelError,
        msb_vmm::ChooseError;
    InvalidArgument:
        msb_guest_trust::PrepareError,
        msb_machine_records::LogOptionsError,
        msb_runtime::network::InvalidRules,
        msb_runtime::InvalidRule,
        msb_runtime::MountError,
        msb_runtime::RulesFileError,
        msb_secrets::InvalidDestination,
        msb_secrets::InvalidName,
        msb_secrets::InvalidSecret,
        msb_secrets::InvalidSource,
        msb_secrets::InvalidValue,
        msb_runtime::TooManyRules,
        msb_agent_protocol::TooLong;
}

converted! {
    Diagnosis::of_foreign;
    InternalError:
        serde_json::Error,
        erofs_writer::DumpError,
        erofs_writer::OpenError,
        oci_image::ManifestError;
    InvalidArgument:
        msb_runtime::NoCommand,
        msb_sandbox_model::NoSignal,
        msb_guest_trust::NoAuthorities,
        msb_sandbox_snapshots::InvalidSnapshotName,
        msb_runtime::InvalidVolumeName,
        msb_runtime::UlimitError,
        msb_runtime::network::InvalidPort,
        msb_runtime::network::InvalidPublish,
        msb_runtime::network::InvalidRule,
        msb_runtime::network::InvalidUpstreamProxy,
        msb_sandbox_model::InvalidGuestSettings,
        msb_sandbox_model::InvalidHostname,
        msb_sandbox_model::InvalidMode,
        msb_sandbox_model::InvalidPidNamespace,
        msb_sandbox_model::InvalidSocketForward,
        msb_sandbox_model::SysctlError,
        msb_sandbox_model::InvalidUndoLimit,
        msb_jail::UnknownStrictness,
        oci_image::InvalidInstruction,
        oci_image::InvalidPlatform,
        oci_image::InvalidReference,
        oci_layers::InvalidLimit,
        oci_registry::RegistriesError,
        questions::UnknownKind;
}

impl From<msb_sandbox_model::InvalidSize> for Error {
    fn from(error: msb_sandbox_model::InvalidSize) -> Self {
        let diagnosis =
            Diagnosis::of_foreign(&error).or_kind(diagnosis::ErrorKind::InvalidArgument);
        let text = error.text().to_owned();
        Self::convert(error, &diagnosis.detail("value", text))
    }
}

impl From<oci_image::ChildConfigError> for Error {
    fn from(error: oci_image::ChildConfigError) -> Self {
        match error {
            oci_image::ChildConfigError::Parent(error) => error.into(),
            oci_image::ChildConfigError::Instruction(error) => error.into(),
        }
    }
}

impl From<std::convert::Infallible> for Error {
    fn from(never: std::convert::Infallible) -> Self {
        match never {}
    }
}
