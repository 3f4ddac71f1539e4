//! Every fuzz target, on its committed corpus and on mutations of it: as ordinary tests, without
//! libFuzzer. `MSB_TEST_COUNT=100000 cargo test -p fuzz-targets tar_layer` tries more mutations.

mod memory;
mod mutation;
mod target;

use std::hint::black_box;

use fs_err as fs;

use target::{Target, fuzz};

/// A test for each target, with its number of mutations, which take a few seconds.
macro_rules! targets {
    ($($name:ident: $mutations:literal,)*) => {
        const NAMES: &[&str] = &[$(stringify!($name)),*];

        $(
            #[test]
            fn $name() {
                let target = Target {
                    name: stringify!($name),
                    run: fuzz_targets::$name::run,
                };
                if let Err(fault) = target.replay($mutations) {
                    panic!("{fault}");
                }
            }
        )*
    };
}

targets! {
    agent_frames: 5000,
    apply_record: 1000,
    block_tree: 5000,
    disk_image: 5000,
    edge_answer: 5000,
    edge_request: 3000,
    erofs_image: 5000,
    ext4_image: 5000,
    manifest: 5000,
    mcp_input: 1000,
    network_frames: 2000,
    oci_spec: 3000,
    packed_file: 3000,
    sandbox_disk: 2000,
    secret_words: 5000,
    sftp_requests: 5000,
    snapshot_file: 5000,
    staged_disk: 1000,
    tar_layer: 5000,
    ttrpc_frames: 5000,
    vmdk_descriptor: 5000,
}

#[test]
fn every_target_of_libfuzzer_is_replayed() {
    let files = fs::read_dir(fuzz().join("fuzz_targets")).expect("the targets are readable");
    let stem = |path: std::path::PathBuf| path.file_stem().map(|stem| stem.display().to_string());
    let mut names: Vec<_> = files.filter_map(|file| stem(file.ok()?.path())).collect();
    names.sort_unstable();
    assert_eq!(names, NAMES);
}

#[test]
fn a_panic_is_reported_with_its_input() {
    let target = Target {
        name: "a_panic",
        run: |bytes| assert_ne!(bytes, b"bad", "this is bad"),
    };
    assert_eq!(target.input("a good input", b"good"), Ok(()));
    let fault = target.input("a bad input", b"bad").expect_err("it panics");
    let file = target.file();
    for part in ["this is bad", "a bad input", &file.display().to_string()] {
        assert!(fault.contains(part), "{fault}");
    }
    assert_eq!(fs::read(file).expect("it was written"), b"bad");
}

#[test]
fn memory_without_bound_is_reported() {
    let target = Target {
        name: "memory",
        run: |bytes| drop(black_box(vec![0_u8; bytes.len() << 20])),
    };
    assert_eq!(target.input("a short input", &[0; 250]), Ok(()));
    let fault = target
        .input("a long input", &[0; 300])
        .expect_err("too much");
    assert!(fault.contains("takes 300 MiB"), "{fault}");
}
