use crate::v1::ChangeNetworkRequest;
use crate::{Client, ClientError};

impl Client {
    /// Replaces the rules of the machine's network, for connections and queries from then on.
    ///
    /// # Errors
    /// [`Unimplemented`](ClientError::Unimplemented) if the VMM process is older than the call, or
    /// [`Files`](ClientError::Files) if the rules cannot hold.
    pub async fn change_network(
        &mut self,
        request: ChangeNetworkRequest,
    ) -> Result<(), ClientError> {
        let changed = self.supervisor.change_network(request).await;
        changed.map(drop).map_err(ClientError::for_file_call(
            "change the rules of the network",
        ))
    }
}
