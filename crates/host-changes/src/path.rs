//! Paths of changes: names with a slash between them, and none before them.

/// Returns the names of a path, without empty and `.` components.
pub(super) fn components(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let names = path.split(|&byte| byte == b'/');
    names.filter(|name| !matches!(*name, b"" | b"."))
}

/// Returns a path without its leading slash and its empty and `.` components.
pub(super) fn trimmed(path: &[u8]) -> Vec<u8> {
    let names: Vec<&[u8]> = components(path).collect();
    names.join(&b'/')
}

/// Returns a path of the sandbox relative to a directory of it; `None` if it is not below it.
pub(super) fn relative<'p>(path: &'p [u8], from: &[u8]) -> Option<&'p [u8]> {
    let path = path.strip_prefix(b"/").unwrap_or(path);
    if from.is_empty() {
        return Some(path);
    }
    match path.strip_prefix(from)? {
        b"" => Some(b""),
        rest => rest.strip_prefix(b"/"),
    }
}

/// Returns true if a path is below a directory, and not the directory itself.
pub(super) fn is_below(path: &[u8], directory: &[u8]) -> bool {
    let rest = path.strip_prefix(directory);
    rest.is_some_and(|rest| rest.starts_with(b"/"))
}
