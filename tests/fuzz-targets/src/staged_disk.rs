//! The disk of a sandbox with two staged directories as a hostile guest may leave it: its changes are compared, and
//! the steps of `msb apply` and `msb restage` are planned. The first byte of the input chooses options, and the
//! others the files of the disk.

use std::collections::HashSet;
use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::LazyLock;

use erofs_writer::Image;
use fs_err as fs;
use fstree::{FileKind, Inode, Metadata, Name, Tree};
use msb_runtime::{Mount, Rules, Source, Staged};
use msb_sandbox_files::fuzzing::StagedFiles;
use msb_sandbox_files::{ApplyOptions, Diff, HostChanges, StagedRules};
use tempfile::TempDir;

use crate::hostile_tree::Shape;
use crate::images;

/// Most memory for the metadata of the writable disk, in bytes.
const METADATA_BYTES: u64 = 64 << 20;
/// Most changes of a disk. It has 202 files at most, and the images below it have fewer than 100.
const CHANGES: usize = 1000;

const TARGETS: [&str; 2] = ["/work", "/srv/other"];
/// The staged files: the first name is the number of the directory.
const STAGED: [&str; 12] = [
    "0/a", "0/f", "0/g", "0/s1", "0/d/a", "0/d/f", "0/d/d/f", "0/d/d/g", "1/a", "1/f", "1/d/f",
    "1/d/g",
];
/// The files that were let in.
const LET_IN: [&str; 5] = ["0/new", "0/hosts", "0/d/new", "1/new", "1/d/a"];
/// The files of the host when the directories are staged anew.
const RESTAGED: [&str; 9] = [
    "0/a",
    "0/f",
    "0/g",
    "0/new",
    "0/d/a",
    "0/d/d/f/in",
    "1/a",
    "1/f",
    "1/d",
];
const DISK: Shape<'_> = Shape {
    directories: &[
        "upper",
        "staged",
        "staged/0",
        "staged/0/upper",
        "staged/0/work",
        "staged/0/work/index",
        "staged/1",
        "staged/1/upper",
        "staged/1/work",
        "staged/1/work/index",
    ],
    parents: &["staged/0/upper", "staged/0/upper", "staged/1/upper"],
    names: &[
        b"a",
        b"d",
        b"f",
        b"g",
        b"s1",
        b"s2",
        b"new",
        b"hosts",
        b"in",
        b".git",
        b".env",
        b"hooks",
        b"\xff\n",
        b".msb-apply-0123456789abcdef",
    ],
    links: &[b"..", b"../../outside", b"/etc/passwd", b"a", b"\xff"],
    xattrs: &[
        b"trusted.overlay.opaque",
        b"trusted.overlay.redirect",
        b"trusted.overlay.metacopy",
        b"trusted.overlay.origin",
        b"trusted.overlay.impure",
        b"trusted.overlay.whiteout",
        b"trusted.overlay.overlay.opaque",
        b"user.note",
    ],
    values: &[
        b"", b"y", b"x", b"/d", b"/d/d", b"/../1/d", b"/0/d", b"/work/d", b"..", b"d", b"f", b"/f",
        b"/s1",
    ],
};

/// The images below the disk.
struct Images {
    staged: File,
    let_in: File,
    restaged: File,
    /// The names in an index of overlayfs of a file of each directory.
    handles: [Name; 2],
}

static IMAGES: LazyLock<Images> = LazyLock::new(|| {
    let mut files = images::files(&STAGED);
    let (shared, above) = (files.find(b"0/s1"), files.find(b"0"));
    let (shared, above) = (shared.expect("there"), above.expect("there"));
    files.link(above, Name::new(b"s2").expect("a name"), shared);
    let staged = images::erofs(&files);
    let mut files = images::files(&RESTAGED);
    let edited = files.find(b"0/f").expect("there");
    files.inode_mut(edited).kind = FileKind::Regular(b"edited on the host".to_vec());
    let image = Image::open(staged.clone()).expect("just written");
    let (tree, numbers) = image.read_numbered_tree().expect("just written");
    let handle_of = |path: &str| {
        let id = tree.find(path.as_bytes()).expect("there");
        handle(numbers[id.index()])
    };
    Images {
        let_in: stored(&images::erofs(&images::files(&LET_IN))),
        restaged: stored(&images::erofs(&files)),
        handles: [handle_of("0/s1"), handle_of("1/f")],
        staged: stored(&staged),
    }
});

/// Returns the name of a file's copy in an index: struct ovl_fb with FILEID_INO32_GEN, in hexadecimal.
fn handle(number: u64) -> Name {
    let number = u32::try_from(number).expect("a small image");
    let number = number.swap_bytes();
    let text = format!("00fb1d0001{}{number:08x}00000000", "00".repeat(16));
    Name::new(text.as_bytes()).expect("a name")
}

/// Returns a file without a name that has these bytes.
fn stored(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().expect("a temporary file");
    file.write_all(bytes).expect("room");
    file
}

fn opened(file: &File) -> File {
    file.try_clone().expect("a descriptor")
}

/// The choices of an input's first byte.
#[derive(Clone, Copy)]
struct Options(u8);

impl Options {
    fn has(self, bit: u8) -> bool {
        (self.0 >> bit) & 1 != 0
    }

    fn has_let_in(self) -> bool {
        self.has(0)
    }

    fn has_copy(self, number: u8) -> bool {
        self.has(1 + number)
    }

    fn apply(self, target: &str) -> ApplyOptions {
        let mut rules = Rules::with_defaults();
        let rule = "d/f=read-only".parse().expect("a rule");
        rules.push(rule).expect("room");
        let target = target.as_bytes().to_vec();
        ApplyOptions {
            from: target.clone(),
            keep_owner: self.has(3),
            merges: self.has(4),
            rules: self.has(5).then_some(StagedRules { target, rules }),
            ..ApplyOptions::default()
        }
    }
}

/// Returns the disk's tree. The index of a directory has a file if the options say so, under a handle of the image.
fn disk(options: Options, input: &[u8]) -> Tree<Vec<u8>> {
    let mut tree = DISK.tree(input);
    for (number, handle) in (0..).zip(&IMAGES.handles) {
        if options.has_copy(number) {
            let metadata = Metadata::with_mode(0o600);
            let kind = FileKind::Regular(b"a copy".to_vec());
            let id = tree.add(Inode { metadata, kind });
            let index = tree.find(format!("staged/{number}/work/index").as_bytes());
            tree.link(index.expect("every disk has it"), handle.clone(), id);
        }
    }
    tree
}

fn mounts() -> Vec<Mount> {
    let mount = |target: &str| Mount {
        target: target.parse().expect("a target"),
        read_only: false,
        source: Source::Staged(Staged {
            directory: Some("/".into()),
            rules: Vec::new(),
            default_rules: true,
        }),
    };
    TARGETS.map(mount).into()
}

/// Compares the disk that `input` describes, and plans its changes for the host and over newer files.
///
/// # Panics
/// If a change or a step has a path outside of the staged directories, or there are too many of them.
pub fn run(input: &[u8]) {
    let (options, input) = input.split_first().unwrap_or((&0, &[]));
    let options = Options(*options);
    let upper = tempfile::tempfile().expect("a temporary file");
    let size = ext4_writer::Options {
        size_bytes: ext4_writer::SIZE_MIN_BYTES,
        ..Default::default()
    };
    // Not every tree has a form on a disk.
    if ext4_writer::write(&disk(options, input), &size, &upper).is_err() {
        return;
    }
    let let_in = options.has_let_in().then(|| opened(&IMAGES.let_in));
    let let_in = let_in.into_iter().collect();
    let staged = opened(&IMAGES.staged);
    let Ok(files) = StagedFiles::open(upper, staged, let_in, mounts(), METADATA_BYTES) else {
        return;
    };
    let Ok(diff) = files.diff() else {
        return;
    };
    assert!(diff.len() <= CHANGES, "{} changes", diff.len());
    for change in diff.changes() {
        assert_is_staged(&change.path);
    }
    let host = Host::new();
    for (number, target) in TARGETS.iter().enumerate() {
        host.judge_apply(&diff, number, options.apply(target));
    }
    if let Ok(plan) = files.restage(opened(&IMAGES.restaged)) {
        assert!(plan.files <= CHANGES, "{} files", plan.files);
        for path in plan.seen.iter().chain(&plan.conflicts) {
            assert_is_staged(path);
        }
    }
}

/// The directories of the host, `0` and `1`, and one beside them that no step may reach.
struct Host(TempDir);

impl Host {
    fn new() -> Self {
        let root = tempfile::tempdir().expect("a temporary directory");
        let host = Self(root);
        for path in STAGED {
            host.write(path, images::content(path));
        }
        // The host's user has changed a text, and replaced a directory by a symlink.
        host.write("0/f", b"edited on the host".to_vec());
        host.write("outside/f", images::content("0/d/d/f"));
        let replaced = host.0.path().join("0/d/d");
        fs::remove_dir_all(&replaced).expect("removable");
        symlink("../../outside", &replaced).expect("made");
        host
    }

    fn write(&self, path: &str, content: Vec<u8>) {
        let path = self.0.path().join(path);
        let above = path.parent().expect("it is in the directory");
        fs::create_dir_all(above).expect("made");
        fs::write(&path, content).expect("written");
    }

    /// Plans the changes of a staged directory for its directory of the host, whole and merged with its texts.
    fn judge_apply(&self, diff: &Diff, number: usize, options: ApplyOptions) {
        let directory = self.0.path().join(number.to_string());
        let Ok(mut planned) = diff.plan_apply(&directory, options) else {
            return;
        };
        assert_stays_in(&planned, &directory);
        if HostChanges::settle_all(std::slice::from_mut(&mut planned)).is_ok() {
            assert_stays_in(&planned, &directory);
        }
    }
}

/// Asserts that all steps are in a directory of the host, whatever symlinks it has.
fn assert_stays_in(planned: &HostChanges, directory: &Path) {
    let steps = planned.steps();
    let replaced: HashSet<&[u8]> = steps.iter().map(|step| &step.path[..]).collect();
    for step in steps {
        let path = &step.path;
        let host = planned.host_path(path);
        let text = path.escape_ascii();
        assert!(is_plain(path) && host.starts_with(directory), "{text}");
        for (end, _) in path.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
            let above = &path[..end];
            let found = fs::symlink_metadata(planned.host_path(above));
            let is_link = found.is_ok_and(|found| found.is_symlink());
            // A symlink may be above a step only if another step replaces it by a directory.
            assert!(!is_link || replaced.contains(above), "{text}");
        }
    }
    let conflicts = planned.conflicts().iter().map(|conflict| &conflict.path);
    let refused = planned.refused().iter().map(|refused| &refused.path);
    for path in conflicts.chain(refused).chain(planned.sockets()) {
        assert!(is_plain(path), "{}", path.escape_ascii());
    }
    for path in planned.left_out() {
        assert_is_staged(path);
    }
}

/// Asserts that a path of the sandbox is plain, and is one of the staged directories or in one.
fn assert_is_staged(path: &[u8]) {
    let mut targets = TARGETS.iter().map(|target| target.as_bytes());
    let is_staged = targets.any(|target| match path.strip_prefix(target) {
        Some([]) => true,
        Some([b'/', rest @ ..]) => is_plain(rest),
        _ => false,
    });
    assert!(is_staged, "{}", path.escape_ascii());
}

/// Returns true if a path consists of names, without `.` and `..`.
fn is_plain(path: &[u8]) -> bool {
    let mut names = path.split(|&byte| byte == b'/');
    names.all(|name| !matches!(name, b"" | b"." | b".."))
}
