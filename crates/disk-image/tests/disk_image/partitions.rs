//! Partition tables that sfdisk makes.

use std::fs;
use std::os::unix::fs::FileExt as _;

use disk_image::{DiskImage, Filesystem, Partition, PartitionTable, RootChoice, Scheme, find_root};

use crate::tools::Workshop;

const MIB: u64 = 1 << 20;

/// Makes a disk with the partitions of a script for sfdisk.
fn partitioned(script: &str) -> Workshop {
    let workshop = Workshop::new();
    workshop.sized("disk", 128 * MIB);
    workshop.run_with_input("sfdisk -q disk", script);
    workshop
}

fn table(workshop: &Workshop) -> PartitionTable {
    let image = workshop.open("disk").expect("opened");
    PartitionTable::read(&image)
        .expect("read")
        .expect("a table")
}

/// Returns number, start and length of each partition, in MiB.
fn places(partitions: &[Partition]) -> Vec<(u32, u64, u64)> {
    let place = |each: &Partition| (each.number, each.start_bytes / MIB, each.length_bytes / MIB);
    partitions.iter().map(place).collect()
}

/// Writes a filesystem to a place of the disk, in MiB.
fn fill(workshop: &Workshop, make: &str, start_mib: u64, length_mib: u64) {
    let part = workshop.sized("part", length_mib * MIB);
    workshop.run(&format!("{make} part"));
    let disk = fs::File::options().write(true).open(workshop.path("disk"));
    let bytes = fs::read(part).expect("read");
    disk.expect("opened")
        .write_all_at(&bytes, start_mib * MIB)
        .expect("written");
}

/// A cloud image of Ubuntu: a root, the files of the boot loader, and an EFI system partition, in an order
/// of its own.
const CLOUD: &str = "label: gpt\n\
    start=64MiB, size=32MiB, type=L, name=cloudimg-rootfs\n\
    14 : start=1MiB, size=4MiB, type=21686148-6449-6E6F-744E-656564454649\n\
    15 : start=6MiB, size=20MiB, type=U\n\
    16 : start=30MiB, size=16MiB, type=BC13C2FF-59E6-4262-A352-B275FD6F7172\n";

#[test]
fn oracle_sfdisk_writes_gpt_that_is_read() {
    let workshop = partitioned(CLOUD);
    let table = table(&workshop);
    assert_eq!(table.scheme, Scheme::Gpt);
    let expected = [(1, 64, 32), (14, 1, 4), (15, 6, 20), (16, 30, 16)];
    assert_eq!(places(&table.partitions), expected);
    assert_eq!(table.partitions[0].label, "cloudimg-rootfs");
}

#[test]
fn oracle_sfdisk_writes_mbr_with_logical_partitions_that_is_read() {
    let workshop = partitioned(
        "label: dos\nstart=1MiB, size=9MiB\nstart=10MiB, size=90MiB, type=5\n\
         start=101MiB, size=5MiB\nstart=11MiB, size=20MiB\nstart=32MiB, size=8MiB\n\
         start=50MiB, size=7MiB\n",
    );
    let table = table(&workshop);
    assert_eq!(table.scheme, Scheme::Mbr);
    let expected = [(1, 1, 9), (3, 101, 5), (5, 11, 20), (6, 32, 8), (7, 50, 7)];
    assert_eq!(places(&table.partitions), expected);
}

#[test]
fn the_root_is_the_partition_that_can_be_one() {
    let workshop = partitioned(CLOUD);
    fill(&workshop, "mkfs.ext4 -q", 64, 32);
    fill(&workshop, "mkfs.ext4 -q", 30, 16);
    let image = workshop.open("disk").expect("opened");
    let root = find_root(&image, RootChoice::default()).expect("found");
    assert_eq!(root.partition, Some(1), "not the boot loader's");
    assert_eq!((root.start_bytes, root.length_bytes), (64 * MIB, 32 * MIB));
    let choose = |partition| RootChoice {
        partition: Some(partition),
        ..RootChoice::default()
    };
    // It can be said.
    assert_eq!(
        find_root(&image, choose(16)).expect("found").start_bytes,
        30 * MIB
    );
    let error = find_root(&image, choose(3))
        .expect_err("refused")
        .to_string();
    let start = "it has no partition 3; it has 1 (32 MiB, 'cloudimg-rootfs', ext4), 14 (4 MiB, no known filesystem)";
    assert!(error.starts_with(start), "{error}");
    let error = find_root(&image, choose(14))
        .expect_err("refused")
        .to_string();
    assert!(error.starts_with("partition 14 has neither"), "{error}");
}

#[test]
fn several_roots_are_told_apart_by_type_or_by_the_user() {
    let two = |kind: &str| {
        let script =
            format!("label: gpt\nstart=1MiB, size=30MiB\nstart=40MiB, size=32MiB, type={kind}\n");
        let workshop = partitioned(&script);
        fill(&workshop, "mkfs.ext4 -q", 1, 30);
        fill(&workshop, "mkfs.ext4 -q", 40, 32);
        workshop
    };
    let root = match std::env::consts::ARCH {
        "aarch64" => "B921B045-1DF0-41C3-AF44-4C6F280D3FAE",
        _ => "4F68BCE3-E8CD-4DB1-96E7-FBCAF984B709",
    };
    let image = two(root).open("disk").expect("opened");
    let found = find_root(&image, RootChoice::default()).expect("found");
    assert_eq!(
        (found.partition, found.filesystem),
        (Some(2), Filesystem::Ext4)
    );
    let image = two("L").open("disk").expect("opened");
    let error = find_root(&image, RootChoice::default())
        .expect_err("refused")
        .to_string();
    assert_eq!(
        error,
        "several of its partitions can be the root: 1 (30 MiB, ext4), 2 (32 MiB, ext4)"
    );
}

#[test]
fn a_damaged_gpt_is_read_from_its_copy_and_refused_without_one() {
    let workshop = partitioned(CLOUD);
    let intact = table(&workshop);
    let disk = fs::File::options()
        .write(true)
        .open(workshop.path("disk"))
        .expect("opened");
    // A byte of the first partition's entry.
    disk.write_all_at(&[0x5a], 1024 + 40).expect("written");
    assert_eq!(table(&workshop), intact);
    disk.write_all_at(&[0x5a], 128 * MIB - 512 + 20)
        .expect("written");
    let image = workshop.open("disk").expect("opened");
    let error = PartitionTable::read(&image)
        .expect_err("refused")
        .to_string();
    assert_eq!(
        error,
        "the GPT partition array at byte 1024 is damaged: its checksum does not match"
    );
}

#[test]
fn partitions_beyond_the_disk_and_chains_that_lead_back_are_refused() {
    let workshop = partitioned("label: dos\nstart=1MiB, size=100MiB\n");
    let bytes = fs::read(workshop.path("disk")).expect("read");
    let short = DiskImage::open(bytes[..50 << 20].to_vec(), None).expect("opened");
    let error = PartitionTable::read(&short)
        .expect_err("refused")
        .to_string();
    assert_eq!(
        error,
        "the partition table at byte 0 is damaged: partition 1 has 204800 sectors from 2048 on, the disk has 102400"
    );
    let workshop = partitioned(
        "label: dos\nstart=10MiB, size=90MiB, type=5\nstart=11MiB, size=20MiB\nstart=32MiB, size=8MiB\n",
    );
    // The second entry of the first sector of the chain: it leads to itself.
    let disk = fs::File::options()
        .write(true)
        .open(workshop.path("disk"))
        .expect("opened");
    disk.write_all_at(&[0; 4], 10 * MIB + 446 + 16 + 8)
        .expect("written");
    let image = workshop.open("disk").expect("opened");
    let error = PartitionTable::read(&image)
        .expect_err("refused")
        .to_string();
    assert!(error.contains("it leads back"), "{error}");
}

#[test]
fn a_long_chain_without_partitions_is_followed_only_for_a_while() {
    const LINKS: usize = 400;
    let mut disk = vec![0; (LINKS + 2) * 512];
    let mut entry = |sector: usize, index: usize, kind: u8, first: usize| {
        let at = sector * 512 + 446 + index * 16;
        disk[at + 4] = kind;
        let first = u32::try_from(first).expect("short");
        disk[at + 8..at + 12].copy_from_slice(&first.to_le_bytes());
        disk[at + 12] = 1;
        disk[sector * 512 + 510..(sector + 1) * 512].copy_from_slice(&[0x55, 0xaa]);
    };
    entry(0, 0, 0x83, 1);
    entry(0, 1, 0x05, 1);
    for link in 1..LINKS {
        entry(link, 1, 0x05, link);
    }
    entry(LINKS, 0, 0x83, 1);
    let image = DiskImage::open(disk, None).expect("opened");
    let table = PartitionTable::read(&image).expect("read");
    assert_eq!(table.expect("a table").partitions.len(), 1);
}
