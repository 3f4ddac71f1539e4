use msb_sandbox_files::ChangeScope;
use serde::{Deserialize, Serialize};

use crate::diff::{bytes, scope};
use crate::{Error, Text};

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
    /// Patterns of paths whose changes are left out, as gitignore has them.
    pub exclude: Vec<Text>,
    /// Patterns of the only paths whose changes are applied; all paths if there are none.
    pub include: Vec<Text>,
    /// Paths in the sandbox at and below which changes are applied that make programs of the host run
    /// commands, such as `.envrc`. Others are refused.
    pub accept: Vec<Text>,
    /// The sandbox's directory that the host's directory stands for; the root if `None`. Changes
    /// outside of it are left out.
    pub from: Option<Text>,
    /// The sandbox, snapshot or image that the sandbox is compared with; what it began with if `None`.
    pub base: Option<String>,
    /// The name of a snapshot of the sandbox, which is applied instead of the sandbox as it is.
    pub snapshot: Option<String>,
    /// True if owners, setuid and setgid bits, and file capabilities are applied too, which takes
    /// root.
    pub owner: bool,
    /// True if nothing is written.
    pub dry_run: bool,
    /// True if texts that the host changed, too, are merged, where the sandbox and the host changed different
    /// lines. Otherwise each is a conflict.
    pub merges: bool,
    /// True if the changes that were applied are then discarded from the stopped sandbox.
    pub then_discard: bool,
    /// False to refuse a running sandbox; true, the default, to freeze its disk while it is cut.
    pub pause: bool,
}

impl Default for ApplyOptions {
    fn default() -> Self {
        Self {
            paths: Vec::new(),
            exclude: Vec::new(),
            include: Vec::new(),
            accept: Vec::new(),
            from: None,
            base: None,
            snapshot: None,
            owner: false,
            dry_run: false,
            merges: false,
            then_discard: false,
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

    /// Adds a pattern of paths whose changes are left out.
    #[must_use]
    pub fn exclude(mut self, pattern: impl Into<Text>) -> Self {
        self.exclude.push(pattern.into());
        self
    }

    /// Adds a pattern of the paths whose changes are applied.
    #[must_use]
    pub fn include(mut self, pattern: impl Into<Text>) -> Self {
        self.include.push(pattern.into());
        self
    }

    /// Adds a path at and below which changes are applied that make programs of the host run commands.
    #[must_use]
    pub fn accept(mut self, path: impl Into<Text>) -> Self {
        self.accept.push(path.into());
        self
    }

    /// Applies a snapshot instead of the sandbox as it is.
    #[must_use]
    pub fn snapshot(mut self, snapshot: impl Into<String>) -> Self {
        self.snapshot = Some(snapshot.into());
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

    /// Merges texts that the host changed, too.
    #[must_use]
    pub const fn merges(mut self) -> Self {
        self.merges = true;
        self
    }

    /// Discards the changes from the stopped sandbox once they are applied.
    #[must_use]
    pub const fn then_discard(mut self) -> Self {
        self.then_discard = true;
        self
    }

    /// Checks that what is applied can be discarded afterwards: it is the difference between the sandbox and its
    /// initial files.
    pub(super) fn check_discard(&self) -> Result<(), Error> {
        if self.then_discard && (self.base.is_some() || self.snapshot.is_some()) {
            return Err(Error::invalid(
                "changes since another base, and changes of a snapshot, cannot be discarded after they are applied",
            ));
        }
        Ok(())
    }

    /// Sets whether a running sandbox is frozen or refused.
    #[must_use]
    pub const fn pause(mut self, pause: bool) -> Self {
        self.pause = pause;
        self
    }

    /// Returns the options of the library, and the changes that are compared.
    pub(super) fn apply(&self) -> Result<(msb_sandbox_files::ApplyOptions, ChangeScope), Error> {
        let from = self.from.as_ref();
        let chosen = bytes(&self.paths);
        let mut scope = scope(Vec::new(), &self.exclude, &self.include)?;
        let apply = msb_sandbox_files::ApplyOptions {
            from: from.map_or_else(Vec::new, |path| path.as_bytes().to_vec()),
            keep_owner: self.owner,
            filter: scope.filter.clone(),
            merges: self.merges,
            accepted: bytes(&self.accept),
            chosen,
            rules: None,
            records: None,
        };
        scope.paths = apply.scope(&apply.chosen)?;
        Ok((apply, scope))
    }
}
