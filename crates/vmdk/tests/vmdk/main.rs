//! The descriptor against its golden text, its own parser and QEMU.

use std::fs;
use std::process::Command;

use proptest::prelude::*;
use vmdk::{Descriptor, FlatExtent, SECTOR_BYTES};

fn extent(sectors: u64, file_name: &str) -> FlatExtent {
    FlatExtent {
        sectors,
        file_name: file_name.to_owned(),
    }
}

#[test]
fn golden_descriptor() {
    let extents = vec![extent(40, "fsmeta.erofs"), extent(1 << 33, "0a1b.erofs")];
    let descriptor = Descriptor::new(0x00c0_ffee, extents).expect("valid");
    insta::assert_snapshot!(descriptor.render());
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        content_id in any::<u32>(),
        extents in prop::collection::vec((1_u64..1 << 40, "[a-z0-9][a-z0-9 .é_-]{0,40}[a-z0-9]"), 1..40),
    ) {
        let extents = extents.iter().map(|(sectors, name)| extent(*sectors, name)).collect();
        let descriptor = Descriptor::new(content_id, extents).expect("valid");
        prop_assert_eq!(Descriptor::parse(&descriptor.render()), Ok(descriptor));
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,200}") {
        let _ = Descriptor::parse(&text);
    }
}

/// QEMU reads the disk as the concatenation of its files.
#[test]
fn oracle_qemu_img() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut flat = Vec::new();
    let mut extents = Vec::new();
    for (index, sectors) in [8_u8, 16, 1, 7, 24].into_iter().enumerate() {
        let name = format!("part {index}.erofs");
        let bytes = vec![sectors; usize::from(sectors) * 512];
        fs::write(directory.path().join(&name), &bytes).expect("written");
        flat.extend_from_slice(&bytes);
        extents.push(extent(u64::from(sectors), &name));
    }
    let descriptor = Descriptor::new(7, extents).expect("valid");
    assert_eq!(descriptor.total_sectors() * SECTOR_BYTES, flat.len() as u64);
    fs::write(directory.path().join("disk.vmdk"), descriptor.render()).expect("written");
    fs::write(directory.path().join("flat.img"), flat).expect("written");
    let output = Command::new("qemu-img")
        .args([
            "compare",
            "-f",
            "raw",
            "-F",
            "vmdk",
            "flat.img",
            "disk.vmdk",
        ])
        .current_dir(directory.path())
        .output()
        .expect("qemu-img runs (package qemu-utils)");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("Images are identical."), "{said}{output:?}");
}
