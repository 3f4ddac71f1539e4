//! Images that mkfs.erofs made: this crate's reader and the kernel show the same.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use erofs_writer::{Image, OpenError, ReadAt, ReadError, Unsupported};
use tempfile::TempDir;
use testkit::{Content, TreeDump};

use crate::foreign_source;
use crate::mounted::Mounted;

/// A directory from which mkfs.erofs makes images.
struct Maker {
    directory: TempDir,
}

impl Maker {
    fn new() -> Self {
        Self::filled(foreign_source::fill)
    }

    fn filled(fill: fn(&Path)) -> Self {
        let maker = Self {
            directory: tempfile::tempdir().unwrap(),
        };
        let root = maker.root();
        fs::create_dir(&root).unwrap();
        fill(&root);
        maker
    }

    fn root(&self) -> PathBuf {
        self.directory.path().join("root")
    }

    fn image(&self, options: &[&str]) -> Vec<u8> {
        let file = self.directory.path().join("image");
        let output = Command::new("mkfs.erofs")
            .args(options)
            .args([&file, &self.root()])
            .output()
            .expect("these tests need mkfs.erofs from erofs-utils");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{options:?}: {errors}");
        fs::read(file).unwrap()
    }

    /// Compares this crate's reader with the kernel. If times and owners are kept, also compares it
    /// with the directory itself.
    fn check(&self, options: &[&str]) {
        let image = self.image(options);
        let ours = dump(&image, &[]);
        let mounted = Mounted::new(&image);
        let kernels = TreeDump::from_directory(&mounted.root()).unwrap();
        assert_same(options, &kernels, &ours);
        check_structure(&image);
        if options.is_empty() {
            let source = TreeDump::from_directory(&self.root()).unwrap();
            assert_same(options, &source, &ours);
        }
    }
}

/// Returns images of a small directory, with every layout and with shared xattrs.
pub(crate) fn small_images() -> Vec<Vec<u8>> {
    let maker = Maker::filled(foreign_source::fill_small);
    let sets: [&[&str]; 4] = [
        &["-x1"],
        &["-Eforce-inode-extended", "-x1"],
        &["--chunksize=4096"],
        &["--chunksize=4096", "-Eforce-chunk-indexes", "-T0"],
    ];
    sets.into_iter()
        .map(|options| maker.image(options))
        .collect()
}

fn assert_same(options: &[&str], expected: &TreeDump, actual: &TreeDump) {
    let differences = expected.differences(actual);
    assert!(differences.is_empty(), "{options:?}: {differences:#?}");
}

fn dump(image: &[u8], devices: &[&dyn ReadAt]) -> TreeDump {
    let image = Image::open(image).unwrap();
    let tree = image.read_tree().unwrap();
    TreeDump::from_tree(&tree, |data| {
        Content::read(image.file_reader(data, devices))
    })
    .unwrap()
}

/// Checks that `verify` and the dump accept the image, and that the tree has every inode of it.
fn check_structure(image: &[u8]) {
    let image = Image::open(image).unwrap();
    let report = image.verify().unwrap();
    let inodes = image.read_tree().unwrap().len();
    assert_eq!(report.inodes, u64::try_from(inodes).unwrap());
    image.dump(&mut String::new()).unwrap();
}

#[test]
fn oracle_mkfs_inodes_and_times() {
    let maker = Maker::new();
    maker.check(&[]);
    maker.check(&["-T0"]);
    maker.check(&["-T1700000000", "--all-root"]);
    maker.check(&["--ignore-mtime"]);
    maker.check(&["-Eforce-inode-extended"]);
    maker.check(&[
        "-Eforce-inode-compact",
        "--force-uid=7",
        "--force-gid=65535",
    ]);
    maker.check(&["-Enosbcrc"]);
}

#[test]
fn oracle_mkfs_inline_data_and_chunks() {
    let maker = Maker::new();
    maker.check(&["-Enoinline_data"]);
    maker.check(&["-Enoinline_data,force-inode-compact", "-T0", "--all-root"]);
    maker.check(&["--chunksize=4096"]);
    maker.check(&["--chunksize=16384", "-Eforce-chunk-indexes"]);
    maker.check(&["--chunksize=1048576", "-Enoinline_data,force-chunk-indexes"]);
}

#[test]
fn oracle_mkfs_xattrs() {
    let maker = Maker::new();
    for tolerance in ["-x-1", "-x0", "-x1", "-x5", "-x100"] {
        maker.check(&[tolerance]);
    }
}

#[test]
fn oracle_mkfs_data_on_a_device() {
    let maker = Maker::new();
    let file = maker.directory.path().join("blobs");
    let option = format!("--blobdev={}", file.display());
    let image = maker.image(&["--chunksize=8192", &option]);
    let device = fs::read(file).unwrap();
    assert_eq!(Image::open(image.as_slice()).unwrap().devices().len(), 1);
    let ours = dump(&image, &[&device]);
    let mounted = Mounted::apart(&image, std::slice::from_ref(&device));
    let kernels = TreeDump::from_directory(&mounted.root()).unwrap();
    assert_same(&["--blobdev"], &kernels, &ours);
    check_structure(&image);
}

#[test]
fn oracle_mkfs_compressed_images_are_refused_by_name() {
    let maker = Maker::new();
    let tree = |options: &[&str]| Image::open(maker.image(options)).map(|image| image.read_tree());
    for options in [&["-zlz4"][..], &["-zlz4hc", "-Elegacy-compress"]] {
        let error = tree(options).unwrap().unwrap_err();
        let ReadError::Unsupported(problem @ Unsupported::Compressed { .. }) = error else {
            panic!("{options:?}: {error:?}");
        };
        assert!(problem.to_string().contains("is compressed"), "{problem}");
    }
    for (options, name) in [
        (&["-zlz4hc", "-C65536"][..], "COMPR_CFGS"),
        (&["-zlz4", "-Eztailpacking"], "ZTAILPACKING"),
    ] {
        let error = tree(options).unwrap_err();
        assert!(matches!(error, OpenError::Unsupported(_)), "{options:?}");
        let problem = error.source().unwrap().to_string();
        assert!(problem.contains(name), "{options:?}: {problem}");
    }
}

/// The blocks have other sizes than the writer's: see `fixtures/README.md`.
#[test]
fn oracle_kernel_blocks_from_512_bytes() {
    let images: [(u64, &[u8]); 4] = [
        (512, include_bytes!("fixtures/blocks-512.erofs")),
        (512, include_bytes!("fixtures/blocks-512-chunks.erofs")),
        (1024, include_bytes!("fixtures/blocks-1024.erofs")),
        (2048, include_bytes!("fixtures/blocks-2048.erofs")),
    ];
    for (block_size_bytes, image) in images {
        let opened = Image::open(image).unwrap();
        assert_eq!(opened.block_size_bytes(), block_size_bytes);
        let mounted = Mounted::new(image);
        let kernels = TreeDump::from_directory(&mounted.root()).unwrap();
        assert_same(&["blocks"], &kernels, &dump(image, &[]));
        check_structure(image);
        let mut damaged = image.to_vec();
        damaged[1024 + 0x30] ^= 1;
        assert!(matches!(Image::open(damaged), Err(OpenError::Corrupt(_))));
    }
}

#[test]
fn features_and_blocks_of_newer_kernels_are_refused_by_name() {
    let image = include_bytes!("fixtures/blocks-512.erofs");
    let refusal = |offset: usize, value: u8| {
        let mut image = image.to_vec();
        image[1024 + offset] = value;
        let error = Image::open(image).unwrap_err();
        assert!(matches!(error, OpenError::Unsupported(_)), "{error:?}");
        error.source().unwrap().to_string()
    };
    for (offset, value, name) in [
        (0x50, 0x20, "FRAGMENTS"),
        (0x50, 0x40, "XATTR_PREFIXES"),
        (0x50, 0x80, "48BIT"),
        (0x51, 0x01, "METABOX"),
        (0x52, 0x01, "unknown"),
        (0x0C, 13, "2^13"),
        (0x0C, 8, "2^8"),
        (0x5A, 1, "directory"),
    ] {
        let problem = refusal(offset, value);
        assert!(problem.contains(name), "{problem}");
    }
}
