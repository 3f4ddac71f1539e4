//! Runs a server in a sandbox, and reaches it through a port of this host.

#![expect(clippy::print_stdout, reason = "an example prints what it shows")]

use msb_sdk::{Host, Msb};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let image = std::env::args().nth(1).unwrap_or("alpine".to_owned());
    let msb = Msb::new()?;
    let run = msb.sandboxes().run(image).memory("512M");
    let sandbox = run.publish(80, Host::any()).await?;
    let server =
        "mkdir /srv; echo 'Hello from msb!' > /srv/index.html; cd /srv; python3 -m http.server 80";
    let _server = sandbox.spawn(["sh", "-c", server]).await?;
    let port = sandbox.ports().await?[0];
    let address = (port.host_address, port.host_port);
    let mut answer = String::new();
    // A connection that nobody accepts in the sandbox is reset.
    while answer.is_empty() {
        let Ok(mut stream) = TcpStream::connect(address).await else {
            continue;
        };
        let request = b"GET /index.html HTTP/1.0\r\n\r\n";
        let _ = stream.write_all(request).await;
        let _ = stream.read_to_string(&mut answer).await;
    }
    println!("host: {}", answer.lines().last().unwrap_or_default());
    Ok(sandbox.close().await?)
}
