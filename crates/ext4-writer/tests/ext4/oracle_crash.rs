//! Images that were not unmounted: this crate's replay finds the same tree as e2fsck.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::process::Command;

use fstree::{Metadata, Tree};
use testkit::TreeDump;

use crate::image;
use crate::listing::{dump, open};
use crate::mounted::{Mount, e2fsck, succeed};

/// Options of a mount that writes nothing later: the threads that commit after 5 s and that zero inode tables would
/// let the journal be checkpointed on a slow host.
const QUIET: &str = "commit=600,noinit_itable,noatime";

/// Does the work of a guest between two commits: names are made, moved and removed, and freed
/// blocks are used again for content, so that the journal revokes some.
fn work(root: &Path, round: u32) {
    let directory = root.join(format!("round-{round}"));
    fs::create_dir(&directory).expect("made");
    for index in 0..150 {
        let name = directory.join(format!("{index}-{}", "n".repeat(120)));
        fs::write(name, vec![7; 100 * (index % 7)]).expect("written");
    }
    let large = File::create(directory.join("large")).expect("made");
    for index in 0..400_u64 {
        large
            .write_all_at(&[9; 4096], index * 8192)
            .expect("written");
    }
    // The journal has to escape a block that begins with its magic number.
    let magic = 0xc03b_3998_u32.to_be_bytes();
    fs::write(directory.join("magic"), magic.repeat(4096)).expect("written");
    if let Some(before) = round.checked_sub(1) {
        let before = root.join(format!("round-{before}"));
        let moved = directory.join("moved");
        fs::rename(before.join("magic"), moved).expect("moved");
        fs::remove_dir_all(before).expect("removed");
    }
    large.sync_all().expect("synced");
}

/// Writes everything back, then makes a few names in transactions of their own.
///
/// What a `syncfs` wrote may be checkpointed by the time it returns, and the kernel then empties the journal as it
/// likes. An `fsync` only commits: its transaction is in the journal until somebody writes again.
fn commit(root: &Path, round: u32) {
    let directory = File::open(root).expect("opened");
    rustix::fs::syncfs(&directory).expect("synced");
    for index in 0..3 {
        let mut file = File::create(root.join(format!("last-{round}-{index}"))).expect("made");
        file.write_all(b"the last words").expect("written");
        file.sync_all().expect("synced");
    }
}

/// Copies the state that a power cut could leave: nothing is being written, and the journal is not checkpointed.
fn snapshot(image: &Path, copy: &Path) {
    succeed(
        Command::new("cp")
            .arg("--sparse=always")
            .arg(image)
            .arg(copy),
    );
}

fn check(arguments: Option<&[&str]>, options: &str) {
    let tree = Tree::new(Metadata::directory(0o755));
    let file = image(&tree, 128 << 20);
    if let Some(arguments) = arguments {
        succeed(
            Command::new("mke2fs")
                .args(["-q", "-F"])
                .args(arguments)
                .arg(file.path()),
        );
    }
    let copies = tempfile::tempdir().expect("a temporary directory");
    let mount = Mount::with(file.path(), &format!("{options},{QUIET}"));
    for round in 0..3 {
        work(mount.path(), round);
        commit(mount.path(), round);
        snapshot(file.path(), &copies.path().join(format!("{round}")));
    }
    drop(mount);
    let mut cuts_seen = 0;
    for round in 0..3 {
        let copy = copies.path().join(format!("{round}"));
        let image = open(&copy);
        image.verify().unwrap_or_else(|error| panic!("{error:?}"));
        let journaled = image.superblock().journaled_blocks;
        assert!(
            journaled > 0,
            "nothing to replay in round {round}: {arguments:?}, {options}"
        );
        let cut = copies.path().join("cut");
        fs::copy(&copy, &cut).expect("copied");
        cut_last_commit(&cut);
        let found = [copy, cut].map(|path| recover(&path));
        cuts_seen += u32::from(found[0] != found[1]);
    }
    assert_eq!(
        cuts_seen, 3,
        "a cut changed nothing: {arguments:?}, {options}"
    );
}

/// Compares the tree that this crate's replay reads with the one that e2fsck leaves. Returns it.
fn recover(copy: &Path) -> TreeDump {
    let replayed = dump(&open(copy));
    let preened = Command::new("e2fsck").arg("-p").arg(copy).output();
    let code = preened.expect("e2fsck runs").status.code();
    assert!(matches!(code, Some(0 | 1)), "e2fsck -p gave {code:?}");
    e2fsck(copy);
    let after = open(copy);
    assert_eq!(after.superblock().journaled_blocks, 0);
    let recovered = dump(&after);
    let differences = recovered.differences(&replayed);
    assert!(
        differences.is_empty(),
        "{}: {differences:#?}",
        copy.display()
    );
    replayed
}

/// Erases the block that ends the last transaction, as if the power had failed before it was
/// written.
fn cut_last_commit(copy: &Path) {
    const COMMIT: [u8; 8] = [0xc0, 0x3b, 0x39, 0x98, 0, 0, 0, 2];
    let bytes = fs::read(copy).expect("readable");
    let (blocks, _) = bytes.as_chunks::<1024>();
    let commits = (0_u64..).zip(blocks).filter_map(|(index, block)| {
        let sequence = block.strip_prefix(&COMMIT)?.first_chunk()?;
        Some((u32::from_be_bytes(*sequence), index))
    });
    let (_, index) = commits.max().expect("the journal has a commit");
    let file = File::options().write(true).open(copy).expect("opened");
    file.write_all_at(&[0; 1024], index * 1024)
        .expect("written");
}

#[test]
fn oracle_our_own_image() {
    check(None, "loop");
}

#[test]
fn oracle_content_in_the_journal() {
    check(None, "loop,data=journal");
}

#[test]
fn oracle_other_journals() {
    check(Some(&["-t", "ext3", "-b", "1024"]), "loop");
    check(
        Some(&["-t", "ext4", "-O", "^metadata_csum,^64bit"]),
        "loop,data=journal",
    );
}
