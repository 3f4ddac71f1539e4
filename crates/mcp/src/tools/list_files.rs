use msb_sdk::{FileInfo, FileType};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Effect, SandboxTool, number};
use crate::call::Call;
use crate::failure::Stop;
use crate::session::Session;

/// The entries that a call returns, unless it asks for another number.
const LIMIT: u64 = 500;
/// The most entries that a call returns.
const LIMIT_MAX: u64 = 5000;

/// Lists a directory.
pub(super) struct ListFiles;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Name of the sandbox; the session's first one if left out.
    name: Option<String>,
    /// Path of a directory in the sandbox. A relative one begins at the sandbox's working directory.
    #[serde(default = "here")]
    path: String,
    /// The most entries to return, at most 5000; 500 if left out.
    #[schemars(range(min = 1, max = LIMIT_MAX))]
    limit: Option<u64>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// The entries in the order of their names.
    entries: Vec<Entry>,
    /// Number of all entries of the directory.
    total: u64,
}

#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
struct Entry {
    /// Name; bytes that are not UTF-8 are replaced.
    name: String,
    /// Type: file, directory, symlink, or another one.
    #[serde(rename = "type")]
    file_type: &'static str,
    /// Size in bytes.
    size: u64,
    /// Permission bits in octal.
    mode: String,
    /// Target of a symlink.
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
}

impl SandboxTool for ListFiles {
    const NAME: &'static str = "sandbox_list_files";
    const TITLE: &'static str = "List a directory";
    const DESCRIPTION: &'static str = "Lists the files of a directory of a sandbox.";
    const EFFECT: Effect = Effect::READS;
    type Arguments = Arguments;
    type Output = Output;

    async fn run(session: &Session, call: &Call, arguments: Arguments) -> Result<Output, Stop> {
        let limit = number("limit", arguments.limit, LIMIT, LIMIT_MAX)?;
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let sandbox = session.sandbox(call, arguments.name.as_deref()).await?;
        let listing = sandbox.files().list(arguments.path.as_str());
        let infos = call.awaited(listing).await?;
        Ok(Output {
            total: infos.len() as u64,
            entries: infos.iter().take(limit).map(Entry::new).collect(),
        })
    }
}

impl Entry {
    fn new(info: &FileInfo) -> Self {
        Self {
            name: info.name.to_string(),
            file_type: match info.file_type {
                FileType::File => "file",
                FileType::Directory => "directory",
                FileType::Symlink => "symlink",
                FileType::CharDevice | FileType::BlockDevice => "device",
                FileType::Fifo => "fifo",
                FileType::Socket => "socket",
                _ => "unknown",
            },
            size: info.size_bytes,
            mode: format!("{:o}", info.mode),
            target: info.target.as_ref().map(ToString::to_string),
        }
    }
}

fn here() -> String {
    ".".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_has_what_a_model_reads() {
        let info = r#"{
            "name": "link", "type": "symlink", "mode": 511, "uid": 0, "gid": 0, "size_bytes": 3,
            "mtime_s": 0, "mtime_ns": 0, "target": "/etc"
        }"#;
        let info: FileInfo = serde_json::from_str(info).expect("attributes");
        let expected = Entry {
            name: "link".to_owned(),
            file_type: "symlink",
            size: 3,
            mode: "777".to_owned(),
            target: Some("/etc".to_owned()),
        };
        assert_eq!(Entry::new(&info), expected);
    }
}
