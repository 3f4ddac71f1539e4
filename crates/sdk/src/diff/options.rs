use msb_sandbox_files::ChangeScope;
use serde::{Deserialize, Serialize};
use tree_diff::PathFilter;

use crate::{Error, Text};

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
    /// Patterns of paths whose changes are left out, as gitignore has them.
    pub exclude: Vec<Text>,
    /// Patterns of the only paths whose changes are listed; all paths if there are none.
    pub include: Vec<Text>,
    /// False to refuse a running sandbox; true, the default, to freeze its disk while it is cut.
    pub pause: bool,
    /// The name of a snapshot of the sandbox, which is compared instead of the sandbox as it is. It is for
    /// [`Sandbox::diff`](crate::Sandbox::diff) alone.
    pub snapshot: Option<String>,
}

impl Default for DiffOptions {
    fn default() -> Self {
        Self {
            paths: Vec::new(),
            exclude: Vec::new(),
            include: Vec::new(),
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

    /// Adds a pattern of paths whose changes are left out.
    #[must_use]
    pub fn exclude(mut self, pattern: impl Into<Text>) -> Self {
        self.exclude.push(pattern.into());
        self
    }

    /// Adds a pattern of the paths whose changes are listed.
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

    /// Compares a snapshot instead of the sandbox as it is.
    #[must_use]
    pub fn snapshot(mut self, snapshot: impl Into<String>) -> Self {
        self.snapshot = Some(snapshot.into());
        self
    }

    pub(super) fn scope(&self) -> Result<ChangeScope, Error> {
        scope(bytes(&self.paths), &self.exclude, &self.include)
    }
}

/// Returns texts as bytes.
pub(crate) fn bytes(texts: &[Text]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

/// Returns the scope of paths and patterns.
pub(crate) fn scope(
    paths: Vec<Vec<u8>>,
    exclude: &[Text],
    include: &[Text],
) -> Result<ChangeScope, Error> {
    let filter = PathFilter::new(&bytes(exclude), &bytes(include));
    let filter = filter.map_err(|error| Error::invalid(error.to_string()))?;
    Ok(ChangeScope { paths, filter })
}
