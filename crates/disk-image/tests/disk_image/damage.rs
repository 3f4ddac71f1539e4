//! Damaged images: an error or other bytes, in bounded time, and never a panic.

use std::fs;
use std::sync::OnceLock;

use disk_image::{DiskImage, PartitionTable, RootChoice, find_root};
use fstree::ReadAt as _;
use proptest::prelude::*;

use crate::tools::{Workshop, content};

/// Reads all that can be read of a file that claims to be a disk image.
fn exercise(bytes: Vec<u8>) {
    let Ok(image) = DiskImage::open(bytes, None) else {
        return;
    };
    let _ = image.check();
    let _ = PartitionTable::read(&image);
    let _ = find_root(&image, RootChoice::default());
    let mut piece = vec![0; 70_000];
    for at in [0, 1, 2, 5, 8].map(|mib| mib << 20) {
        let _ = image.read_exact_at(&mut piece, at + 12_345);
    }
}

/// Returns images that are damaged: small clusters have many tables, compressed ones many lengths.
fn images() -> &'static [Vec<u8>] {
    static IMAGES: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    IMAGES.get_or_init(|| {
        let workshop = Workshop::new();
        workshop.write("raw", &content());
        let make = |options: &str| {
            workshop.run(&format!("qemu-img convert -f raw {options} raw image"));
            fs::read(workshop.path("image")).expect("read")
        };
        let mut images: Vec<Vec<u8>> = [
            "-O qcow2 -o cluster_size=4096",
            "-O qcow2 -c",
            "-O qcow2 -c -o compression_type=zstd",
            "-O vmdk",
            "-O vmdk -o subformat=streamOptimized",
        ]
        .map(make)
        .into();
        for script in [
            "label: gpt\nsize=4MiB\nsize=2MiB\n",
            "label: dos\nsize=1MiB\nsize=6MiB,type=5\nsize=1MiB\nsize=1MiB\n",
        ] {
            workshop.sized("disk", 9 << 20);
            workshop.run_with_input("sfdisk -q disk", script);
            images.push(fs::read(workshop.path("disk")).expect("read"));
        }
        images
    })
}

/// Returns the number of damaged images, of `MSB_DISK_IMAGE_CASES` or a few.
fn cases() -> u32 {
    let given = std::env::var("MSB_DISK_IMAGE_CASES");
    given.map_or(96, |cases| cases.parse().expect("a number"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]
    #[test]
    fn damaged_images_are_read_or_refused(
        which in any::<prop::sample::Index>(),
        // Tables and headers lie at the start of a file.
        changes in prop::collection::vec((prop_oneof![0_usize..1200, 0_usize..400_000], any::<u64>(), 1_usize..9), 1..6),
        end in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut bytes = which.get(images()).clone();
        for (at, value, length) in changes {
            if let Some(changed) = bytes.get_mut(at..at + length) {
                changed.copy_from_slice(&value.to_be_bytes()[..length]);
            }
        }
        if let Some(end) = end {
            bytes.truncate(end.index(bytes.len()));
        }
        exercise(bytes);
    }
}

#[test]
fn a_truncated_image_is_refused_with_the_entry_that_leads_beyond_its_end() {
    for bytes in &images()[..5] {
        let mut cut = bytes.clone();
        cut.truncate(cut.len() / 2);
        let checked = DiskImage::open(cut, None).and_then(|image| image.check());
        let error = checked.expect_err("refused").to_string();
        let is_named = error.contains("the file ends at")
            || error.contains("beyond the file")
            || error.contains("truncated");
        assert!(error.contains("at byte") && is_named, "{error}");
    }
}

#[test]
fn a_table_that_is_named_twice_is_damage() {
    let workshop = Workshop::new();
    workshop
        .run("qemu-img create -q -f qcow2 -o cluster_size=4096,preallocation=metadata image 8M");
    let mut bytes = fs::read(workshop.path("image")).expect("read");
    let at = u64::from_be_bytes(bytes[40..48].try_into().expect("8 bytes"));
    let at = usize::try_from(at).expect("small");
    bytes.copy_within(at..at + 8, at + 8);
    let image = DiskImage::open(bytes, None).expect("opened");
    let error = image.check().expect_err("refused").to_string();
    assert!(
        error.contains("two of its entries name the table at"),
        "{error}"
    );
}
