//! Forks of a sandbox.

use msb_runtime::network::Publish;
use serde::{Deserialize, Serialize};

use super::Sandbox;
use crate::{Notice, Operation};

/// The options of forks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ForkOptions {
    /// The names of the forks, of which one is made for each; if there are none, one is made whose name is
    /// its id.
    pub names: Vec<String>,
    /// The snapshot that the forks begin with; the files as they are now if `None`.
    pub snapshot: Option<String>,
    /// True if the guest of a running sandbox freezes its filesystem meanwhile.
    pub freeze: bool,
}

impl Default for ForkOptions {
    fn default() -> Self {
        Self {
            names: Vec::new(),
            snapshot: None,
            freeze: true,
        }
    }
}

impl Sandbox {
    /// Makes sandboxes that begin with the files of this one, running or not, and share them until they
    /// are written: each costs some kilobytes. They are not started, and kept when they stop. They have the
    /// options of this one, an id and a hostname of their own, empty volumes where it has some without a
    /// name, and none of the ports of the host that it was given.
    ///
    /// ```no_run
    /// # async fn example(sandbox: &msb_sdk::Sandbox) -> Result<(), msb_sdk::Error> {
    /// let mut options = msb_sdk::ForkOptions::default();
    /// options.names = ["try-1", "try-2"].map(str::to_owned).into();
    /// for fork in sandbox.fork(options).await? {
    ///     fork.start().await?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`NameTaken`](crate::ErrorKind::NameTaken),
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument),
    /// [`NotFound`](crate::ErrorKind::NotFound) for a snapshot, and
    /// [`SandboxRunning`](crate::ErrorKind::SandboxRunning) if the sandbox runs on a disk that was not
    /// prepared for snapshots. Nothing is left of the forks then.
    pub fn fork(&self, options: ForkOptions) -> Operation<Vec<Self>> {
        let handle = self.handle();
        Operation::new(async move {
            let shared = handle.shared.clone();
            shared.ready().await?;
            let stored = handle.stored();
            let origin = stored.origin(options.snapshot, options.freeze).await;
            let origin = origin.map_err(|error| shared.in_home(error.into()))?;
            let names: Vec<_> = if options.names.is_empty() {
                vec![None]
            } else {
                options.names.into_iter().map(Some).collect()
            };
            let forking = shared.with_home(move |shared| origin.fork(shared.home(), &names));
            let forked = forking.await?;
            let notices: Vec<Notice> = forked.unpublished.iter().map(unpublished).collect();
            let forks = forked.sandboxes.into_iter();
            let forks = forks.map(|fork| Self::kept(shared.clone(), fork, notices.clone()));
            Ok(forks.collect())
        })
    }
}

fn unpublished(publish: &Publish) -> Notice {
    let message = format!("port {publish} is not published by a fork, as its source has it");
    Notice::new("port", message)
}
