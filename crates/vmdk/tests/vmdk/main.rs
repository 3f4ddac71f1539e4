//! Descriptors compared with a golden text, the parser and QEMU.

use std::fs;
use std::os::unix::fs::FileExt;
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

/// Reads past 2^31 sectors, where a reader that counts in 32 bits wraps around. The disk is as
/// large as EROFS can address, and one file alone is longer than 2 TiB.
#[test]
fn oracle_qemu_io_past_2_tib() {
    const TIB: u64 = 1 << 40;
    let directory = tempfile::tempdir().expect("a temporary directory");
    let lengths = [4096, 3 * TIB, TIB / 2 + 4096, 12 * TIB];
    let mut extents = Vec::new();
    let mut looks = Vec::new();
    let mut offset_bytes = 0;
    for (number, length_bytes) in (1_u8..).zip(lengths) {
        let name = format!("{number}.erofs");
        let file = fs::File::create(directory.path().join(&name)).expect("made");
        file.set_len(length_bytes).expect("sparse files");
        for place in [0, 2 * TIB - 512, 2 * TIB, length_bytes - 512] {
            if place + 512 <= length_bytes {
                file.write_all_at(&[number; 512], place).expect("written");
                looks.push(format!("read -P {number} {} 512", offset_bytes + place));
            }
        }
        offset_bytes += length_bytes;
        extents.push(extent(length_bytes / SECTOR_BYTES, &name));
    }
    let descriptor = Descriptor::new(7, extents).expect("valid");
    assert_eq!(descriptor.total_sectors() * SECTOR_BYTES, offset_bytes);
    fs::write(directory.path().join("disk.vmdk"), descriptor.render()).expect("written");
    let mut command = Command::new("qemu-io");
    command.args(["-r", "-f", "vmdk"]);
    for look in &looks {
        command.args(["-c", look]);
    }
    let output = command
        .args(["-c", "length", "disk.vmdk"])
        .current_dir(directory.path())
        .output()
        .expect("qemu-io runs (package qemu-utils)");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{output:?}");
    assert!(!said.contains("Pattern verification failed"), "{said}");
    assert_eq!(
        said.matches("read 512/512 bytes").count(),
        looks.len(),
        "{said}"
    );
    assert!(said.contains("15.500 TiB"), "{said}");
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
