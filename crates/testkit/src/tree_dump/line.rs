use std::collections::BTreeMap;
use std::fmt;

use fstree::{Device, FileType, Timestamp, Xattrs};

use super::Content;

/// The properties of one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    /// Path from the root, with a leading `/`.
    pub(super) path: Vec<u8>,
    pub(super) file_type: FileType,
    pub(super) mode: u16,
    pub(super) uid: u32,
    pub(super) gid: u32,
    pub(super) mtime: Timestamp,
    pub(super) device: Option<Device>,
    pub(super) target: Option<Vec<u8>>,
    pub(super) xattrs: Xattrs,
    pub(super) content: Option<Content>,
    /// Number of the file; `None` after [`Line::group`].
    pub(super) identity: Option<u64>,
    /// First path of the same file, if it has several.
    pub(super) links: Option<Vec<u8>>,
}

impl Line {
    /// Finds the names that share a file. The lines must be sorted.
    pub(super) fn group(lines: &mut [Self]) {
        let mut groups: BTreeMap<u64, (Vec<u8>, usize)> = BTreeMap::new();
        for line in lines.iter().filter(|line| line.is_file()) {
            if let Some(identity) = line.identity {
                let group = groups.entry(identity).or_insert((line.path.clone(), 0));
                group.1 += 1;
            }
        }
        for line in lines {
            let identity = line.identity.take().filter(|_| line.is_file());
            line.links = identity
                .and_then(|identity| groups.get(&identity))
                .filter(|(_, names)| *names > 1)
                .map(|(first, _)| first.clone());
        }
    }

    fn is_file(&self) -> bool {
        self.file_type != FileType::Directory
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dash = || "-".to_owned();
        let Timestamp {
            seconds,
            nanoseconds,
        } = self.mtime;
        let size = self
            .content
            .as_ref()
            .map(|content| content.size_bytes.to_string());
        let device = self
            .device
            .map(|device| format!("{}:{}", device.major, device.minor));
        write!(
            f,
            "{} {} {:04o} {}:{} {} {seconds}.{nanoseconds:09} {} {} {} {} {}",
            escaped(&self.path),
            self.file_type.letter(),
            self.mode,
            self.uid,
            self.gid,
            size.unwrap_or_else(dash),
            device.unwrap_or_else(dash),
            self.target.as_deref().map_or_else(dash, escaped),
            self.links.as_deref().map_or_else(dash, escaped),
            shown_xattrs(&self.xattrs).unwrap_or_else(dash),
            self.content
                .as_ref()
                .map_or_else(dash, |content| hex(&content.sha256)),
        )
    }
}

fn shown_xattrs(xattrs: &Xattrs) -> Option<String> {
    let shown = xattrs
        .iter()
        .filter(|(name, _)| !name.starts_with(b"trusted.overlay."))
        .map(|(name, value)| format!("{}={}", escaped(name), hex(value)))
        .collect::<Vec<_>>()
        .join(",");
    (!shown.is_empty()).then_some(shown)
}

fn escaped(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string().replace(' ', "\\x20")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
