//! Random sandboxes, random paths that are taken back, and what is then on the new disk.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::fs::File;

use erofs_writer::{ImageWriter, OutputFile};
use fstree::{FileData, InodeId, Metadata, Name, Tree, TreeBuilder, Xattrs};
use rootfs_view::{Content, Origin, View};

use super::*;

type Files = Tree<Vec<u8>>;

fn temporary() -> File {
    tempfile::tempfile().expect("made")
}

/// Returns an image with some directories, files and hard links, as an EROFS image.
pub(super) fn image() -> File {
    let options = erofs_writer::Options::default();
    let output = OutputFile::new(temporary()).expect("readable");
    let mut writer = ImageWriter::new(output, options).expect("begun");
    let mut builder: TreeBuilder<FileData> = TreeBuilder::new(Metadata::directory(0o755));
    for path in ["a/f", "a/g", "a/d/f", "a/d/d/f", "b/f", "b/d/g", "c"] {
        let content = path.repeat(900);
        let size_bytes = content.len() as u64;
        let run = writer
            .append(&mut content.as_bytes(), size_bytes)
            .expect("written");
        let data = run.map_or_else(FileData::default, |run| run.whole_file(size_bytes));
        builder
            .file(path, Metadata::with_mode(0o644), data)
            .expect("new");
    }
    for (link, path) in [("a/l", "a/f"), ("b/l", "a/f"), ("b/d/l", "b/f")] {
        builder.hard_link(link, path).expect("new");
    }
    let (output, _) = writer.finish(&builder.finish()).expect("written");
    output.into_inner()
}

fn copy_of(file: &File) -> File {
    file.try_clone().expect("cloned")
}

fn bytes(view: &View<File>, content: &Content) -> Vec<u8> {
    let mut bytes = vec![0; usize::try_from(content.size_bytes()).expect("small")];
    view.read_at(content, 0, &mut bytes).expect("readable");
    bytes
}

/// Returns a tree with its content in memory.
fn in_memory(view: &View<File>, tree: &Tree<Content>) -> Files {
    let Ok(tree) = tree
        .clone()
        .try_map(|content| Ok::<_, Infallible>(bytes(view, &content)));
    tree
}

/// Writes an upper disk that shows a tree over an image, and opens both.
fn view(image: &File, wanted: &Files) -> View<File> {
    let below = View::open_image(copy_of(image), Vec::new()).expect("an image");
    let mut upper = Tree::new(Metadata::directory(0o755));
    let directory = rootfs_view::layer(below.image(), wanted, Clone::clone, &mut upper);
    let name = Name::new(b"upper").expect("a name");
    upper.link(upper.root(), name, directory);
    let options = ext4_writer::Options {
        size_bytes: 64 << 20,
        ..Default::default()
    };
    let disk = temporary();
    ext4_writer::write(&upper, &options, &disk).expect("written");
    View::open(disk, copy_of(image), Vec::new()).expect("opened")
}

/// Files by path, without the names in directories.
type Paths = BTreeMap<Vec<u8>, (Metadata, Option<FileKind<Vec<u8>>>)>;

fn paths(tree: &Files) -> Paths {
    let files = tree.walk().map(|entry| {
        let kind = match &entry.inode.kind {
            FileKind::Directory(_) => None,
            kind => Some(kind.clone()),
        };
        let path = [b"/", &entry.path[..]].concat();
        (path, (entry.inode.metadata.clone(), kind))
    });
    files.collect()
}

/// Returns the groups of hard links among the names outside of a scope.
fn groups(tree: &Files, scope: &Scope) -> BTreeSet<BTreeSet<Vec<u8>>> {
    let mut groups: BTreeMap<InodeId, BTreeSet<Vec<u8>>> = BTreeMap::new();
    for entry in tree.walk() {
        let path = [b"/", &entry.path[..]].concat();
        if !scope.contains(&path) && tree.directory(entry.id).is_none() {
            groups.entry(entry.id).or_default().insert(path);
        }
    }
    groups.into_values().collect()
}

/// Takes changes back to a base, or else to the image, and checks every path of the new disk. Returns false
/// if that was refused.
fn check(image: &File, base: Option<&Files>, sandbox: &Files, discarded: &[&str]) -> bool {
    let scope = Scope::of_paths(discarded).expect("paths");
    let before = view(image, sandbox);
    let shown = in_memory(&before, before.tree());
    assert_eq!(paths(&shown), paths(sandbox));
    let began = base.map(|base| view(image, base));
    let began = began.as_ref().map_or_else(
        || (before.image(), &before, None),
        |base| (base.tree(), base, Some(base)),
    );
    let origin = |id| match began.2 {
        Some(base) => base.origin(id),
        None => Origin {
            is_upper: false,
            lower: Some(id),
        },
    };
    let base = BaseTree {
        tree: began.0,
        origin: &origin,
    };
    let taken = Taken {
        scope: &scope,
        paths: None,
    };
    let tree = match wanted(&before, &base, &taken) {
        Ok(tree) => tree,
        Err(DiscardError::NoDirectory { .. }) => return false,
        Err(error) => panic!("{error}"),
    };
    let Ok(tree) = tree.try_map(|wanted| {
        let view = if wanted.is_of_base { began.1 } else { &before };
        Ok::<_, Infallible>(bytes(view, &wanted.content))
    });
    let after = view(image, &tree);
    let found = in_memory(&after, after.tree());
    let below = in_memory(began.1, began.0);
    let inside = paths(&below)
        .into_iter()
        .filter(|(path, _)| scope.contains(path));
    let outside = paths(&shown)
        .into_iter()
        .filter(|(path, _)| !scope.contains(path));
    let expected: Paths = inside.chain(outside).collect();
    let differing: Vec<_> = expected
        .keys()
        .chain(paths(&found).keys())
        .filter(|path| expected.get(*path) != paths(&found).get(*path))
        .map(|path| String::from_utf8_lossy(path).into_owned())
        .collect();
    assert!(differing.is_empty(), "{discarded:?}: {differing:?}");
    assert_eq!(
        groups(&found, &scope),
        groups(&shown, &scope),
        "{discarded:?}"
    );
    true
}

fn sandbox(image: &File) -> Files {
    let view = View::open_image(copy_of(image), Vec::new()).expect("an image");
    in_memory(&view, view.image())
}

fn add(tree: &mut Files, parent: InodeId, label: &str, kind: FileKind<Vec<u8>>) {
    let mut metadata = Metadata::with_mode(0o640);
    metadata.xattrs = Xattrs::from_iter([("trusted.overlay.opaque", "y"), ("user.a", "1")]);
    let id = tree.add(Inode { metadata, kind });
    tree.link(parent, Name::new(label.as_bytes()).expect("a name"), id);
}

/// Copies an inode with everything below it: an upper directory shows a file of the image only where
/// the image has it, or by a redirect, which [`rootfs_view::layer`] does not write.
fn copied(tree: &mut Files, id: InodeId) -> InodeId {
    let mut inode = tree.inode(id).clone();
    if let FileKind::Directory(names) = &mut inode.kind {
        for below in names.values_mut() {
            *below = copied(tree, *below);
        }
    }
    tree.add(inode)
}

#[test]
fn changes_are_taken_back_by_path() {
    let image = image();
    let mut tree = sandbox(&image);
    let root = tree.root();
    let find = |tree: &Files, path: &str| tree.find(path.as_bytes()).expect("there");
    // A file replaced, a directory replaced by a file, a directory moved, a link moved with it.
    let a = find(&tree, "a");
    add(&mut tree, a, "f", FileKind::Regular(b"new".to_vec()));
    tree.unlink(root, b"c");
    let d = tree.unlink(a, b"d").expect("there");
    let moved = copied(&mut tree, d);
    tree.link(root, Name::new(b"moved").expect("a name"), moved);
    add(&mut tree, a, "d", FileKind::Regular(b"a file".to_vec()));
    let b = find(&tree, "b");
    tree.inode_mut(b).metadata.mode = 0o700;
    for discarded in [
        &["/a/f"][..],
        &["/c"],
        &["/a"],
        &["/moved"],
        &["/moved/d"],
        &["/b", "/c"],
        &["/nowhere"],
        &["/"],
    ] {
        assert!(check(&image, None, &tree, discarded), "{discarded:?}");
    }
    assert!(
        !check(&image, None, &tree, &["/a/d/d"]),
        "its directory became a file"
    );
}

/// The generator xorshift64*.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let number = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        usize::try_from(number).expect("31 bits") % limit
    }
}

/// Makes one change that a guest could make without renaming a directory.
fn change(tree: &mut Files, random: &mut Random) {
    const NAMES: [&str; 6] = ["a", "d", "f", "g", "l", "new"];
    let mut directories = vec![tree.root()];
    let mut links = Vec::new();
    for link in tree.links() {
        directories.extend(tree.directory(link.id).map(|_| link.id));
        links.push((link.parent, link.name.clone(), link.id));
    }
    let parent = directories[random.below(directories.len())];
    let label = NAMES[random.below(NAMES.len())];
    let (from, old, id) = links[random.below(links.len())].clone();
    match random.below(5) {
        0 => add(tree, parent, label, FileKind::Directory(Default::default())),
        1 => add(tree, parent, label, FileKind::Regular(b"new".repeat(3000))),
        2 => drop(tree.unlink(from, old.as_bytes())),
        3 if tree.directory(id).is_none() => {
            let copy = copied(tree, id);
            for (parent, name, _) in links.iter().filter(|(.., other)| *other == id) {
                tree.link(*parent, name.clone(), copy);
            }
            let name = Name::new(label.as_bytes()).expect("a name");
            tree.link(parent, name, copy);
        }
        _ => {
            let id = parent;
            tree.inode_mut(id).metadata.mode ^= 0o055;
        }
    }
}

#[test]
fn random_changes_are_taken_back() {
    let image = image();
    let mut done = 0;
    for seed in 1..60 {
        let mut random = Random(seed);
        let mut tree = sandbox(&image);
        for _ in 0..12 {
            if tree.names() > 0 {
                change(&mut tree, &mut random);
            }
        }
        let places = [
            "/a", "/a/d", "/a/d/f", "/b/l", "/b/d", "/f", "/new", "/a/f", "/b/new",
        ];
        let discarded: Vec<&str> = (0..2).map(|_| places[random.below(places.len())]).collect();
        done += u32::from(check(&image, None, &tree, &discarded));
        // The sandbox began with other files, some of which are those that it has.
        let mut base = sandbox(&image);
        for _ in 0..6 {
            if base.names() > 0 {
                change(&mut base, &mut random);
            }
        }
        done += u32::from(check(&image, Some(&base), &tree, &discarded));
    }
    assert!(done > 60, "only {done} were possible");
}
