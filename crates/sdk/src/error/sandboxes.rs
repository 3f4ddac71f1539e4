//! Errors of sandboxes and volumes: names, mounts, states.

use std::error::Error as StdError;
use std::io;

use msb_runtime::{
    ApplyError, AtRestError, CommitError, CommittedError, ConnectError, CreateError, DiffError,
    DiscardError, DisksError, ExportError, HomeError, ImportError, MountError, NoOverlay,
    PatchError, RecordError, RemoveError, RenameError, RootDiskError, SnapshotError, UpdateError,
    UpperError, VolumeError,
};
use snapshot_file::ReadError;
use tree_diff::LayerError;

use super::ErrorKind;
use super::hint::Hint;
use super::meaning::Meaning;

pub(super) fn meaning(cause: &(dyn StdError + 'static)) -> Option<Meaning> {
    if let Some(error) = cause.downcast_ref::<CreateError>() {
        return of_create(error);
    }
    if let Some(error) = cause.downcast_ref::<ConnectError>() {
        return of_connect(error);
    }
    if let Some(error) = cause.downcast_ref::<MountError>() {
        return Some(of_mount(error));
    }
    if let Some(error) = cause.downcast_ref::<VolumeError>() {
        return of_volume(error);
    }
    if let Some(error) = cause.downcast_ref::<PatchError>() {
        return Some(of_patch(error));
    }
    if let Some(RemoveError::Running { name }) = cause.downcast_ref::<RemoveError>() {
        return Some(of_running(name).hint(Some(Hint::stop_or_remove(name))));
    }
    if let Some(RenameError::Running { name }) = cause.downcast_ref::<RenameError>() {
        return Some(of_running(name).hint(Some(Hint::stop(name))));
    }
    if let Some(error) = cause.downcast_ref::<AtRestError>() {
        return of_at_rest(error);
    }
    if let Some(error) = cause.downcast_ref::<CommittedError>() {
        let path = error.path.display();
        let hint =
            format!("remove {path}: the next image is then a child of the sandbox's own image");
        return Some(Meaning::default().hint(Some(hint)));
    }
    if let Some(error) = cause.downcast_ref::<DiffError>() {
        return of_diff(error);
    }
    if let Some(error) = cause.downcast_ref::<ApplyError>() {
        return of_apply(error);
    }
    if let Some(error) = cause.downcast_ref::<CommitError>() {
        return of_commit(error);
    }
    if let Some(error) = cause.downcast_ref::<DiscardError>() {
        return of_discard(error);
    }
    if let Some(error) = cause.downcast_ref::<SnapshotError>() {
        return of_snapshot(error);
    }
    if let Some(ExportError::Snapshot(error)) = cause.downcast_ref::<ExportError>() {
        // Transparent errors do not appear among the causes.
        return of_snapshot(error);
    }
    if let Some(error) = cause.downcast_ref::<ImportError>() {
        return of_import(error);
    }
    if let Some(error) = cause.downcast_ref::<UpdateError>() {
        return of_update(error);
    }
    if let Some(DisksError::NoOverlay(NoOverlay::DiskImage { .. })) =
        cause.downcast_ref::<DisksError>()
    {
        let hint = "start the sandbox: its guest reads them";
        let meaning = Meaning::new(ErrorKind::Unsupported);
        return Some(meaning.hint(Some(hint.to_owned())));
    }
    if cause
        .downcast_ref::<DisksError>()
        .is_some_and(DisksError::is_beyond_limit)
    {
        let hint = "if you trust the sandbox, raise the limit with MSB_LIMITS=disk-metadata=VALUE";
        return Some(Meaning::default().hint(Some(hint.to_owned())));
    }
    if let Some(error) = cause.downcast_ref::<RootDiskError>() {
        return Some(of_root_disk(error));
    }
    if let Some(error) = cause.downcast_ref::<HomeError>() {
        return Some(Meaning::new(ErrorKind::PermissionDenied).hint(Some(error.remedy())));
    }
    None
}

/// Returns the meaning of a description that cannot be read.
pub(super) fn of_record(error: &RecordError) -> Meaning {
    let (kind, hint) = match error {
        RecordError::Damaged { .. } => (
            None,
            "restore the sandbox's directory from a backup, or remove the sandbox with msb rm",
        ),
        RecordError::Newer { .. }
        | RecordError::UnknownField { .. }
        | RecordError::Unknown { .. } => (
            Some(ErrorKind::VersionMismatch),
            "use the msb that made the sandbox, or a later one",
        ),
    };
    let meaning = kind.map_or_else(Meaning::default, Meaning::new);
    meaning.hint(Some(hint.to_owned()))
}

fn of_running(name: &str) -> Meaning {
    Meaning::new(ErrorKind::SandboxRunning).detail("name", name)
}

fn of_create(error: &CreateError) -> Option<Meaning> {
    Some(match error {
        CreateError::NameTaken { name } => {
            Meaning::new(ErrorKind::NameTaken).detail("name", name.as_str())
        }
        CreateError::InvalidName { name } => {
            Meaning::new(ErrorKind::InvalidArgument).detail("name", name.as_str())
        }
        CreateError::Command(_) => Meaning::new(ErrorKind::InvalidArgument),
        // Transparent errors do not appear among the causes.
        CreateError::Mount(error) => of_mount(error),
        CreateError::Volume(error) => return of_volume(error),
        CreateError::Upper(UpperError::Native(error)) => {
            let remedy = error.remedy()?;
            Meaning::new(ErrorKind::InvalidArgument).hint(Some(remedy.to_owned()))
        }
        CreateError::Io { .. }
        | CreateError::Upper(_)
        | CreateError::Adopt(_)
        | CreateError::Share(_) => return None,
    })
}

fn of_root_disk(error: &RootDiskError) -> Meaning {
    let kind = match error {
        RootDiskError::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => {
            ErrorKind::PathNotFound
        }
        RootDiskError::Io { .. } => return Meaning::default(),
        _ => ErrorKind::InvalidArgument,
    };
    let path = error.path().display().to_string();
    Meaning::new(kind).detail("path", path).hint(error.remedy())
}

fn of_connect(error: &ConnectError) -> Option<Meaning> {
    match error {
        ConnectError::NotRunning { name } => Some(
            Meaning::new(ErrorKind::NotRunning)
                .detail("name", name.as_str())
                .hint(Some(Hint::start(name))),
        ),
        ConnectError::Paused { name } => Some(
            Meaning::new(ErrorKind::SandboxPaused)
                .detail("name", name.as_str())
                .hint(Some(Hint::unpause(name))),
        ),
        ConnectError::NotPaused { name } => {
            Some(Meaning::new(ErrorKind::NotPaused).detail("name", name.as_str()))
        }
        ConnectError::Starting { name } => {
            Some(Meaning::new(ErrorKind::NotRunning).detail("name", name.as_str()))
        }
        // A process that somebody has stopped may go on.
        ConnectError::Stopped { name, .. } => {
            Some(Meaning::new(ErrorKind::Busy).detail("name", name.as_str()))
        }
        ConnectError::Io { .. } | ConnectError::Agent { .. } | ConnectError::Immortal { .. } => {
            None
        }
    }
}

pub(super) fn of_mount(error: &MountError) -> Meaning {
    match error {
        MountError::Host { path, source } if source.kind() == io::ErrorKind::NotFound => {
            Meaning::new(ErrorKind::PathNotFound).detail("path", path.display().to_string())
        }
        MountError::Vanished { path, .. } => {
            Meaning::new(ErrorKind::PathNotFound).detail("path", path.display().to_string())
        }
        MountError::Unreadable { path, .. } => {
            Meaning::new(ErrorKind::PermissionDenied).detail("path", path.display().to_string())
        }
        _ => Meaning::new(ErrorKind::InvalidArgument),
    }
}

pub(super) fn of_volume(error: &VolumeError) -> Option<Meaning> {
    let named =
        |kind, name: &msb_runtime::VolumeName| Meaning::new(kind).detail("name", name.as_str());
    Some(match error {
        VolumeError::Exists { name } => named(ErrorKind::NameTaken, name),
        VolumeError::Missing { name } => named(ErrorKind::VolumeNotFound, name),
        VolumeError::Needed { name, .. } | VolumeError::InUse { name, .. } => {
            named(ErrorKind::VolumeInUse, name)
        }
        VolumeError::Layout { .. } => Meaning::new(ErrorKind::InvalidArgument),
        VolumeError::Io { .. } => return None,
    })
}

fn of_patch(error: &PatchError) -> Meaning {
    let missing = error
        .source()
        .and_then(|source| source.downcast_ref::<io::Error>())
        .is_some_and(|source| source.kind() == io::ErrorKind::NotFound);
    Meaning::new(if missing {
        ErrorKind::PathNotFound
    } else {
        ErrorKind::InvalidArgument
    })
}

fn of_at_rest(error: &AtRestError) -> Option<Meaning> {
    let name = error.name();
    let kind = match error {
        AtRestError::NoOverlay(NoOverlay::Native { .. }) => {
            let hint = "take a snapshot to keep its files, and read them with msb cp and msb fs"
                .to_owned();
            let meaning = Meaning::new(ErrorKind::Unsupported).detail("name", name);
            return Some(meaning.hint(Some(hint)));
        }
        AtRestError::NoOverlay(_) => {
            let hint = "copy files out of it with msb cp while it runs".to_owned();
            let meaning = Meaning::new(ErrorKind::Unsupported).detail("name", name);
            return Some(meaning.hint(Some(hint)));
        }
        AtRestError::Running { .. } => ErrorKind::SandboxRunning,
        AtRestError::Full { .. } => ErrorKind::OutOfSpace,
        AtRestError::Silent { .. }
        | AtRestError::Slow { .. }
        | AtRestError::NotFrozen { .. }
        | AtRestError::Thawed { .. } => ErrorKind::Busy,
        AtRestError::Connect { .. }
        | AtRestError::Cut { .. }
        | AtRestError::Agent { .. }
        | AtRestError::Lock { .. }
        | AtRestError::Copy { .. } => return None,
    };
    let hint = Hint::stop_keeping_files(name);
    Some(Meaning::new(kind).detail("name", name).hint(Some(hint)))
}

fn of_diff(error: &DiffError) -> Option<Meaning> {
    match error {
        DiffError::NotThere { path } => {
            let path = String::from_utf8_lossy(path).into_owned();
            Some(Meaning::new(ErrorKind::PathNotFound).detail("path", path))
        }
        DiffError::Scope(_) => Some(Meaning::new(ErrorKind::InvalidArgument)),
        DiffError::Base { name, .. } => {
            let hint = format!(
                "compare the sandbox with its image: msb diff IMAGE {name}, or --base IMAGE with apply and discard"
            );
            Some(Meaning::new(ErrorKind::InternalError).hint(Some(hint)))
        }
        DiffError::Sandbox { .. } | DiffError::Image { .. } | DiffError::Compare(_) => None,
    }
}

fn of_apply(error: &ApplyError) -> Option<Meaning> {
    match error {
        ApplyError::Directory { path, source } if source.kind() == io::ErrorKind::NotFound => {
            let path = path.to_string_lossy().into_owned();
            let hint = format!("create it with mkdir {path}");
            let meaning = Meaning::new(ErrorKind::PathNotFound).detail("path", path);
            Some(meaning.hint(Some(hint)))
        }
        ApplyError::NoOrigin { path } | ApplyError::Outside { path, .. } => {
            let path = String::from_utf8_lossy(path).into_owned();
            Some(Meaning::new(ErrorKind::InvalidArgument).detail("path", path))
        }
        ApplyError::Busy { .. } => Some(Meaning::new(ErrorKind::Busy)),
        ApplyError::Conflicts { .. } => {
            let hint = "leave these files out with --exclude, or overwrite single ones with msb cp; if this \
                directory is as the sandbox was at another time, name that snapshot or sandbox with --base";
            Some(Meaning::new(ErrorKind::PathExists).hint(Some(hint.to_owned())))
        }
        ApplyError::Unaccepted { path, count, .. } => {
            let path = String::from_utf8_lossy(path).into_owned();
            let hint = match count {
                1 => format!(
                    "read it; then accept it with --accept {path}, or leave it out with --exclude"
                ),
                _ => {
                    "read them; then accept each with --accept PATH, or leave it out with --exclude"
                        .to_owned()
                }
            };
            let meaning = Meaning::new(ErrorKind::PermissionDenied).detail("path", path);
            Some(meaning.hint(Some(hint)))
        }
        ApplyError::Full { .. } => Some(Meaning::new(ErrorKind::OutOfSpace)),
        ApplyError::Changed { .. } => {
            let hint = "apply again: completed changes are skipped";
            Some(Meaning::new(ErrorKind::Busy).hint(Some(hint.to_owned())))
        }
        ApplyError::Directory { .. } | ApplyError::Read { .. } | ApplyError::Host { .. } => None,
    }
}

fn of_commit(error: &CommitError) -> Option<Meaning> {
    match error {
        CommitError::Layer { source, .. } => match source {
            LayerError::ReservedName { path } => {
                let path = String::from_utf8_lossy(path).into_owned();
                let meaning = Meaning::new(ErrorKind::InvalidArgument);
                let hint = "rename the file or remove it in the sandbox".to_owned();
                Some(meaning.detail("path", path).hint(Some(hint)))
            }
            LayerError::LongPath { .. } => Some(Meaning::new(ErrorKind::InvalidArgument)),
            _ => None,
        },
        CommitError::Disks { .. } => None,
    }
}

fn of_discard(error: &DiscardError) -> Option<Meaning> {
    match error {
        DiscardError::Running { name } => {
            let hint = Hint::stop_keeping_files(name);
            Some(of_running(name).hint(Some(hint)))
        }
        DiscardError::NoDirectory { path } => {
            let path = String::from_utf8_lossy(path).into_owned();
            let hint = format!("discard {path} as a whole");
            let meaning = Meaning::new(ErrorKind::InvalidArgument).detail("path", path);
            Some(meaning.hint(Some(hint)))
        }
        DiscardError::NotKept { path, .. } => {
            let path = String::from_utf8_lossy(path).into_owned();
            let hint = "name a snapshot or an image that has the wanted files with --base";
            let meaning = Meaning::new(ErrorKind::InvalidArgument).detail("path", path);
            Some(meaning.hint(Some(hint.to_owned())))
        }
        DiscardError::Full { name, .. } => {
            let hint = Hint::enlarge_disk(name);
            Some(Meaning::new(ErrorKind::OutOfSpace).hint(Some(hint)))
        }
        DiscardError::Scope(_) => Some(Meaning::new(ErrorKind::InvalidArgument)),
        // Transparent errors do not appear among the causes.
        DiscardError::NoOverlay(_) => Some(Meaning::new(ErrorKind::Unsupported)),
        DiscardError::Diff { .. }
        | DiscardError::Disks { .. }
        | DiscardError::Layout { .. }
        | DiscardError::Generations { .. }
        | DiscardError::Write { .. } => None,
    }
}

fn of_snapshot(error: &SnapshotError) -> Option<Meaning> {
    Some(match error {
        SnapshotError::Running { name } => {
            let hint = Hint::stop_keeping_files(name);
            of_running(name).hint(Some(hint))
        }
        SnapshotError::RawDisk { name } => {
            let hint = Hint::prepare_for_snapshots(name);
            of_running(name).hint(Some(hint))
        }
        // Transparent errors do not appear among the causes.
        SnapshotError::Connect(error) => return of_connect(error),
        SnapshotError::NoOverlay(_) => Meaning::new(ErrorKind::Unsupported),
        SnapshotError::Exists { name, .. } => {
            Meaning::new(ErrorKind::NameTaken).detail("name", name.as_str())
        }
        SnapshotError::Missing { sandbox, name } => {
            let hint = Hint::list_snapshots(sandbox);
            let meaning = Meaning::new(ErrorKind::NotFound).detail("name", name.as_str());
            meaning.hint(Some(hint))
        }
        SnapshotError::TooMany { count, limit } => {
            let meaning = Meaning::new(ErrorKind::InvalidArgument);
            let meaning = meaning.detail("count", *count).detail("limit", *limit);
            meaning.hint(Some(Hint::remove_snapshots()))
        }
        SnapshotError::Empty { sandbox } => {
            let hint = Hint::take_snapshot(sandbox);
            Meaning::new(ErrorKind::NotFound).hint(Some(hint))
        }
        _ => return None,
    })
}

fn of_import(error: &ImportError) -> Option<Meaning> {
    let kind = match error {
        // Transparent errors do not appear among the causes.
        ImportError::Create(error) => return of_create(error),
        ImportError::Snapshot(error) => return of_snapshot(error),
        ImportError::Archive(ReadError::Input(_) | ReadError::Write(_))
        | ImportError::Adopt(_)
        | ImportError::Io(_) => return None,
        ImportError::Full { .. } => ErrorKind::OutOfSpace,
        ImportError::Archive(ReadError::Damaged { .. } | ReadError::Truncated { .. }) => {
            let hint = "copy the file again, or export the snapshot again";
            return Some(Meaning::new(ErrorKind::InvalidArgument).hint(Some(hint.to_owned())));
        }
        ImportError::Format { .. } => ErrorKind::VersionMismatch,
        ImportError::Archive(_) | ImportError::Record { .. } => ErrorKind::InvalidArgument,
    };
    Some(Meaning::new(kind))
}

fn of_update(error: &UpdateError) -> Option<Meaning> {
    match error {
        UpdateError::Shrinks { .. } | UpdateError::TooLarge { .. } => {
            Some(Meaning::new(ErrorKind::InvalidArgument))
        }
        UpdateError::Gone { name } => {
            Some(Meaning::new(ErrorKind::SandboxNotFound).detail("name", name.as_str()))
        }
        UpdateError::Io { .. } => None,
    }
}
