//! Archives: round trips, strict reading, and hostile archives.

mod hostile;
mod round_trip;
mod strict;

use std::error::Error;
use std::io::Read as _;

use tar_stream::{ArchiveReader, Entry, Limits, ReadError};

/// Reads all entries with their contents, as stored in the archive.
fn read_with(tar: &[u8], limits: Limits) -> Result<Vec<(Entry, Vec<u8>)>, ReadError> {
    let mut archive = ArchiveReader::new(tar, limits);
    let mut entries = Vec::new();
    while let Some(entry) = archive.next_entry()? {
        let mut content = Vec::new();
        if archive.content().read_to_end(&mut content).is_err() {
            let failure = archive.take_failure();
            return Err(failure.expect("memory does not fail, the archive does"));
        }
        entries.push((entry, content));
    }
    Ok(entries)
}

fn read(tar: &[u8]) -> Result<Vec<(Entry, Vec<u8>)>, ReadError> {
    read_with(tar, Limits::default())
}

/// Returns an error and all its sources as text.
fn message(error: &(dyn Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| (*error).source());
    let causes: Vec<_> = causes.map(ToString::to_string).collect();
    causes.join(": ")
}

/// Returns the reason for which an archive is refused.
fn refusal(tar: &[u8]) -> String {
    message(&read(tar).expect_err("it is to be refused"))
}
