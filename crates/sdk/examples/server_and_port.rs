//! Starts a server in a sandbox, and connects to it through a port of this host.

#![expect(clippy::print_stdout, reason = "an example prints what it shows")]

use std::time::Duration;

use msb_sdk::{Host, Msb};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpStream, ToSocketAddrs};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let image = std::env::args()
        .nth(1)
        .unwrap_or("python:3-slim".to_owned());
    let msb = Msb::new()?;
    let sandbox = msb
        .sandboxes()
        .run(image)
        .publish(8000, Host::any())
        .await?;
    let server = sandbox
        .spawn(["python3", "-m", "http.server", "8000"])
        .await?;
    let port = sandbox.ports().await?[0];
    let address = (port.host_address, port.host_port);
    let mut answer = String::new();
    while answer.is_empty() {
        // The server needs a moment to listen. Until then the port breaks every connection.
        let _ = ask(address, &mut answer).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    println!("{}", answer.lines().next().unwrap_or_default());
    server.kill().await?;
    Ok(sandbox.close().await?)
}

async fn ask(address: impl ToSocketAddrs, answer: &mut String) -> std::io::Result<()> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(b"GET / HTTP/1.0\r\n\r\n").await?;
    stream.read_to_string(answer).await.map(drop)
}
