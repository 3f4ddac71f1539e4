//! Images of QEMU, whose disks are those that they were made of.

use disk_image::Format;

use crate::tools::{Workshop, content, open_as, read_all};

/// Converts a disk with the options of `qemu-img convert`, and compares what is read.
fn oracle_convert(options: &str, format: Format) {
    let workshop = Workshop::new();
    let content = content();
    workshop.write("raw", &content);
    workshop.run(&format!("qemu-img convert -f raw {options} raw image"));
    let image = workshop
        .open("image")
        .unwrap_or_else(|error| panic!("{options}: {error}"));
    assert_eq!(image.format(), format, "{options}");
    image
        .check()
        .unwrap_or_else(|error| panic!("{options}: {error}"));
    assert_eq!(image.size_bytes(), content.len() as u64, "{options}");
    assert!(read_all(&image) == content, "{options}: other bytes");
}

#[test]
fn oracle_qemu_img_writes_qcow2_that_is_read() {
    for options in [
        "-O qcow2",
        "-O qcow2 -o compat=0.10",
        "-O qcow2 -o cluster_size=512",
        "-O qcow2 -o cluster_size=2M",
        "-O qcow2 -o lazy_refcounts=on,preallocation=metadata",
        "-O qcow2 -S 0",
        "-O qcow2 -c",
        "-O qcow2 -c -o compat=0.10,cluster_size=4096",
        "-O qcow2 -c -o cluster_size=2M",
        "-O qcow2 -c -o compression_type=zstd",
        "-O qcow2 -c -o compression_type=zstd,cluster_size=1M",
    ] {
        oracle_convert(options, Format::Qcow2);
    }
}

#[test]
fn oracle_qemu_img_writes_vmdk_that_is_read() {
    for options in [
        "-O vmdk",
        "-O vmdk -o subformat=monolithicSparse,zeroed_grain=on",
        "-O vmdk -o subformat=streamOptimized",
    ] {
        oracle_convert(options, Format::Vmdk);
    }
}

#[test]
fn oracle_qemu_io_writes_clusters_of_zeros_over_data() {
    let workshop = Workshop::new();
    let mut content = content();
    workshop.write("raw", &content);
    workshop.run("qemu-img convert -O qcow2 raw image");
    workshop.run("qemu-img snapshot -c before image");
    workshop.run_with_input(
        "qemu-io image",
        "write -z 2M 256k\ndiscard 5M 512k\nwrite -P 9 8M 100k\nquit\n",
    );
    content[2 << 20..(2 << 20) + (256 << 10)].fill(0);
    content[5 << 20..(5 << 20) + (512 << 10)].fill(0);
    content[8 << 20..(8 << 20) + (100 << 10)].fill(9);
    let image = workshop.open("image").expect("opened");
    image.check().expect("intact");
    assert!(
        read_all(&image) == content,
        "other bytes, or those of the snapshot"
    );
}

#[test]
fn a_raw_disk_is_read_as_it_is_and_its_format_can_be_said() {
    let workshop = Workshop::new();
    let content = content();
    let path = workshop.write("raw", &content);
    let image = workshop.open("raw").expect("opened");
    assert_eq!(image.format(), Format::Raw);
    assert!(read_all(&image) == content);
    // A raw disk whose first bytes are those of another format.
    workshop.run("qemu-img convert -O qcow2 raw image");
    let as_raw = open_as(&workshop.path("image"), Some(Format::Raw)).expect("opened");
    assert!(read_all(&as_raw).starts_with(b"QFI\xfb"));
    let error = open_as(&path, Some(Format::Qcow2)).expect_err("refused");
    assert_eq!(error.to_string(), "it is not qcow2, it begins as raw");
}
