use msb_sdk::{FileInfo, FileType};
use serde::Serialize;

use msb_terminal::text_or_base64::text_or_base64;

/// A file as JSON, with stable keys. Text that is not UTF-8 is null, and `…_base64` holds its
/// bytes.
#[derive(Serialize)]
pub(super) struct Entry {
    #[serde(flatten)]
    name: Name,
    r#type: FileType,
    /// The twelve permission bits, in octal.
    mode: String,
    uid: u32,
    gid: u32,
    size_bytes: u64,
    /// The time of the last change of content, in seconds since the epoch, with nanoseconds.
    mtime_s: i64,
    mtime_ns: u32,
    #[serde(flatten)]
    target: Option<Target>,
    /// Major and minor number of a device.
    #[serde(skip_serializing_if = "Option::is_none")]
    device: Option<[u32; 2]>,
}

#[derive(Serialize)]
struct Name {
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name_base64: Option<String>,
}

#[derive(Serialize)]
struct Target {
    target: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target_base64: Option<String>,
}

impl Entry {
    pub(super) fn new(info: &FileInfo) -> Self {
        let (name, name_base64) = text_or_base64(info.name.as_bytes());
        let target = info.target.as_ref().map(|target| {
            let (target, target_base64) = text_or_base64(target.as_bytes());
            Target {
                target,
                target_base64,
            }
        });
        Self {
            name: Name { name, name_base64 },
            r#type: info.file_type,
            mode: format!("{:04o}", info.mode),
            uid: info.uid,
            gid: info.gid,
            size_bytes: info.size_bytes,
            mtime_s: info.mtime_s,
            mtime_ns: info.mtime_ns,
            target,
            device: info.device,
        }
    }
}

/// Returns a file's row in the table, like `ls -l`: mode, owner, size, time, name.
pub(super) fn row(info: &FileInfo) -> [String; 5] {
    let mut shown = info.name.quoted();
    if let Some(target) = &info.target {
        shown.push_str(&format!(" -> {}", target.quoted()));
    }
    let size = match info.device {
        Some([major, minor]) => format!("{major}, {minor}"),
        None => info.size_bytes.to_string(),
    };
    let time = jiff::Timestamp::from_second(info.mtime_s);
    let time = time.map_or_else(|_| info.mtime_s.to_string(), |time| time.to_string());
    [
        symbolic_mode(info.file_type, info.mode),
        format!("{}:{}", info.uid, info.gid),
        size,
        time,
        shown,
    ]
}

fn symbolic_mode(file_type: FileType, mode: u32) -> String {
    let letter = match file_type {
        FileType::File => '-',
        FileType::Directory => 'd',
        FileType::Symlink => 'l',
        FileType::CharDevice => 'c',
        FileType::BlockDevice => 'b',
        FileType::Fifo => 'p',
        FileType::Socket => 's',
        _ => '?',
    };
    let mut text = letter.to_string();
    for (shift, special, letters) in [(6, 0o4000, "sS"), (3, 0o2000, "sS"), (0, 0o1000, "tT")] {
        let bits = mode >> shift;
        text.push(if bits & 4 != 0 { 'r' } else { '-' });
        text.push(if bits & 2 != 0 { 'w' } else { '-' });
        let (with, without) = letters.split_at(1);
        text.push_str(match (mode & special != 0, bits & 1 != 0) {
            (true, true) => with,
            (true, false) => without,
            (false, true) => "x",
            (false, false) => "-",
        });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_shown_as_ls_does() {
        let shown = |mode| symbolic_mode(FileType::File, mode);
        assert_eq!(shown(0o4755), "-rwsr-xr-x");
        assert_eq!(shown(0o3640), "-rw-r-S--T");
    }

    #[test]
    fn names_that_are_no_text_are_base64() {
        let json = |name: &[u8]| {
            let (name, name_base64) = text_or_base64(name);
            serde_json::to_value(Name { name, name_base64 }).expect("JSON")
        };
        assert_eq!(json(b"a")["name"], "a");
        assert_eq!(json(b"a").get("name_base64"), None);
        assert_eq!(json(b"\xff")["name"], serde_json::Value::Null);
        assert_eq!(json(b"\xff")["name_base64"], "/w==");
    }
}
