//! The changes that are in the way of the others, and files that were left, as a detail of an error.

use std::path::Path;

use msb_sandbox_files::{ApplyError, HostChanges, LeftFile};

use super::MarkedChange;
use crate::Error;

/// Returns the error with the conflicts of all directories, their changes that are not accepted, or the files that
/// were left, as one of its details.
pub(super) fn with_reasons((index, error): (usize, ApplyError), planned: &[HostChanges]) -> Error {
    let is_conflict = matches!(error, ApplyError::Conflicts { .. });
    let is_unaccepted = matches!(error, ApplyError::Unaccepted { .. });
    let on_host = |planned: &HostChanges, path: &[u8]| {
        msb_client::printable(&planned.host_path(path).to_string_lossy())
    };
    let path = |path: &Path| msb_client::printable(&path.to_string_lossy());
    let left = match &error {
        ApplyError::Left { files } => {
            let entry = |file: &LeftFile| {
                let kept = file.kept.as_deref().map(path);
                serde_json::json!({ "path": path(&file.path), "kept": kept })
            };
            files.iter().map(entry).collect::<Vec<_>>()
        }
        _ => Vec::new(),
    };
    let error = Error::from(error);
    if !left.is_empty() {
        return error.with_detail("left", left);
    }
    if is_unaccepted {
        let marked = planned.iter().flat_map(HostChanges::marked);
        let unaccepted = marked.filter(|marked| marked.needs_acceptance);
        let unaccepted: Vec<_> = unaccepted.map(MarkedChange::new).collect();
        let error = error.with_detail("marked", serde_json::json!(unaccepted));
        return match planned.get(index) {
            Some(planned) => error.with_detail("directory", on_host(planned, b"")),
            None => error,
        };
    }
    if !is_conflict {
        return error;
    }
    let conflicts = planned.iter().flat_map(|planned| {
        let conflicts = planned.conflicts().iter();
        conflicts.map(|conflict| {
            serde_json::json!({
                "path": on_host(planned, &conflict.path),
                "reason": conflict.reason.to_string(),
            })
        })
    });
    error.with_detail("conflicts", conflicts.collect::<Vec<_>>())
}
