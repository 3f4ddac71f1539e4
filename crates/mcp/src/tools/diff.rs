use msb_sdk::{Change, ChangeKind, DiffOptions, Error};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Effect, SNAPSHOT_HINT, SandboxTool};
use crate::bounded_text::without_cut_end;
use crate::call::Call;
use crate::failure::{Failure, Stop};
use crate::session::Session;

/// The most changes that a call lists.
const CHANGES_MAX: usize = 1000;
/// The most bytes of a patch.
const PATCH_MAX: usize = 64 << 10;

/// Lists the changes of files.
pub(super) struct Diff;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Name of the sandbox; the session's first one if left out.
    name: Option<String>,
    /// Snapshot of the sandbox to compare with; the files that it began with if left out.
    base: Option<String>,
    /// Path in the sandbox; everything if left out.
    path: Option<String>,
    /// False to list the changes without the patch.
    #[serde(default = "yes")]
    patch: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// The changes, at most 1000, parents before children.
    changes: Vec<Listed>,
    /// Number of all changes.
    total: u64,
    /// The changes as git diff prints them, at most 64 KiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    patch: Option<String>,
    /// True if the patch is cut.
    patch_truncated: bool,
}

/// A change of a file.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct Listed {
    /// Path, quoted as git does if it has unusual characters.
    pub(super) path: String,
    /// Kind: added, changed or deleted.
    pub(super) kind: ChangeWord,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(super) enum ChangeWord {
    Added,
    Changed,
    Deleted,
}

impl From<ChangeKind> for ChangeWord {
    fn from(kind: ChangeKind) -> Self {
        match kind {
            ChangeKind::Added => Self::Added,
            ChangeKind::Changed => Self::Changed,
            ChangeKind::Deleted => Self::Deleted,
        }
    }
}

impl SandboxTool for Diff {
    const NAME: &'static str = "sandbox_diff";
    const TITLE: &'static str = "Show changes";
    const DESCRIPTION: &'static str = "Lists the files of a sandbox that were added, changed and deleted since it was \
        created or since a snapshot, with a patch.";
    const EFFECT: Effect = Effect::READS;
    type Arguments = Arguments;
    type Output = Output;

    async fn run(session: &Session, call: &Call, arguments: Arguments) -> Result<Output, Stop> {
        let base = arguments.base.as_deref().map(snapshot).transpose()?;
        let sandbox = session.sandbox(call, arguments.name.as_deref()).await?;
        let mut options = DiffOptions::default();
        if let Some(path) = &arguments.path {
            options = options.path(path.as_str());
        }
        let comparing = match base {
            Some(base) => {
                let (old, new) = (format!("{}@{base}", sandbox.id()), sandbox.id());
                session.msb.diff(old, new, options)
            }
            None => sandbox.diff(options),
        };
        let listing = async {
            let diff = comparing.await?;
            output(&diff, arguments.patch).await
        };
        let listed = call.awaited(listing).await;
        listed.map_err(|stop| stop.when_not_found(SNAPSHOT_HINT))
    }
}

async fn output(diff: &msb_sdk::Diff, has_patch: bool) -> Result<Output, Error> {
    let mut output = Output {
        changes: Vec::new(),
        total: 0,
        patch: None,
        patch_truncated: false,
    };
    let mut patch = Vec::new();
    for index in 0..diff.len() {
        // What a directory took along when it was deleted is not listed.
        let Some(change) = diff.get(index).filter(|change| !change.is_implied) else {
            continue;
        };
        output.total = output.total.saturating_add(1);
        if output.changes.len() < CHANGES_MAX {
            output.changes.push(Listed::new(&change));
        }
        if has_patch && patch.len() < PATCH_MAX {
            let text = diff.patch(index).await?.text;
            patch.extend_from_slice(&text);
        } else {
            output.patch_truncated |= has_patch;
        }
    }
    if has_patch {
        output.patch_truncated |= patch.len() > PATCH_MAX;
        patch.truncate(PATCH_MAX);
        let whole = if output.patch_truncated {
            without_cut_end(&patch)
        } else {
            patch.as_slice()
        };
        output.patch = Some(String::from_utf8_lossy(whole).into_owned());
    }
    Ok(output)
}

impl Listed {
    fn new(change: &Change) -> Self {
        Self {
            path: change.quoted_path(),
            kind: change.kind.into(),
        }
    }
}

/// Returns the name of a snapshot. Another name would be one of an image or of another sandbox behind the `@`.
fn snapshot(name: &str) -> Result<&str, Failure> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    if !name.is_empty() && name.bytes().all(is_plain) {
        return Ok(name);
    }
    let name = terminal_text::escaped(name);
    Err(
        Failure::invalid(format!("base: '{name}' is not the name of a snapshot"))
            .with_hint(SNAPSHOT_HINT),
    )
}

const fn yes() -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_snapshots_of_the_sandbox_are_a_base() {
        assert_eq!(snapshot("before-1.2_x"), Ok("before-1.2_x"));
        for name in ["", "other@s", "debian:12", "sha256:0", "a/b", "a b", "é"] {
            assert!(snapshot(name).is_err(), "{name}");
        }
    }
}
