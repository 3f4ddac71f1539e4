use crate::client::beginning_with;
use crate::exec::Command;
use crate::v1::containers_client::ContainersClient;
use crate::v1::{ExecContainer, StartContainer, exec_input};
use crate::{Client, ClientError, Connection};

impl Client {
    /// Returns the generated client of the calls on containers, on the same connection.
    pub fn containers(&self) -> ContainersClient<Connection> {
        self.containers.clone()
    }

    /// Lets the first process of a container become its program, and carries its streams.
    ///
    /// # Errors
    /// [`Refused`](ClientError::Refused) if the program cannot be executed, [`Files`](ClientError::Files) with the
    /// reason if the container does not exist or was started, [`Unimplemented`](ClientError::Unimplemented) if the
    /// agent is older than the call.
    pub async fn start_container(&mut self, id: &str) -> Result<Command, ClientError> {
        let start = StartContainer {
            container_id: id.to_owned(),
        };
        let (inputs, pending) = beginning_with(exec_input::Input::StartContainer(start)).await;
        let events = self.containers.start(pending).await;
        let events = events.map_err(ClientError::for_file_call("start a container"))?;
        Command::started(self.clone(), inputs, events.into_inner()).await
    }

    /// Runs a further process in a container, and carries its streams.
    ///
    /// # Errors
    /// As [`start_container`](Self::start_container).
    pub async fn exec_container(&mut self, exec: ExecContainer) -> Result<Command, ClientError> {
        let (inputs, pending) = beginning_with(exec_input::Input::ExecContainer(exec)).await;
        let events = self.containers.exec(pending).await;
        let events = events.map_err(ClientError::for_file_call("exec in a container"))?;
        Command::started(self.clone(), inputs, events.into_inner()).await
    }
}
