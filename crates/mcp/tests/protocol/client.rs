//! A client that speaks the protocol line by line.

use std::future::pending;
use std::time::Duration;

use msb_mcp::{ServeError, Settings, serve};
use msb_sdk::Msb;
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf,
};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// The time in which everything has to be answered.
const LIMIT: Duration = Duration::from_secs(60);
/// The bytes that wait between client and server.
const BUFFER_BYTES: usize = 64 << 10;

/// A client, and the server behind it.
pub(crate) struct Client {
    reader: BufReader<ReadHalf<DuplexStream>>,
    writer: WriteHalf<DuplexStream>,
    serving: JoinHandle<Result<Option<()>, ServeError>>,
    next_id: u64,
}

impl Client {
    /// Returns a client that has said nothing yet.
    pub(crate) fn silent(msb: Msb, settings: Settings) -> Self {
        let (ours, theirs) = tokio::io::duplex(BUFFER_BYTES);
        let streams = tokio::io::split(theirs);
        let serving = tokio::spawn(serve(msb, settings, streams, pending::<()>()));
        let (reader, writer) = tokio::io::split(ours);
        Self {
            reader: BufReader::new(reader),
            writer,
            serving,
            next_id: 1,
        }
    }

    /// Returns a client with these capabilities that was initialized.
    pub(crate) async fn new(msb: Msb, settings: Settings, capabilities: Value) -> Self {
        let mut client = Self::silent(msb, settings);
        let parameters = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": capabilities,
            "clientInfo": {"name": "test", "version": "1"},
        });
        let greeting = client.request("initialize", parameters).await;
        assert_eq!(
            greeting["result"]["protocolVersion"], "2025-11-25",
            "{greeting}"
        );
        client
            .send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
            .await;
        client
    }

    pub(crate) async fn send(&mut self, message: &Value) {
        self.send_line(message.to_string().as_bytes()).await;
    }

    pub(crate) async fn send_line(&mut self, line: &[u8]) {
        let line = [line, b"\n"].concat();
        let writing = timeout(LIMIT, self.writer.write_all(&line)).await;
        writing.expect("in time").expect("written");
    }

    /// Sends a request, and returns its id.
    pub(crate) async fn begin(&mut self, method: &str, parameters: Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": parameters});
        self.send(&request).await;
        id
    }

    /// Returns the next request or answer of the server.
    pub(crate) async fn receive(&mut self) -> Value {
        loop {
            let mut line = String::new();
            let reading = timeout(LIMIT, self.reader.read_line(&mut line)).await;
            reading.expect("in time").expect("read");
            let message: Value = serde_json::from_str(&line).expect("a message");
            let method = message["method"].as_str().unwrap_or_default();
            if !method.starts_with("notifications/") {
                return message;
            }
        }
    }

    /// Sends a request, and returns the answer, which is the next message.
    pub(crate) async fn request(&mut self, method: &str, parameters: Value) -> Value {
        let id = self.begin(method, parameters).await;
        let answer = self.receive().await;
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// Calls a tool, and returns its result.
    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let parameters = json!({"name": tool, "arguments": arguments});
        self.request("tools/call", parameters).await["result"].clone()
    }

    /// Calls a tool that has to fail, and returns the text of its failure.
    pub(crate) async fn failure(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments).await;
        assert_eq!(result["isError"], true, "{result}");
        let text = result["content"][0]["text"].as_str();
        text.unwrap_or_default().to_owned()
    }

    /// Closes the connection, and returns the end of the server.
    pub(crate) async fn close(mut self) -> Result<Option<()>, ServeError> {
        self.writer.shutdown().await.expect("closed");
        self.ended().await
    }

    /// Waits for the end of the server.
    pub(crate) async fn ended(self) -> Result<Option<()>, ServeError> {
        let ended = timeout(LIMIT, self.serving).await;
        ended.expect("in time").expect("no panic")
    }
}
