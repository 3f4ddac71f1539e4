use msb_cancellation::Effect;
use msb_sandbox_files::{RestageError, Restaged, Restaging};

use super::DiscardedChange;
use crate::{Error, Operation, Sandbox};

impl Sandbox {
    /// Stages the directories of the stopped sandbox anew: it keeps its own changes, and has the host's files of
    /// this moment where it changed nothing. Returns the changes of its files, also if nothing is written because
    /// `dry_run` is true. Snapshots keep the files that they have.
    ///
    /// ```no_run
    /// # async fn example(sandbox: &msb_sdk::Sandbox) -> Result<(), msb_sdk::Error> {
    /// for change in sandbox.restage(false).await? {
    ///     println!("{} {}", change.kind.letter(), change.path);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`SandboxRunning`](crate::ErrorKind::SandboxRunning),
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if it has no staged directory, or one of another host,
    /// [`PathExists`](crate::ErrorKind::PathExists) if the host and the sandbox changed a path in different ways:
    /// the detail `conflicts` lists them. The sandbox is unchanged then.
    pub fn restage(&self, dry_run: bool) -> Operation<Vec<DiscardedChange>> {
        self.handle()
            .change(Effect::Guest, move |handle| async move {
                let stored = handle.stored();
                let shared = handle.shared();
                let restaging = shared.with_home(move |shared| {
                    let restaged = Restaging::new(&stored).restage(shared.home(), dry_run);
                    restaged.map_err(with_conflicts)
                });
                let change = |change: Restaged| DiscardedChange {
                    path: change.path.into(),
                    kind: change.kind.into(),
                };
                Ok(restaging.await?.into_iter().map(change).collect())
            })
    }
}

/// Returns the error with the conflicting paths as one of its details.
fn with_conflicts(error: RestageError) -> Error {
    let conflicts = match &error {
        RestageError::Conflicts { paths, .. } => paths.iter().map(|path| {
            let path = String::from_utf8_lossy(path);
            msb_client::printable(&path)
        }),
        _ => return error.into(),
    };
    let conflicts: Vec<String> = conflicts.collect();
    Error::from(error).with_detail("conflicts", conflicts)
}
