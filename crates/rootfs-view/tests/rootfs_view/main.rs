//! Views compared with the tree that this machine's kernel shows of the same disks.

mod hostile;
mod image;
mod layered;
mod let_in;
mod native;
mod oracle_changes;
mod oracle_random;

use std::fs::File;
use std::path::Path;

use rootfs_view::{Content, View};
use testkit::{SandboxMounts, TreeDump};

/// Mounts the disks in this machine's kernel.
fn mount_disks(disks: &Path) -> SandboxMounts {
    SandboxMounts::new(&disks.join("fsmeta.erofs"), &disks.join("upper.ext4"))
}

fn view(disks: &Path) -> View<File> {
    let open = |name: &str| File::open(disks.join(name)).expect("there");
    View::open(open("upper.ext4"), open("fsmeta.erofs"), Vec::new())
        .unwrap_or_else(|error| panic!("{error:?}"))
}

fn bytes(view: &View<File>, content: &Content) -> Vec<u8> {
    let size = usize::try_from(content.size_bytes()).expect("small");
    let mut bytes = vec![0; size];
    for segment in view.segments(content) {
        let start = usize::try_from(segment.offset_bytes).expect("small");
        let length = usize::try_from(segment.length_bytes).expect("small");
        let piece = &mut bytes[start..start + length];
        view.read_at(content, segment.offset_bytes, piece)
            .expect("readable");
    }
    bytes
}

fn dump(view: &View<File>) -> TreeDump {
    TreeDump::from_tree(view.tree(), |content| {
        testkit::Content::read(&bytes(view, content)[..])
    })
    .expect("readable")
}

/// Asserts that the view shows the same as the kernel did.
fn assert_same(expected: &TreeDump, view: &View<File>, what: &str) {
    let differences = expected.differences(&dump(view));
    assert!(differences.is_empty(), "{what}: {differences:#?}");
}
