pub use msb_runtime::network::{
    EdgeEvent, FlowEnd, HttpRecord, HttpVerdict, NetworkClose, NetworkConnect, NetworkEvent,
    NetworkQuery, NetworkRecord, NetworkRulesChange, NetworkTls, Verdict,
};

use crate::{Error, LogOptions, LogSource, Logs, Operation, Sandbox};

/// The records of the log of a sandbox's network.
#[derive(Debug)]
pub struct NetworkLog(Logs);

impl NetworkLog {
    /// Returns the next record, as [`Logs::next`] does.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub async fn next(&self) -> Result<Option<NetworkRecord>, Error> {
        match self.0.next().await? {
            Some(record) => Ok(Some(serde_json::from_slice(&record.data)?)),
            None => Ok(None),
        }
    }
}

impl Sandbox {
    /// Returns the log of the network: each connection and its end, refusals, DNS queries, and the requests of connections
    /// whose TLS is ended. The options choose
    /// records; their source is that of this log.
    ///
    /// ```no_run
    /// use msb_sdk::{LogOptions, NetworkEvent};
    ///
    /// # async fn example(sandbox: &msb_sdk::Sandbox) -> Result<(), msb_sdk::Error> {
    /// let mut options = LogOptions::default();
    /// options.denied = true;
    /// let log = sandbox.network_log(options).await?;
    /// while let Some(record) = log.next().await? {
    ///     if let NetworkEvent::Connect(refused) = record.event {
    ///         println!("{}:{} {:?}", refused.address, refused.port, refused.hint);
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn network_log(&self, mut options: LogOptions) -> Operation<NetworkLog> {
        options.source = LogSource::Network;
        let logs = self.logs().with(options);
        Operation::new(async move { logs.await.map(NetworkLog) })
    }
}
