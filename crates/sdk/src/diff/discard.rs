use msb_cancellation::Effect;
use msb_sandbox_files::{DiscardOptions as DiskOptions, Discarded, Discarding};
use serde::{Deserialize, Serialize};

use super::options::{bytes, scope};
use super::{ChangeKind, find};
use crate::{Error, Operation, Sandbox, Text};

/// Options of changes that are taken back.
///
/// ```
/// use msb_sdk::DiscardOptions;
///
/// let options = DiscardOptions::default().path("/work").exclude("*.log").dry_run();
/// assert_eq!(options.paths.len(), 1);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct DiscardOptions {
    /// The paths whose changes are taken back, with everything below them. Symlinks are not followed.
    pub paths: Vec<Text>,
    /// Patterns of paths whose changes stay, as gitignore has them.
    pub exclude: Vec<Text>,
    /// Patterns of the only paths whose changes are taken back; all paths if there are none.
    pub include: Vec<Text>,
    /// The sandbox, snapshot or image that the files are taken from; what the sandbox began with if `None`.
    pub base: Option<String>,
    /// True if nothing is written.
    pub dry_run: bool,
}

impl DiscardOptions {
    /// Adds a path whose changes are taken back.
    #[must_use]
    pub fn path(mut self, path: impl Into<Text>) -> Self {
        self.paths.push(path.into());
        self
    }

    /// Adds a pattern of paths whose changes stay.
    #[must_use]
    pub fn exclude(mut self, pattern: impl Into<Text>) -> Self {
        self.exclude.push(pattern.into());
        self
    }

    /// Adds a pattern of paths whose changes are taken back.
    #[must_use]
    pub fn include(mut self, pattern: impl Into<Text>) -> Self {
        self.include.push(pattern.into());
        self
    }

    /// Sets the sandbox, snapshot or image that the files are taken from.
    #[must_use]
    pub fn base(mut self, name: impl Into<String>) -> Self {
        self.base = Some(name.into());
        self
    }

    /// Writes nothing.
    #[must_use]
    pub const fn dry_run(mut self) -> Self {
        self.dry_run = true;
        self
    }
}

/// A change that takes another one back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct DiscardedChange {
    /// The path, with a leading `/`.
    pub path: Text,
    /// The kind of the change: a name that the sandbox added is deleted. Of a deleted directory only the
    /// directory itself is listed.
    pub kind: ChangeKind,
}

impl Sandbox {
    /// Takes back all changes of the stopped sandbox at and below these paths: they are then what the
    /// sandbox began with. Everything else stays as it is. Symlinks are not followed.
    ///
    /// ```no_run
    /// # async fn example(sandbox: &msb_sdk::Sandbox) -> Result<(), msb_sdk::Error> {
    /// sandbox.discard(["/etc", "/usr/share/doc"]).await
    /// # }
    /// ```
    ///
    /// # Errors
    /// Fails as [`Sandbox::discard_with`] does.
    pub fn discard<P: Into<Text>>(&self, paths: impl IntoIterator<Item = P>) -> Operation<()> {
        let discarding = self.discard_with(DiscardOptions {
            paths: paths.into_iter().map(Into::into).collect(),
            ..DiscardOptions::default()
        });
        Operation::new(async move { discarding.await.map(drop) })
    }

    /// Takes back changes of the stopped sandbox, as [`Sandbox::discard`] does, and returns the changes
    /// that this makes.
    ///
    /// # Errors
    /// [`SandboxRunning`](crate::ErrorKind::SandboxRunning),
    /// [`PathNotFound`](crate::ErrorKind::PathNotFound) if neither side has one of the paths,
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if there is no path, a path is in a directory
    /// that the sandbox deleted or replaced, or a file would be deleted of which there is no copy, and
    /// [`OutOfSpace`](crate::ErrorKind::OutOfSpace). The sandbox is unchanged then.
    pub fn discard_with(&self, options: DiscardOptions) -> Operation<Vec<DiscardedChange>> {
        self.handle()
            .change(Effect::Guest, move |handle| async move {
                if options.paths.is_empty() {
                    return Err(Error::invalid(
                        "no path to discard changes of; write / for all",
                    ));
                }
                let shared = handle.shared();
                let base = match options.base {
                    Some(base) => {
                        let finding = shared.with_home(move |shared| find(shared, &base)).await;
                        Some(finding?.side(shared, true).await?)
                    }
                    None => None,
                };
                let options = DiskOptions {
                    scope: scope(bytes(&options.paths), &options.exclude, &options.include)?,
                    chosen: None,
                    base,
                    is_dry_run: options.dry_run,
                };
                let stored = handle.stored();
                let discarding = shared.with_home(move |shared| {
                    Discarding::new(&stored).discard(shared.home(), options)
                });
                let discarded = discarding.await?.into_iter();
                let change = |change: Discarded| DiscardedChange {
                    path: change.path.into(),
                    kind: change.kind.into(),
                };
                Ok(discarded.map(change).collect())
            })
    }
}
