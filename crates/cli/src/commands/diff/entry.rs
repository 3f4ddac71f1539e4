use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use msb_sdk::{Change, ChangeKind, ChangedFile, FileType, Text};
use serde::Serialize;

use msb_terminal::text_or_base64::text_or_base64;

/// A change as JSON, with stable keys. Text that is not UTF-8 is null, and `…_base64` holds its
/// bytes.
#[derive(Serialize)]
pub(super) struct Entry {
    path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_base64: Option<String>,
    kind: ChangeKind,
    changed: Vec<&'static str>,
    old: Option<File>,
    new: Option<File>,
    hard_link: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hard_link_base64: Option<String>,
    renamed_from: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    renamed_from_base64: Option<String>,
}

#[derive(Serialize)]
struct File {
    r#type: FileType,
    /// The twelve permission bits, in octal.
    mode: String,
    uid: u32,
    gid: u32,
    size_bytes: u64,
    mtime_s: i64,
    mtime_ns: u32,
    target: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target_base64: Option<String>,
    /// Major and minor number of a device.
    device: Option<[u32; 2]>,
    xattrs: Vec<Xattr>,
}

#[derive(Serialize)]
struct Xattr {
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name_base64: Option<String>,
    value_base64: String,
}

impl Entry {
    pub(super) fn new(change: &Change) -> Self {
        let (path, path_base64) = text_or_base64(change.path.as_bytes());
        let (hard_link, hard_link_base64) = optional(change.hard_link.as_ref());
        let (renamed_from, renamed_from_base64) = optional(change.renamed_from.as_ref());
        Self {
            path,
            path_base64,
            kind: change.kind,
            changed: change.changed.clone(),
            old: change.old.as_ref().map(File::new),
            new: change.new.as_ref().map(File::new),
            hard_link,
            hard_link_base64,
            renamed_from,
            renamed_from_base64,
        }
    }
}

impl File {
    fn new(file: &ChangedFile) -> Self {
        let info = &file.info;
        let (target, target_base64) = optional(info.target.as_ref());
        let xattrs = file.xattrs.iter().map(|xattr| {
            let (name, name_base64) = text_or_base64(xattr.name.as_bytes());
            Xattr {
                name,
                name_base64,
                value_base64: STANDARD.encode(xattr.value.as_bytes()),
            }
        });
        Self {
            r#type: info.file_type,
            mode: format!("{:04o}", info.mode),
            uid: info.uid,
            gid: info.gid,
            size_bytes: info.size_bytes,
            mtime_s: info.mtime_s,
            mtime_ns: info.mtime_ns,
            target,
            target_base64,
            device: info.device,
            xattrs: xattrs.collect(),
        }
    }
}

/// Returns the two forms of a text; none if there is no text.
fn optional(text: Option<&Text>) -> (Option<String>, Option<String>) {
    text.map_or((None, None), |text| text_or_base64(text.as_bytes()))
}
