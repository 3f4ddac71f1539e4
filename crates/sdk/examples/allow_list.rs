//! Lets a sandbox reach a package index, and nothing else.

#![expect(clippy::print_stdout, reason = "an example prints what it shows")]

use msb_sdk::{Msb, Network};

#[tokio::main]
async fn main() -> Result<(), msb_sdk::Error> {
    let image = std::env::args()
        .nth(1)
        .unwrap_or("python:3-slim".to_owned());
    let msb = Msb::new()?;
    let network = Network::listed()
        .allow("pypi.org:443")
        .allow("files.pythonhosted.org:443");
    let sandbox = msb.sandboxes().run(image).network(network).await?;
    let connect = |host: &str| {
        format!("import socket; socket.create_connection(('{host}', 443), 10); print('reached')")
    };
    for host in ["pypi.org", "example.com"] {
        let output = sandbox.exec(["python3", "-c", &connect(host)]).await?;
        println!("{host}: exit code {}", output.exit_code);
    }
    sandbox.close().await
}
