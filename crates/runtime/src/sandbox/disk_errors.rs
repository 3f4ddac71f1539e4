use std::time::Duration;

use msb_agent_protocol::{Client, ClientError};
use tokio::time::timeout;

use super::Sandbox;
use crate::socket;

/// The timeout for the list of failed disks. The VMM process answers without asking the guest.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);

impl Sandbox {
    /// Returns a line for each disk failure that the guest met, with the reason.
    /// Returns no lines if the sandbox does not run or its VMM process does not answer.
    pub async fn disk_errors(&self) -> Vec<String> {
        let asked = async {
            let stream = socket::connect(&self.files.socket()).await;
            let mut client = Client::connect(stream.map_err(ClientError::Io)?).await?;
            client.disk_errors().await
        };
        let answer = timeout(ANSWER_TIMEOUT, asked).await;
        answer.unwrap_or(Ok(Vec::new())).unwrap_or_default()
    }
}
