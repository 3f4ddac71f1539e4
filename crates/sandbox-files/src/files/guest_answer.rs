//! The agent's answers about files. Root in the guest can answer in its place, so they are checked.

use fstree::Name;
use msb_agent_protocol::v1::{FileStat, FileType, ListEntry};

use super::FilesError;

/// The permission bits of a file.
const MODE_MAX: u32 = 0o7777;
const NANOSECONDS_MAX: u32 = 999_999_999;
/// The longest target of a symlink (`PATH_MAX` without its NUL), in bytes.
const TARGET_MAX_BYTES: usize = 4095;

/// Returns the attributes of a file, if a file can have them.
///
/// # Errors
/// If no file can have them.
pub(super) fn checked_stat(stat: FileStat) -> Result<FileStat, FilesError> {
    match fault(&stat) {
        None => Ok(stat),
        Some(fault) => Err(FilesError::Answer { fault }),
    }
}

/// Checks an entry of a directory: a name without its directory, and attributes.
///
/// # Errors
/// If no directory can have the entry.
pub(super) fn check_entry(entry: &ListEntry) -> Result<(), FilesError> {
    let fault = match Name::new(&entry.name) {
        Err(error) => Some(format!(
            "'{}' as a name: {error}",
            entry.name.escape_ascii()
        )),
        Ok(_) => entry.stat.as_ref().and_then(fault),
    };
    fault.map_or(Ok(()), |fault| Err(FilesError::Answer { fault }))
}

/// Returns the attribute that no file can have; `None` if a file can have all.
fn fault(stat: &FileStat) -> Option<String> {
    if stat.mode > MODE_MAX {
        return Some(format!("the permission bits {:o}", stat.mode));
    }
    if stat.mtime_ns > NANOSECONDS_MAX {
        return Some(format!("{} nanoseconds in a time", stat.mtime_ns));
    }
    if FileType::try_from(stat.r#type).is_ok_and(|kind| kind != FileType::Unknown) {
        let target = &stat.link_target;
        let is_valid = target.len() <= TARGET_MAX_BYTES && !target.contains(&0);
        return (!is_valid)
            .then(|| "a target of a symlink that is too long or has a NUL".to_owned());
    }
    Some(format!("the file type {}", stat.r#type))
}

#[cfg(test)]
mod tests {
    use msb_agent_protocol::Bytes;

    use super::*;

    fn stat() -> FileStat {
        FileStat {
            r#type: FileType::Regular.into(),
            mode: 0o7777,
            mtime_ns: 999_999_999,
            ..FileStat::default()
        }
    }

    #[test]
    fn an_entry_is_a_name_without_its_directory() {
        let entry = |name: &'static [u8]| ListEntry {
            name: Bytes::from_static(name),
            stat: Some(stat()),
        };
        assert!(check_entry(&entry(b"a\xff\n")).is_ok());
        let names: [&[u8]; 7] = [b"../../x", b"/abs", b"a/b", b"", b".", b"..", b"n\0x"];
        for name in names {
            let error = check_entry(&entry(name)).expect_err("no name");
            let message = error.to_string();
            assert!(message.contains("as a name"), "{message}");
            assert!(!message.contains('\0'), "{message}");
        }
        let long = Bytes::from(vec![b'n'; 256]);
        assert!(
            check_entry(&ListEntry {
                name: long,
                stat: None
            })
            .is_err()
        );
    }

    #[test]
    fn attributes_are_those_of_a_file() {
        assert!(checked_stat(stat()).is_ok());
        let changes: [fn(&mut FileStat); 6] = [
            |stat| stat.mode = 0o177_777,
            |stat| stat.mtime_ns = 1_000_000_000,
            |stat| stat.r#type = 0,
            |stat| stat.r#type = 99,
            |stat| stat.link_target = Bytes::from_static(b"a\0b"),
            |stat| stat.link_target = Bytes::from(vec![b't'; 4096]),
        ];
        for (number, change) in changes.into_iter().enumerate() {
            let mut changed = stat();
            change(&mut changed);
            let entry = ListEntry {
                name: Bytes::from_static(b"a"),
                stat: Some(changed.clone()),
            };
            assert!(check_entry(&entry).is_err(), "{number}");
            let error = checked_stat(changed).expect_err("no file");
            let message = error.to_string();
            assert!(
                message.starts_with("the guest's agent answered"),
                "{message}"
            );
        }
    }
}
