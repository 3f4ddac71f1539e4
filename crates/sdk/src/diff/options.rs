use serde::{Deserialize, Serialize};

use crate::Text;

/// Options of a comparison.
///
/// ```
/// use msb_sdk::DiffOptions;
///
/// let options = DiffOptions::default().path("/etc").path("/srv");
/// assert_eq!(options.paths.len(), 2);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct DiffOptions {
    /// The paths that are compared, with everything below them; everything if there are none.
    /// Symlinks are not followed.
    pub paths: Vec<Text>,
    /// False to refuse a running sandbox; true, the default, to freeze its disk while it is copied.
    pub pause: bool,
    /// The name of a snapshot of the sandbox, which is compared instead of the sandbox as it is. It is for
    /// [`Sandbox::diff`](crate::Sandbox::diff) alone.
    pub snapshot: Option<String>,
}

impl Default for DiffOptions {
    fn default() -> Self {
        Self {
            paths: Vec::new(),
            pause: true,
            snapshot: None,
        }
    }
}

impl DiffOptions {
    /// Adds a path that is compared.
    #[must_use]
    pub fn path(mut self, path: impl Into<Text>) -> Self {
        self.paths.push(path.into());
        self
    }

    /// Sets whether a running sandbox is frozen or refused.
    #[must_use]
    pub const fn pause(mut self, pause: bool) -> Self {
        self.pause = pause;
        self
    }

    /// Compares a snapshot instead of the sandbox as it is.
    #[must_use]
    pub fn snapshot(mut self, snapshot: impl Into<String>) -> Self {
        self.snapshot = Some(snapshot.into());
        self
    }

    pub(super) fn paths(&self) -> Vec<Vec<u8>> {
        let paths = self.paths.iter();
        paths.map(|path| path.as_bytes().to_vec()).collect()
    }
}
