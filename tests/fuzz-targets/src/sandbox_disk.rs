//! A sandbox's disk as a hostile guest may leave it: the view of it is compared with the image, and
//! the layer of what changed makes the view's names of the image's.

use std::convert::Infallible;
use std::io::{self, Write};
use std::sync::LazyLock;

use ext4_writer::SparseOutput;
use fstree::{DataSink, FileKind, InodeId, Metadata, Name, Run, Segment, Tree};
use oci_layers::{Limits, merge, read_layer};
use rootfs_view::{Content, ContentError, View};
use tree_diff::{InMemory, LayerOptions, LayerPlan, Relation, Scope, Side, Unrelated, compare};

use crate::hostile_tree::Shape;
use crate::images;

/// Longest layer, in bytes.
const LAYER_BYTES: usize = 8 << 20;

const NAMES: [&[u8]; 14] = [
    b"a",
    b"d",
    b"f",
    b"g",
    b"s1",
    b"s2",
    b"new",
    b"hosts",
    b".wh.a",
    b".wh..wh..opq",
    b"\xff\n",
    b"#1",
    // Handles of overlayfs, for the inodes 40 and 47: struct ovl_fb and FILEID_INO32_GEN.
    b"00fb1d0001000000000000000000000000000000002800000000000000",
    b"00fb1d0001000000000000000000000000000000002f00000000000000",
];
const XATTRS: [&[u8]; 12] = [
    b"trusted.overlay.opaque",
    b"trusted.overlay.redirect",
    b"trusted.overlay.metacopy",
    b"trusted.overlay.origin",
    b"trusted.overlay.impure",
    b"trusted.overlay.whiteout",
    b"trusted.overlay.overlay.opaque",
    b"trusted.note",
    b"user.note",
    b"security.capability",
    b"system.posix_acl_access",
    b"user.overlay.opaque",
];
const VALUES: [&[u8]; 10] = [
    b"", b"y", b"x", b"/d", b"/d/d", b"/d/../d", b"d", b"f", b"/f", b"/s1",
];

/// The disk: `upper`, `work` and `work/index` hold the files, and most of them lie in the upper directory and below
/// it.
const DISK: Shape<'_> = Shape {
    directories: &["upper", "work", "work/index"],
    parents: &["upper", "work", "work/index", "upper", "upper", "upper"],
    names: &NAMES,
    links: &NAMES,
    xattrs: &XATTRS,
    values: &VALUES,
};

/// The image below, and its files as the tree that a layer is read into.
struct Base {
    erofs: Vec<u8>,
    layer: Vec<u8>,
}

static BASE: LazyLock<Base> = LazyLock::new(|| {
    let mut files = images::files(&[
        "a",
        "f",
        "g",
        "s1",
        "d/a",
        "d/f",
        "d/d/f",
        "d/d/g",
        "etc/hosts",
    ]);
    let shared = files.find(b"s1").expect("there");
    files.link(files.root(), Name::new(b"s2").expect("a name"), shared);
    let erofs = images::erofs(&files);
    let (old, new) = (InMemory(Tree::new(Metadata::directory(0))), InMemory(files));
    let plan = LayerPlan::new(&old, &new, &Unrelated, LayerOptions::default()).expect("planned");
    let layer = plan.write(&new, Vec::new()).expect("written").out;
    Base { erofs, layer }
});

/// A disk of memory.
#[derive(Default)]
struct Memory(Vec<u8>);

impl SparseOutput for &mut Memory {
    fn set_len(&mut self, length_bytes: u64) -> io::Result<()> {
        self.0 = vec![0; usize::try_from(length_bytes).map_err(io::Error::other)?];
        Ok(())
    }

    fn write_all_at(&mut self, bytes: &[u8], offset_bytes: u64) -> io::Result<()> {
        let start = usize::try_from(offset_bytes).map_err(io::Error::other)?;
        self.0[start..start + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }
}

/// An output with a limit.
struct Bounded(Vec<u8>);

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > LAYER_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A sink that discards the content of files.
struct Discard;

impl DataSink for Discard {
    type Error = io::Error;

    fn append(&mut self, content: &mut dyn io::Read, length_bytes: u64) -> io::Result<Option<Run>> {
        io::copy(&mut io::Read::take(content, length_bytes), &mut io::sink())?;
        let run = Run {
            start_block: 1,
            blocks: length_bytes.div_ceil(4096),
        };
        Ok((length_bytes > 0).then_some(run))
    }
}

/// The image or the sandbox of a view.
struct Shown<'a> {
    view: &'a View<Vec<u8>>,
    is_image: bool,
}

impl Side for Shown<'_> {
    type Content = Content;
    type Error = ContentError;

    fn tree(&self) -> &Tree<Content> {
        if self.is_image {
            self.view.image()
        } else {
            self.view.tree()
        }
    }

    fn size_bytes(&self, content: &Content) -> u64 {
        content.size_bytes()
    }

    fn segments(&self, content: &Content) -> Vec<Segment> {
        self.view.segments(content)
    }

    fn read_at(
        &self,
        content: &Content,
        offset: u64,
        buffer: &mut [u8],
    ) -> Result<(), ContentError> {
        self.view.read_at(content, offset, buffer)
    }
}

/// The relation of a sandbox to its image, by the rules of `msb`: which inodes and contents they share.
struct OfImage<'a>(&'a View<Vec<u8>>);

impl Relation<Content, Content> for OfImage<'_> {
    fn is_same_inode(&self, old: InodeId, new: InodeId) -> bool {
        let origin = self.0.origin(new);
        !origin.is_upper && origin.lower == Some(old)
    }

    fn is_same_content(&self, old: &Content, new: &Content) -> bool {
        matches!((old, new), (Content::Lower(one), Content::Lower(other)) if one == other)
    }

    fn origin(&self, new: InodeId) -> Option<InodeId> {
        self.0.origin(new).lower
    }

    fn is_replaced(&self, old: InodeId, new: InodeId) -> bool {
        self.0.origin(new).lower != Some(old)
    }
}

/// Returns the names of a tree, with the type and the size of each file.
fn names<D>(tree: &Tree<D>, size_bytes: impl Fn(&D) -> u64) -> Vec<(Vec<u8>, char, u64)> {
    let names = tree.walk().map(|entry| {
        let size_bytes = match &entry.inode.kind {
            FileKind::Regular(content) => size_bytes(content),
            _ => 0,
        };
        (
            entry.path.to_vec(),
            entry.inode.kind.file_type().letter(),
            size_bytes,
        )
    });
    let mut names: Vec<_> = names.collect();
    names.sort_unstable();
    names
}

/// Compares the disk that `input` describes with its image.
///
/// # Panics
/// If the layer of the changes is not always the same, or does not make the disk's names.
pub fn run(input: &[u8]) {
    let mut upper = Memory::default();
    let options = ext4_writer::Options {
        size_bytes: ext4_writer::SIZE_MIN_BYTES,
        ..Default::default()
    };
    // Not every tree has a form on a disk.
    if ext4_writer::write(&DISK.tree(input), &options, &mut upper).is_err() {
        return;
    }
    let Ok(view) = View::open(upper.0, BASE.erofs.clone(), Vec::new()) else {
        return;
    };
    let (old, new) = (
        Shown {
            view: &view,
            is_image: true,
        },
        Shown {
            view: &view,
            is_image: false,
        },
    );
    let relation = OfImage(&view);
    let _ = compare(&old, &new, &relation, &Scope::everything());
    let Ok(plan) = LayerPlan::new(&old, &new, &relation, LayerOptions::default()) else {
        return;
    };
    let Ok(written) = plan.write(&new, Bounded(Vec::new())) else {
        return;
    };
    let again = plan
        .write(&new, Bounded(Vec::new()))
        .expect("it was written before");
    assert!(
        written.out.0 == again.out.0,
        "the layer differs from time to time"
    );
    if written.notes_total > 0 {
        return;
    }
    let limits = Limits::default();
    let layers = [&BASE.layer, &written.out.0].map(|layer| {
        let layer = read_layer(&layer[..], &limits, &mut Discard).expect("a valid layer");
        Ok::<_, Infallible>(layer.tree)
    });
    let merged = merge(layers, &limits).expect("valid layers");
    let expected = names(view.tree(), Content::size_bytes);
    assert_eq!(names(&merged.tree, |data| data.size_bytes), expected);
}
