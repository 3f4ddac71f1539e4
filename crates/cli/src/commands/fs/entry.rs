use msb_agent_protocol::v1::{FileStat, FileType};
use serde::Serialize;

/// A file as JSON, with stable keys. Text that is not UTF-8 is null, and `…_base64` holds its
/// bytes.
#[derive(Serialize)]
pub(super) struct Entry {
    #[serde(flatten)]
    name: Name,
    r#type: &'static str,
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
    pub(super) fn new(name: &[u8], stat: &FileStat) -> Self {
        let (name, name_base64) = text_or_base64(name);
        let target = (stat.r#type() == FileType::Symlink).then(|| {
            let (target, target_base64) = text_or_base64(&stat.link_target);
            Target {
                target,
                target_base64,
            }
        });
        let is_device = matches!(stat.r#type(), FileType::CharDevice | FileType::BlockDevice);
        Self {
            name: Name { name, name_base64 },
            r#type: type_name(stat.r#type()),
            mode: format!("{:04o}", stat.mode),
            uid: stat.uid,
            gid: stat.gid,
            size_bytes: stat.size,
            mtime_s: stat.mtime_s,
            mtime_ns: stat.mtime_ns,
            target,
            device: is_device.then_some([stat.device_major, stat.device_minor]),
        }
    }
}

fn text_or_base64(bytes: &[u8]) -> (Option<String>, Option<String>) {
    use base64::Engine as _;
    match std::str::from_utf8(bytes) {
        Ok(text) => (Some(text.to_owned()), None),
        Err(_) => {
            let standard = base64::engine::general_purpose::STANDARD;
            (None, Some(standard.encode(bytes)))
        }
    }
}

const fn type_name(file_type: FileType) -> &'static str {
    match file_type {
        FileType::Regular => "file",
        FileType::Directory => "directory",
        FileType::Symlink => "symlink",
        FileType::CharDevice => "char-device",
        FileType::BlockDevice => "block-device",
        FileType::Fifo => "fifo",
        FileType::Socket => "socket",
        FileType::Unknown => "unknown",
    }
}

/// Returns a file's row in the table, like `ls -l`: mode, owner, size, time, name.
pub(super) fn row(name: &[u8], stat: &FileStat) -> [String; 5] {
    let mut shown = name.escape_ascii().to_string();
    if let Ok(text) = std::str::from_utf8(name)
        && !text.chars().any(char::is_control)
    {
        shown = text.to_owned();
    }
    if stat.r#type() == FileType::Symlink {
        let target = String::from_utf8_lossy(&stat.link_target);
        shown.push_str(&format!(" -> {}", crate::failure::printable(&target)));
    }
    let size = match stat.r#type() {
        FileType::CharDevice | FileType::BlockDevice => {
            format!("{}, {}", stat.device_major, stat.device_minor)
        }
        _ => stat.size.to_string(),
    };
    let time = jiff::Timestamp::from_second(stat.mtime_s);
    let time = time.map_or_else(|_| stat.mtime_s.to_string(), |time| time.to_string());
    [
        symbolic_mode(stat),
        format!("{}:{}", stat.uid, stat.gid),
        size,
        time,
        shown,
    ]
}

fn symbolic_mode(stat: &FileStat) -> String {
    let letter = match stat.r#type() {
        FileType::Regular => '-',
        FileType::Directory => 'd',
        FileType::Symlink => 'l',
        FileType::CharDevice => 'c',
        FileType::BlockDevice => 'b',
        FileType::Fifo => 'p',
        FileType::Socket => 's',
        FileType::Unknown => '?',
    };
    let mut text = letter.to_string();
    for (shift, special, letters) in [(6, 0o4000, "sS"), (3, 0o2000, "sS"), (0, 0o1000, "tT")] {
        let bits = stat.mode >> shift;
        text.push(if bits & 4 != 0 { 'r' } else { '-' });
        text.push(if bits & 2 != 0 { 'w' } else { '-' });
        let (with, without) = letters.split_at(1);
        text.push_str(match (stat.mode & special != 0, bits & 1 != 0) {
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
        let shown = |mode| {
            symbolic_mode(&FileStat {
                r#type: FileType::Regular.into(),
                mode,
                ..FileStat::default()
            })
        };
        assert_eq!(shown(0o4755), "-rwsr-xr-x");
        assert_eq!(shown(0o3640), "-rw-r-S--T");
    }

    #[test]
    fn names_that_are_no_text_are_base64() {
        let json = |name: &[u8]| {
            serde_json::to_value(Entry::new(name, &FileStat::default())).expect("JSON")
        };
        assert_eq!(json(b"a")["name"], "a");
        assert_eq!(json(b"a").get("name_base64"), None);
        assert_eq!(json(b"\xff")["name"], serde_json::Value::Null);
        assert_eq!(json(b"\xff")["name_base64"], "/w==");
    }
}
