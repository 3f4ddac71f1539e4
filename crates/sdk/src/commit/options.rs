use jiff::Timestamp;
use oci_image::{ChildConfig, Instruction, InvalidInstruction};
use serde::{Deserialize, Serialize};

use super::CREATED_BY;
use crate::{Error, Text};

/// Options of an image that is made of a sandbox.
///
/// ```
/// use msb_sdk::CommitOptions;
///
/// let options = CommitOptions::default().message("tools").change("ENV A=1");
/// assert_eq!(options.changes, ["ENV A=1"]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct CommitOptions {
    /// The comment on the image's step.
    pub message: Option<String>,
    /// The author of the image.
    pub author: Option<String>,
    /// Instructions for running the image, in the syntax of a Dockerfile: `CMD`, `ENTRYPOINT`,
    /// `ENV`, `EXPOSE`, `LABEL`, `USER`, `VOLUME`, `WORKDIR` and `STOPSIGNAL`.
    pub changes: Vec<String>,
    /// The time of creation, in seconds since the epoch; now if `None`. Later modification times of
    /// files are replaced by it, so that the same changes make the same image.
    pub source_date_epoch: Option<i64>,
    /// Patterns of paths whose changes are not in the image, as gitignore has them.
    pub exclude: Vec<Text>,
    /// Patterns of the only paths whose changes are in the image; all paths if there are none.
    pub include: Vec<Text>,
    /// False to refuse a running sandbox; true, the default, to freeze its disk while it is cut.
    pub pause: bool,
    /// The name of a snapshot of the sandbox, which the image is made of instead of the sandbox as it
    /// is. The image is then a child of the sandbox's own image.
    pub snapshot: Option<String>,
}

impl Default for CommitOptions {
    fn default() -> Self {
        Self {
            message: None,
            author: None,
            changes: Vec::new(),
            source_date_epoch: None,
            exclude: Vec::new(),
            include: Vec::new(),
            pause: true,
            snapshot: None,
        }
    }
}

impl CommitOptions {
    /// Sets the comment on the image's step.
    #[must_use]
    pub fn message(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }

    /// Sets the author of the image.
    #[must_use]
    pub fn author(mut self, author: impl Into<String>) -> Self {
        self.author = Some(author.into());
        self
    }

    /// Adds an instruction for running the image.
    #[must_use]
    pub fn change(mut self, instruction: impl Into<String>) -> Self {
        self.changes.push(instruction.into());
        self
    }

    /// Sets the time of creation, in seconds since the epoch.
    #[must_use]
    pub const fn source_date_epoch(mut self, seconds: i64) -> Self {
        self.source_date_epoch = Some(seconds);
        self
    }

    /// Adds a pattern of paths whose changes are not in the image.
    #[must_use]
    pub fn exclude(mut self, pattern: impl Into<Text>) -> Self {
        self.exclude.push(pattern.into());
        self
    }

    /// Adds a pattern of the paths whose changes are in the image.
    #[must_use]
    pub fn include(mut self, pattern: impl Into<Text>) -> Self {
        self.include.push(pattern.into());
        self
    }

    /// Sets whether a running sandbox is frozen or refused.
    #[must_use]
    pub const fn pause(mut self, pause: bool) -> Self {
        self.pause = pause;
        self
    }

    /// Makes the image of a snapshot instead of the sandbox as it is.
    #[must_use]
    pub fn snapshot(mut self, snapshot: impl Into<String>) -> Self {
        self.snapshot = Some(snapshot.into());
        self
    }

    /// Returns true if the image differs from its parent even if no file changed.
    pub(super) fn has_changes(&self) -> bool {
        self.message.is_some() || self.author.is_some() || !self.changes.is_empty()
    }

    /// Returns what the image has beyond its parent, without its layer.
    pub(super) fn child(&self) -> Result<ChildConfig, Error> {
        let created = match self.source_date_epoch {
            Some(seconds) => Timestamp::from_second(seconds).map_err(|_| {
                Error::invalid(format!("{seconds} seconds since the epoch are not a time"))
            })?,
            None => Timestamp::now(),
        };
        let instructions = self.changes.iter().map(|text| text.parse());
        let instructions: Result<Vec<Instruction>, InvalidInstruction> = instructions.collect();
        Ok(ChildConfig {
            created: created.to_string(),
            created_by: CREATED_BY.to_owned(),
            author: self.author.clone(),
            comment: self.message.clone(),
            instructions: instructions?,
            layer: None,
        })
    }
}
