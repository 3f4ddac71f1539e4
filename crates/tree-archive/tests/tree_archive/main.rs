//! Archives of real directories: packed and unpacked, through other programs, and hostile ones.

mod hostile;
mod oracle_tar;
mod round_trip;
mod sample;

use std::fs::File;
use std::path::Path;

use rustix::fd::AsFd as _;
use tree_archive::{
    ArchiveWriter, EntryRef, PackOptions, UnpackError, UnpackOptions, Unpacked, pack, unpack,
};

fn packed(parent: &Path, name: &[u8], shown: &[u8]) -> Vec<u8> {
    let parent = File::open(parent).expect("opened");
    let entry = EntryRef {
        directory: parent.as_fd(),
        name,
    };
    let mut archive = ArchiveWriter::new(Vec::new());
    pack(entry, &PackOptions::named(shown), &mut archive).expect("packed");
    archive.finish().expect("finished")
}

fn unpacked(tar: &[u8], into: &Path, options: &UnpackOptions) -> Result<Unpacked, UnpackError> {
    let directory = File::open(into).expect("opened");
    unpack(tar, directory.as_fd(), options)
}

/// Returns the options for an archive that is trusted.
fn trusting() -> UnpackOptions {
    UnpackOptions {
        keep_owner: true,
        keep_set_id: true,
        make_devices: true,
        ..UnpackOptions::default()
    }
}
