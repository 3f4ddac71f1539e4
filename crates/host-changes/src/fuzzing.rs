//! Records of applies with any bytes, for the fuzz targets alone.

use std::path::Path;

use super::finish::Finisher;
use super::host_directory::{Found, HostDirectory};
use super::host_file::HostState;
use super::pending::{PendingAction, PendingStep};
use super::record::Record;
use super::unfinished::FileIdentity;

/// Reads bytes as a record, with a seal or without one, and finishes its apply in a directory. Numbers of inodes that
/// are even stand for those of the files that the directory has. Returns true if the bytes were accepted.
///
/// # Panics
/// If a record is written, and read as another one.
pub fn finish(bytes: &[u8], directory: &Path) -> bool {
    let unsealed = || {
        let record: Record = serde_json::from_slice(bytes).ok()?;
        record.check().is_ok().then_some(record)
    };
    let Some(mut record) = Record::open(bytes).ok().or_else(unsealed) else {
        return false;
    };
    if let Ok(Some(sealed)) = record.seal() {
        let read = Record::open(&sealed).expect("it was just written");
        assert_eq!(read.steps, record.steps);
    }
    let Ok(directory) = HostDirectory::open(directory) else {
        return false;
    };
    for step in &mut record.steps {
        adopt(step, &directory);
    }
    // A directory that cannot be written to is no fault.
    let _ = Finisher::resume(&directory, &record).and_then(|mut steps| steps.run());
    true
}

/// Gives a step the numbers of existing files.
fn adopt(step: &mut PendingStep, directory: &HostDirectory) {
    let state = |path: &[u8]| match directory.find(path) {
        Ok(Found::Present(file)) => Some((file.state(), FileIdentity::new(&file.stat))),
        _ => None,
    };
    let now = state(&step.path).map(|(state, _)| state);
    let adopt_host = |host: &mut Option<HostState>| {
        if host.is_some_and(|host| host.is_even()) {
            *host = now;
        }
    };
    match &mut step.action {
        PendingAction::Remove(host) | PendingAction::SetAttributes { host, .. } => adopt_host(host),
        PendingAction::Place(place) => {
            adopt_host(&mut place.host);
            let waiting = &mut place.waiting;
            let path = [&waiting.above[..], b"/", &waiting.name].concat();
            if let (0, Some((_, identity))) = (waiting.identity.inode() % 2, state(&path)) {
                waiting.identity = identity;
            }
        }
        PendingAction::Link(link) => {
            adopt_host(&mut link.host);
            if let (0, Some((_, identity))) = (link.inode % 2, state(&link.other)) {
                link.inode = identity.inode();
            }
        }
        PendingAction::MakeDirectory(_) | PendingAction::SetDirectory(_) => {}
    }
}
