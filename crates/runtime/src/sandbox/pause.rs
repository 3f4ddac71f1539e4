use super::{ConnectError, Sandbox, State};

impl Sandbox {
    /// Freezes every process of the running sandbox. Its guest goes on, without running any of them.
    ///
    /// # Errors
    /// If the sandbox does not run or is paused, or its guest cannot freeze all processes: they go on then.
    pub async fn pause(&self) -> Result<(), ConnectError> {
        let mut client = self.connect_supervisor().await?;
        let paused = client.pause().await;
        if paused.map_err(|source| self.agent_error(source))? {
            return Ok(());
        }
        Err(self.paused())
    }

    /// Lets the processes of the paused sandbox go on.
    ///
    /// # Errors
    /// If the sandbox does not run or is not paused, or its guest does not answer.
    pub async fn unpause(&self) -> Result<(), ConnectError> {
        let mut client = self.connect_supervisor().await?;
        let continued = client.unpause().await;
        if continued.map_err(|source| self.agent_error(source))? {
            return Ok(());
        }
        Err(ConnectError::NotPaused {
            name: self.spec.name.clone(),
        })
    }

    /// Fails if the processes of the sandbox are paused.
    ///
    /// # Errors
    /// Also if the state of the sandbox cannot be read.
    pub fn expect_unpaused(&self) -> Result<(), ConnectError> {
        let state = self.state().map_err(|source| self.io_error(source))?;
        if state == State::Paused {
            return Err(self.paused());
        }
        Ok(())
    }

    fn paused(&self) -> ConnectError {
        ConnectError::Paused {
            name: self.spec.name.clone(),
        }
    }
}
