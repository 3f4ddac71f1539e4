use serde::{Deserialize, Serialize};

use crate::Text;

/// Options of changes that are put into a directory of the host.
///
/// ```
/// use msb_sdk::ApplyOptions;
///
/// let options = ApplyOptions::default().from("/work").path("/work/src");
/// assert_eq!(options.paths.len(), 1);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ApplyOptions {
    /// The paths in the sandbox whose changes are applied, with everything below them; everything
    /// if there are none. Symlinks are not followed.
    pub paths: Vec<Text>,
    /// The sandbox's directory that the host's directory stands for; the root if `None`. Changes
    /// outside of it are left out.
    pub from: Option<Text>,
    /// The sandbox or image that the sandbox is compared with; its own image if `None`.
    pub base: Option<String>,
    /// True if owners, setuid and setgid bits, and file capabilities are applied too, which takes
    /// root.
    pub owner: bool,
    /// True if nothing is written.
    pub dry_run: bool,
    /// False to refuse a running sandbox; true, the default, to freeze its disk while it is copied.
    pub pause: bool,
}

impl Default for ApplyOptions {
    fn default() -> Self {
        Self {
            paths: Vec::new(),
            from: None,
            base: None,
            owner: false,
            dry_run: false,
            pause: true,
        }
    }
}

impl ApplyOptions {
    /// Adds a path whose changes are applied.
    #[must_use]
    pub fn path(mut self, path: impl Into<Text>) -> Self {
        self.paths.push(path.into());
        self
    }

    /// Sets the sandbox's directory that the host's directory stands for.
    #[must_use]
    pub fn from(mut self, path: impl Into<Text>) -> Self {
        self.from = Some(path.into());
        self
    }

    /// Sets the sandbox or image that the sandbox is compared with.
    #[must_use]
    pub fn base(mut self, name: impl Into<String>) -> Self {
        self.base = Some(name.into());
        self
    }

    /// Applies owners, setuid and setgid bits, and file capabilities too.
    #[must_use]
    pub const fn owner(mut self) -> Self {
        self.owner = true;
        self
    }

    /// Writes nothing.
    #[must_use]
    pub const fn dry_run(mut self) -> Self {
        self.dry_run = true;
        self
    }

    /// Sets whether a running sandbox is frozen or refused.
    #[must_use]
    pub const fn pause(mut self, pause: bool) -> Self {
        self.pause = pause;
        self
    }

    pub(super) fn paths(&self) -> Vec<Vec<u8>> {
        let paths = self.paths.iter();
        paths.map(|path| path.as_bytes().to_vec()).collect()
    }

    pub(super) fn apply(&self) -> msb_runtime::ApplyOptions {
        let from = self.from.as_ref();
        msb_runtime::ApplyOptions {
            from: from.map_or_else(Vec::new, |path| path.as_bytes().to_vec()),
            keep_owner: self.owner,
        }
    }
}
