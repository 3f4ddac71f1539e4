//! The end of a staging anew: the sandbox has its own file where it changed something, and the host's everywhere else.

use super::editor::{Entry, Files, above};
use super::forms::form;

/// Returns the sandbox's files over the host's; `None` if both sides changed a path in different ways, or one has a file
/// where the other needs a directory.
pub(super) fn restaged(old: &Files, now: &Files, host: &Files) -> Option<Files> {
    let mut merged = Files::new();
    for path in old.keys().chain(now.keys()).chain(host.keys()) {
        let form_in = |files: &Files| files.get(path).map(|entry| form(entry, None));
        let (old, own, new) = (form_in(old), form_in(now), form_in(host));
        if old != own && old != new && own != new {
            return None;
        }
        let files = if old == own { host } else { now };
        if let Some(entry) = files.get(path) {
            merged.insert(path.clone(), entry.clone());
        }
    }
    let is_directory = |path: &str| matches!(merged.get(path), Some(Entry::Directory { .. }));
    let is_tree = merged.keys().all(|path| above(path).all(is_directory));
    is_tree.then_some(merged)
}
