//! Files that were let into staged directories later, as a part of what the sandbox began with.

use std::fs::File;

use erofs_writer::{ImageWriter, OutputFile};
use fstree::{FileData, FileKind, Inode, InodeId, Metadata, Tree, TreeBuilder};
use rootfs_view::{Content, View};

use crate::image::name;

const TARGET: &[u8] = b"/work";

/// Returns an image of one staged directory with these files, and with a denied directory if there is one.
pub(crate) fn image(files: &[(&str, &str)], denied: Option<&str>) -> File {
    let output = OutputFile::new(tempfile::tempfile().expect("made")).expect("readable");
    let mut writer = ImageWriter::new(output, Default::default()).expect("begun");
    let mut builder: TreeBuilder<FileData> = TreeBuilder::new(Metadata::directory(0o755));
    for (path, content) in files {
        let size_bytes = content.len() as u64;
        let run = writer
            .append(&mut content.as_bytes(), size_bytes)
            .expect("written");
        let data = run.map_or_else(FileData::default, |run| run.whole_file(size_bytes));
        builder
            .file(format!("0/{path}"), Metadata::with_mode(0o640), data)
            .expect("new");
    }
    let mut tree = builder.finish();
    if let Some(denied) = denied {
        let above = tree.find(b"0").expect("there");
        let id = tree.add(Inode::directory(Metadata::directory(0)));
        tree.link(above, name(denied), id);
    }
    let (output, _) = writer.finish(&tree).expect("written");
    output.into_inner()
}

/// Returns a writable disk with these files as changes of a staged directory.
fn upper(files: &[(&str, &str)]) -> File {
    let mut builder: TreeBuilder<Vec<u8>> = TreeBuilder::new(Metadata::directory(0o755));
    builder
        .file("upper/x", Metadata::with_mode(0o644), Vec::new())
        .expect("new");
    builder
        .file("staged/0/upper/own", Metadata::with_mode(0o644), Vec::new())
        .expect("new");
    for (path, content) in files {
        let content = content.as_bytes().to_vec();
        builder
            .file(
                format!("staged/0/upper/{path}"),
                Metadata::with_mode(0o640),
                content,
            )
            .expect("new");
    }
    let disk = tempfile::tempfile().expect("made");
    let options = ext4_writer::Options {
        size_bytes: 64 << 20,
        ..Default::default()
    };
    ext4_writer::write(&builder.finish(), &options, &disk).expect("written");
    disk
}

fn view(sandbox: &[(&str, &str)], let_in: &[&[(&str, &str)]]) -> View<SharedFile> {
    let targets = [TARGET.to_vec()];
    let staged = image(&[("seen", "seen")], Some("sealed"));
    let view = View::open_staged(shared(upper(sandbox)), shared(staged), &targets, 1 << 30);
    let mut view = view.expect("opened");
    let images = let_in.iter().map(|files| shared(image(files, None)));
    view.let_in(images.collect(), &targets).expect("let in");
    view
}

type SharedFile = &'static File;

fn shared(file: File) -> SharedFile {
    Box::leak(Box::new(file))
}

fn find(tree: &Tree<Content>, path: &str) -> Option<InodeId> {
    tree.find(format!("work/{path}").as_bytes())
}

fn content(view: &View<SharedFile>, path: &str) -> Option<String> {
    let inode = view.base().inode(find(view.base(), path)?);
    let FileKind::Regular(content) = &inode.kind else {
        panic!("{path} is no regular file");
    };
    let mut bytes = vec![0; usize::try_from(content.size_bytes()).expect("small")];
    view.read_at(content, 0, &mut bytes).expect("readable");
    Some(String::from_utf8(bytes).expect("text"))
}

#[test]
fn a_file_that_the_sandbox_has_is_a_part_of_the_base_as_it_was_let_in() {
    let large = "large".repeat(5_000);
    let first: &[(&str, &str)] = &[(".env", "first"), ("gone", "x"), ("sealed/key", &large)];
    let second: &[(&str, &str)] = &[(".env", "second")];
    let sandbox = [(".env", "changed"), ("sealed/key", "k"), ("other", "own")];
    let view = view(&sandbox, &[first, second]);
    assert_eq!(content(&view, ".env").as_deref(), Some("second"));
    assert_eq!(content(&view, "sealed/key"), Some(large));
    assert_eq!(content(&view, "seen").as_deref(), Some("seen"));
    let sealed = find(view.base(), "sealed").expect("there");
    assert_eq!(view.base().inode(sealed).metadata.mode, 0o755);
    for missing in ["gone", "other", "own"] {
        assert_eq!(content(&view, missing), None, "{missing}");
    }
    // The image itself is as it was.
    assert_eq!(find(view.image(), ".env"), None);
    assert!(find(view.base(), ".env").expect("there").index() >= view.image().len());
}

#[test]
fn a_sandbox_without_the_files_has_none_of_them_in_its_base() {
    let view = view(
        &[],
        &[&[(".env", "first"), ("seen", "other"), ("sealed/key", "key")]],
    );
    assert_eq!(content(&view, ".env"), None);
    assert_eq!(content(&view, "seen").as_deref(), Some("seen"));
    assert_eq!(find(view.base(), "sealed/key"), None);
    let sealed = find(view.base(), "sealed").expect("there");
    assert_eq!(view.base().inode(sealed).metadata.mode, 0);
}
