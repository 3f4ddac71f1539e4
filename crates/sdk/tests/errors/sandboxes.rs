use msb_agent_protocol::ClientError;
use msb_patches::PatchError;
use msb_runtime::{AdoptError, ConnectError, CreateError, HomeError, MountError, NativeRootError, NoOverlay, RecordError, RemoveError, RenameError, RootDiskError, RootFilesystem, UpdateError, UpperError, VolumeConflict, VolumeError};
use msb_sandbox_files::{ApplyError, ApplyRecordError, AtRestError, CommitError, CommittedError, ConflictReason, DiffError, DiscardError, DisksError, Effect, LeftFile};
use msb_sandbox_snapshots::{ExportError, ImportError, SnapshotError};
use snapshot_file::{Part, ReadError, WriteError};
use tree_diff::{InvalidScope, LayerError};

use super::{broken, denied, full, missing, web};
use msb_sdk::Error;

pub(super) fn errors() -> Vec<Error> {
    [
        creations(),
        changes(),
        records(),
        mounts(),
        root_disks(),
        connections(),
        at_rest(),
        differences(),
        applications(),
        discards(),
        snapshots(),
        archives(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

pub(super) fn volume_missing() -> VolumeError {
    VolumeError::Missing { name: "data".parse().expect("a name") }
}

pub(super) fn mount_missing() -> MountError {
    MountError::Host { path: "/srv".into(), source: missing() }
}

pub(super) fn not_running() -> ConnectError {
    ConnectError::NotRunning { name: web() }
}

fn native() -> NoOverlay {
    NoOverlay::Native { name: web() }
}

fn disk_image() -> NoOverlay {
    NoOverlay::DiskImage { name: web(), path: "/disk.qcow2".into() }
}

fn name_taken() -> CreateError {
    CreateError::NameTaken { name: web() }
}

fn scope() -> InvalidScope {
    InvalidScope { path: b"/..".to_vec() }
}

fn native_root(source: ext4_writer::WriteError) -> CreateError {
    let source = NativeRootError::Layout { size_bytes: 1 << 20, source };
    CreateError::Upper(UpperError::Native(source))
}

fn creations() -> Vec<Error> {
    let too_long = msb_agent_protocol::TooLong { bytes: 5, limit_bytes: 4 };
    let patched = |error| CreateError::Upper(UpperError::Patch(error));
    let patch = |source| PatchError::Host { path: "/a".into(), source };
    vec![
        name_taken().into(),
        CreateError::InvalidName { name: "?".to_owned() }.into(),
        CreateError::Command(too_long).into(),
        CreateError::Mount(mount_missing()).into(),
        CreateError::Volume(volume_missing()).into(),
        CreateError::Io { directory: "/home".into(), source: full() }.into(),
        CreateError::Io { directory: "/home".into(), source: denied() }.into(),
        CreateError::Upper(UpperError::Io(full())).into(),
        CreateError::Adopt(AdoptError::Io(missing())).into(),
        native_root(ext4_writer::WriteError::Size { size_bytes: 5 }).into(),
        native_root(ext4_writer::WriteError::Label { length_bytes: 20 }).into(),
        patched(patch(missing())).into(),
        patched(patch(denied())).into(),
        patched(PatchError::NotThere { path: "/a".to_owned() }).into(),
        patched(PatchError::Copy {
            source_path: "/a".into(),
            source: msb_patches::CopyPathError::Host {
                action: "read",
                path: "/a".into(),
                source: missing(),
            },
        })
        .into(),
        HomeError::Owner { path: "/home".into(), mode: 0o755, owner: 1 }.into(),
        HomeError::Close { path: "/home".into(), source: denied() }.into(),
    ]
}

fn changes() -> Vec<Error> {
    let io = |source| UpdateError::Io { name: web(), source };
    vec![
        RemoveError::Running { name: web() }.into(),
        RemoveError::Io { directory: "/sandboxes/a".into(), source: denied() }.into(),
        RenameError::Running { name: web() }.into(),
        RenameError::Name(name_taken()).into(),
        RenameError::Io { name: web(), source: missing() }.into(),
        UpdateError::Shrinks { name: web(), size_bytes: 2, wanted_bytes: 1 }.into(),
        UpdateError::TooLarge { wanted_bytes: 1 << 60 }.into(),
        UpdateError::Gone { name: web() }.into(),
        io(full()).into(),
        CommittedError { path: "/committed.json".into(), source: broken() }.into(),
        CommittedError { path: "/committed.json".into(), source: denied() }.into(),
    ]
}

/// Returns errors of a sandbox's description, which an error of the host carries.
fn records() -> Vec<Error> {
    let record = |error| diagnosis::io_error(std::io::ErrorKind::InvalidData, error);
    let damaged = RecordError::Damaged {
        record: "it is empty".to_owned(),
        copy: "it is missing".to_owned(),
    };
    let newer = RecordError::Newer { found: 9 };
    let field = RecordError::UnknownField { field: "gpu".to_owned() };
    let unknown = RecordError::Unknown { reason: "it is a list".to_owned() };
    vec![
        RenameError::Io { name: web(), source: record(damaged) }.into(),
        UpdateError::Io { name: web(), source: record(newer) }.into(),
        CreateError::Io { directory: "/home".into(), source: record(field) }.into(),
        record(unknown).into(),
    ]
}

fn mounts() -> Vec<Error> {
    let target = || "/mnt".parse().expect("a path");
    let data = || "data".parse().expect("a name");
    vec![
        mount_missing().into(),
        MountError::Host { path: "/srv".into(), source: denied() }.into(),
        MountError::Vanished { path: "/srv".into(), target: target() }.into(),
        MountError::Unreadable { path: "/srv".into(), source: denied() }.into(),
        MountError::TooMany { mounts: 9, limit: 8 }.into(),
        MountError::StagedElsewhere { target: target() }.into(),
        volume_missing().into(),
        VolumeError::Exists { name: data() }.into(),
        VolumeError::Needed { name: data(), sandboxes: vec![web()] }.into(),
        VolumeError::InUse {
            name: data(),
            sandbox: Some(web()),
            conflict: VolumeConflict::TwoWriters,
        }
        .into(),
        VolumeError::Layout {
            size_bytes: 1,
            source: ext4_writer::WriteError::Size { size_bytes: 1 },
        }
        .into(),
        VolumeError::Io { action: "open", path: "/volumes".into(), source: denied() }.into(),
    ]
}

fn root_disks() -> Vec<Error> {
    let path = || "/disk.qcow2".into();
    let root = |source| RootDiskError::Root { path: path(), source };
    let image = |source| RootDiskError::Image { path: path(), source };
    let unusable = |filesystem| disk_image::RootError::Unusable {
        partition: None,
        unusable: disk_image::UnusableFilesystem {
            found: "it is in use".to_owned(),
            filesystem,
        },
    };
    let external = disk_image::Unsupported::ExternalData;
    vec![
        RootDiskError::Io { path: path(), source: missing() }.into(),
        RootDiskError::Io { path: path(), source: denied() }.into(),
        RootDiskError::Io { path: path(), source: broken() }.into(),
        RootDiskError::NotAFile { path: path() }.into(),
        RootDiskError::ReadOnly { path: path(), filesystem: RootFilesystem::Ext4 }.into(),
        image(disk_image::OpenError::Unsupported(external)).into(),
        image(disk_image::OpenError::Io(denied())).into(),
        root(disk_image::RootError::Ambiguous { candidates: Vec::new() }).into(),
        root(disk_image::RootError::NoPartition { number: 2, candidates: Vec::new() }).into(),
        root(disk_image::RootError::NoTable { number: 2 }).into(),
        root(unusable(None)).into(),
        root(unusable(Some(RootFilesystem::Ext4))).into(),
    ]
}

fn connections() -> Vec<Error> {
    let agent = |source| ConnectError::Agent { name: web(), source };
    vec![
        not_running().into(),
        ConnectError::Paused { name: web() }.into(),
        ConnectError::NotPaused { name: web() }.into(),
        ConnectError::Starting { name: web() }.into(),
        ConnectError::Stopped { name: web(), process_id: 7 }.into(),
        ConnectError::Immortal { name: web() }.into(),
        ConnectError::Io { name: web(), source: denied() }.into(),
        ConnectError::Io { name: web(), source: missing() }.into(),
        agent(ClientError::Unimplemented { call: "pause" }).into(),
        agent(ClientError::OutOfTurn).into(),
        agent(ClientError::Io(denied())).into(),
    ]
}

fn at_rest() -> Vec<Error> {
    let cut = |source| AtRestError::Cut { name: web(), source };
    vec![
        AtRestError::NoOverlay(native()).into(),
        AtRestError::NoOverlay(disk_image()).into(),
        AtRestError::Running { name: web() }.into(),
        AtRestError::NotFrozen { name: web() }.into(),
        AtRestError::Lock { name: web(), source: denied() }.into(),
        cut(SnapshotError::TooMany { count: 9, limit: 8 }).into(),
        cut(SnapshotError::Connect(not_running())).into(),
    ]
}

fn differences() -> Vec<Error> {
    let sandbox = |source| DiffError::Sandbox { name: web(), source };
    let memory = rootfs_view::OpenError::UpperMemory { limit_bytes: 1 };
    let not_found = || image_store::FindError::NotFound { name: "debian".to_owned() };
    let layer = |source| CommitError::Layer { name: web(), source };
    vec![
        sandbox(DisksError::NoOverlay(disk_image())).into(),
        sandbox(DisksError::View(memory)).into(),
        sandbox(DisksError::View(rootfs_view::OpenError::NoUpper)).into(),
        sandbox(DisksError::Image(not_found())).into(),
        sandbox(DisksError::Io(denied())).into(),
        DiffError::Image { name: web(), source: DisksError::Io(missing()) }.into(),
        DiffError::Base { name: web(), source: DisksError::Io(missing()) }.into(),
        DiffError::Base { name: web(), source: DisksError::Image(not_found()) }.into(),
        DiffError::Scope(scope()).into(),
        DiffError::NotThere { path: b"/a".to_vec() }.into(),
        CommitError::Disks {
            name: web(),
            source: DiffError::NotThere { path: b"/a".to_vec() },
        }
        .into(),
        layer(LayerError::ReservedName { path: b"/.wh.a".to_vec() }).into(),
        layer(LayerError::LongPath {
            start: b"/a".to_vec(),
            length_bytes: 5000,
            limit_bytes: 4096,
        })
        .into(),
        layer(LayerError::Content {
            path: b"/a".to_vec(),
            source: rootfs_view::ContentError::Io(denied()),
        })
        .into(),
    ]
}

fn applications() -> Vec<Error> {
    let path = || "/src".into();
    let unaccepted = |count| ApplyError::Unaccepted {
        path: b"/src/.envrc".to_vec(),
        effect: Effect::RunsCommands { reader: "direnv" },
        count,
    };
    let left = |kept| ApplyError::Left { files: vec![LeftFile { path: path(), kept }; 2] };
    let unfinished = |source| ApplyError::Unfinished { directory: path(), record: "/home/applying/1-2.json".into(), source };
    vec![
        ApplyError::Directory { path: path(), source: missing() }.into(),
        ApplyError::Directory { path: path(), source: denied() }.into(),
        ApplyError::NoOrigin { path: b"/src".to_vec() }.into(),
        ApplyError::Outside { path: b"/src".to_vec(), from: b"/app".to_vec() }.into(),
        ApplyError::Busy { path: path() }.into(),
        ApplyError::Conflicts { path: path(), reason: ConflictReason::Differs, count: 2 }.into(),
        unaccepted(1).into(),
        unaccepted(2).into(),
        ApplyError::Full { path: path(), needed_bytes: 2, free_bytes: 1 }.into(),
        ApplyError::Changed { path: path() }.into(),
        left(None).into(),
        left(Some("/src.msb-kept".into())).into(),
        unfinished(ApplyRecordError::OtherDirectory).into(),
        unfinished(ApplyRecordError::Host(Box::new(ApplyError::Directory { path: path(), source: denied() }))).into(),
        ApplyError::Read { path: b"a".to_vec(), source: broken() }.into(),
        ApplyError::Host { action: "write", path: path(), source: denied() }.into(),
    ]
}

fn discards() -> Vec<Error> {
    let diff = |source| DiscardError::Diff { name: web(), source };
    vec![
        DiscardError::NoOverlay(native()).into(),
        DiscardError::Running { name: web() }.into(),
        DiscardError::InUse { name: web() }.into(),
        DiscardError::NoDirectory { path: b"/a".to_vec() }.into(),
        DiscardError::NotKept { name: web(), path: b"/a".to_vec() }.into(),
        DiscardError::Full { name: web(), size_bytes: 1 }.into(),
        DiscardError::Scope(scope()).into(),
        diff(DiffError::Base { name: web(), source: DisksError::Io(missing()) }).into(),
        DiscardError::Disks { name: web(), source: DisksError::NoOverlay(disk_image()) }.into(),
        DiscardError::Generations { name: web(), source: SnapshotError::NoDisk }.into(),
        DiscardError::Write { name: web(), source: full() }.into(),
    ]
}

fn snapshots() -> Vec<Error> {
    let live = |source| SnapshotError::Live { name: web(), source };
    vec![
        SnapshotError::NoOverlay(native()).into(),
        SnapshotError::Running { name: web() }.into(),
        SnapshotError::Connect(not_running()).into(),
        SnapshotError::Exists { sandbox: web(), name: "a".parse().expect("a name") }.into(),
        SnapshotError::Missing { sandbox: web(), name: "a".to_owned() }.into(),
        SnapshotError::TooMany { count: 9, limit: 8 }.into(),
        SnapshotError::Empty { sandbox: web() }.into(),
        SnapshotError::NoDisk.into(),
        SnapshotError::Damaged { path: "/record".into(), reason: "it is empty".to_owned() }.into(),
        SnapshotError::Io(full()).into(),
        live(ClientError::Cut { message: "the disk is busy".to_owned() }).into(),
        live(ClientError::Version { version: 9, oldest: 1, newest: 2 }).into(),
    ]
}

fn archives() -> Vec<Error> {
    let damaged = ReadError::Damaged { part: Part::Disk, reason: "its seal".to_owned() };
    vec![
        ExportError::Snapshot(SnapshotError::Empty { sandbox: web() }).into(),
        ExportError::Archive(WriteError::Disk(denied())).into(),
        ExportError::Output(full()).into(),
        ExportError::Record(broken()).into(),
        ImportError::Archive(damaged).into(),
        ImportError::Archive(ReadError::Truncated { part: Part::Disk }).into(),
        ImportError::Archive(ReadError::NotAnArchive).into(),
        ImportError::Archive(ReadError::Input(denied())).into(),
        ImportError::Archive(ReadError::Write(full())).into(),
        ImportError::Format { found: 9, newest: 1 }.into(),
        ImportError::Record { reason: "it is empty".to_owned() }.into(),
        ImportError::Full { needed_bytes: 3, free_bytes: 2, kept_bytes: 1 }.into(),
        ImportError::Create(name_taken()).into(),
        ImportError::Snapshot(SnapshotError::Missing { sandbox: web(), name: "a".to_owned() })
            .into(),
        ImportError::Io(denied()).into(),
    ]
}
