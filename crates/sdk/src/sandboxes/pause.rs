use msb_cancellation::Effect;

use crate::{Operation, Sandbox};

impl Sandbox {
    /// Freezes every process of the running sandbox, until [`unpause`](Self::unpause). Its files can be read
    /// and changed, and snapshots can be taken; no command can be run. Its limits of time go on, and it is
    /// stopped, killed and removed as if it were not paused.
    ///
    /// ```no_run
    /// # async fn example(sandbox: &msb_sdk::Sandbox) -> Result<(), msb_sdk::Error> {
    /// sandbox.pause().await?;
    /// let log = sandbox.files().read("/var/log/build.log").await?;
    /// sandbox.unpause().await?;
    /// # let _ = log;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`NotRunning`](crate::ErrorKind::NotRunning), [`SandboxPaused`](crate::ErrorKind::SandboxPaused) if it
    /// is paused already.
    pub fn pause(&self) -> Operation<()> {
        self.handle()
            .change(Effect::Slight, move |handle| async move {
                match handle.stored().pause().await {
                    Ok(()) => Ok(()),
                    Err(error) => Err(handle.explain(error).await),
                }
            })
    }

    /// Lets the processes of the paused sandbox go on.
    ///
    /// # Errors
    /// [`NotRunning`](crate::ErrorKind::NotRunning), [`NotPaused`](crate::ErrorKind::NotPaused).
    pub fn unpause(&self) -> Operation<()> {
        self.handle()
            .change(Effect::Slight, move |handle| async move {
                match handle.stored().unpause().await {
                    Ok(()) => Ok(()),
                    Err(error) => Err(handle.explain(error).await),
                }
            })
    }
}
