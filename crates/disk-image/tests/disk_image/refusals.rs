//! Images that name other files, are encrypted or need unknown features: refused by name.

use std::fs;
use std::os::unix::fs::FileExt as _;

use crate::tools::Workshop;

fn refusal(workshop: &Workshop, name: &str) -> String {
    let error = workshop.open(name).expect_err("refused");
    let mut text = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(error) = source {
        text.push_str(&format!(": {error}"));
        source = error.source();
    }
    text
}

#[test]
fn oracle_images_of_qemu_that_name_other_files_are_refused() {
    let workshop = Workshop::new();
    workshop.sized("base", 1 << 20);
    workshop.run("qemu-img create -q -f qcow2 -b base -F raw backed");
    assert_eq!(
        refusal(&workshop, "backed"),
        "it has a backing file, and an image may not name files of this host: base"
    );
    workshop.run("qemu-img create -q -f qcow2 -o data_file=elsewhere outside 1M");
    workshop.run("qemu-img create -q -f vmdk -o subformat=monolithicFlat flat 1M");
    workshop.run("qemu-img create -q -f vmdk -o subformat=twoGbMaxExtentSparse parts 1M");
    workshop.run("qemu-img create -q -f vmdk parent 1M");
    workshop.run("qemu-img create -q -f vmdk -b parent -F vmdk child");
    assert_eq!(
        refusal(&workshop, "outside"),
        "its content is in another file, and an image may not name files of this host"
    );
    for name in ["flat", "parts"] {
        let said = refusal(&workshop, name);
        assert!(
            said.contains("a VMDK descriptor, which names other files"),
            "{said}"
        );
    }
    assert_eq!(
        refusal(&workshop, "child"),
        "it has a backing file, and an image may not name files of this host: parent"
    );
}

#[test]
fn oracle_images_of_qemu_with_other_features_are_refused_by_name() {
    let workshop = Workshop::new();
    let secret = "--object secret,id=s,data=abc";
    workshop.run(&format!(
        "qemu-img create -q {secret} -f qcow2 -o encrypt.format=aes,encrypt.key-secret=s aes 1M"
    ));
    workshop.run("qemu-img create -q -f qcow2 -o extended_l2=on extended 1M");
    for (name, expected) in [
        ("aes", "it is encrypted (AES of qcow2)"),
        (
            "extended",
            "it needs a feature of qcow2 that is not supported: extended L2 entries (subclusters)",
        ),
    ] {
        assert_eq!(refusal(&workshop, name), expected);
    }
    for (format, expected) in [
        (
            "vpc",
            "it is a VHD: convert it with qemu-img convert -O qcow2",
        ),
        (
            "vhdx",
            "it is a VHDX: convert it with qemu-img convert -O qcow2",
        ),
        (
            "vdi",
            "it is a VDI: convert it with qemu-img convert -O qcow2",
        ),
        (
            "qed",
            "it is a QED image: convert it with qemu-img convert -O qcow2",
        ),
        ("qcow", "version 1 of qcow2 is not supported"),
    ] {
        workshop.run(&format!("qemu-img create -q -f {format} {format} 8M"));
        assert_eq!(refusal(&workshop, format), expected, "{format}");
    }
    workshop.run("qemu-img create -q -f vpc -o subformat=fixed fixed 8M");
    assert_eq!(
        refusal(&workshop, "fixed"),
        "it is a VHD: convert it with qemu-img convert -O qcow2"
    );
}

#[test]
fn fields_of_a_header_that_mean_harm_are_refused_with_their_value() {
    let workshop = Workshop::new();
    let patched = |bytes: &[u8], offset: u64| {
        workshop.run("qemu-img create -q -f qcow2 image 64M");
        let file = fs::File::options().write(true).open(workshop.path("image"));
        file.expect("opened")
            .write_all_at(bytes, offset)
            .expect("written");
        refusal(&workshop, "image")
    };
    let cases: [(&[u8], u64, &str); 10] = [
        (
            &4_u32.to_be_bytes(),
            4,
            "version 4 of qcow2 is not supported",
        ),
        (
            &40_u32.to_be_bytes(),
            20,
            "the qcow2 header at byte 0 is damaged: cluster_bits is 40",
        ),
        (&(1_u64 << 60).to_be_bytes(), 24, "entries, the disk needs"),
        // qemu-img measures the processor's time for LUKS, and refuses where a clock is coarse.
        (&2_u32.to_be_bytes(), 32, "it is encrypted (LUKS in qcow2)"),
        (
            &9_u32.to_be_bytes(),
            32,
            "it is encrypted (method 9 of qcow2)",
        ),
        (&(1_u64 << 40).to_be_bytes(), 40, "it ends beyond the file"),
        (
            &(1_u64 << 1).to_be_bytes(),
            72,
            "QEMU has marked the image as corrupt",
        ),
        (
            &(1_u64 << 63).to_be_bytes(),
            72,
            "incompatible feature bit 63",
        ),
        (&7_u32.to_be_bytes(), 100, "header_length is 7"),
        (&[9], 104, "compression type 9"),
    ];
    for (bytes, offset, expected) in cases {
        let said = patched(bytes, offset);
        assert!(said.contains(expected), "{said}, not {expected}");
    }
    // A first table that claims all of memory: the disk is bounded before, and the file is shorter.
    workshop.run("qemu-img create -q -f qcow2 image 64M");
    let file = fs::File::options()
        .write(true)
        .open(workshop.path("image"))
        .expect("opened");
    file.write_all_at(&(1_u64 << 50).to_be_bytes(), 24)
        .expect("written");
    file.write_all_at(&u32::MAX.to_be_bytes(), 36)
        .expect("written");
    let said = refusal(&workshop, "image");
    assert!(said.contains("L1 table at byte"), "{said}");
}

#[test]
fn compressed_files_and_archives_are_refused_with_the_remedy() {
    let workshop = Workshop::new();
    let cases: [(&[u8], &str); 5] = [
        (
            b"\x1f\x8b\x08",
            "it is compressed with gzip: decompress it first",
        ),
        (
            b"\xfd7zXZ\0",
            "it is compressed with xz: decompress it first",
        ),
        (
            b"\x28\xb5\x2f\xfd",
            "it is compressed with zstd: decompress it first",
        ),
        (b"PK\x03\x04", "it is a ZIP archive: unpack it first"),
        (b"\x7fELF", "it is a program: name the file of a disk"),
    ];
    for (bytes, expected) in cases {
        workshop.write("file", bytes);
        assert_eq!(refusal(&workshop, "file"), expected);
    }
}
