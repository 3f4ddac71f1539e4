//! Runs untrusted code without a network.

#![expect(clippy::print_stdout, reason = "an example prints what it shows")]

use msb_sdk::{Msb, Network};

#[tokio::main]
async fn main() -> Result<(), msb_sdk::Error> {
    let image = std::env::args().nth(1).unwrap_or("alpine".to_owned());
    let msb = Msb::new()?;
    let sandbox = msb.sandboxes().run(image).network(Network::none()).await?;
    let output = sandbox.shell("cat /proc/net/dev").await?.check()?;
    println!("{}", output.text());
    sandbox.close().await
}
