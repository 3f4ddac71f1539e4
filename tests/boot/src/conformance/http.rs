//! HTTP: a request to a published port, and a server with one answer.

use std::time::Duration;

use anyhow::{Context as _, Result};
use msb_sdk::Sandbox;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep};

use super::expectation::{Field, Fields};
use super::steps::{StepError, word};

/// The time in which the server of a behaviour has to begin to listen.
const SERVER_TIMEOUT: Duration = Duration::from_secs(60);

/// Sends a request, and returns the body of the response.
pub(super) async fn get(sandbox: &Sandbox, step: &Value) -> Result<Fields, StepError> {
    let ports = sandbox.ports().await?;
    let port = ports
        .iter()
        .find(|port| u64::from(port.guest_port) == step["guest_port"]);
    let port = port.context("the port is not published")?.host_port;
    let end = Instant::now() + SERVER_TIMEOUT;
    loop {
        match request(port, word(step, "path")?).await {
            Ok(body) => return Ok(Fields::from([("data", Field::Data(body.into()))])),
            Err(error) if Instant::now() > end => return Err(error.into()),
            Err(_) => sleep(Duration::from_millis(100)).await,
        }
    }
}

async fn request(port: u16, path: &str) -> Result<Vec<u8>> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
    let request = format!("GET {path} HTTP/1.0\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut response = Vec::new();
    stream.read_to_end(&mut response).await?;
    let header = response.windows(4).position(|window| window == b"\r\n\r\n");
    let header = header.context("a response without a header")?;
    Ok(response.split_off(header + 4))
}

/// Sends the answer to each request, and closes the connection.
pub(super) async fn answer_each(listener: TcpListener, answer: Vec<u8>) {
    while let Ok((mut stream, _)) = listener.accept().await {
        // A client that goes away needs no answer.
        if stream.read(&mut [0; 1 << 16]).await.is_ok() {
            let _ = stream.write_all(&answer).await;
        }
    }
}
