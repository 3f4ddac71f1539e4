//! Runs a command in a new sandbox and prints its output.

#![expect(clippy::print_stdout, reason = "an example prints what it shows")]

use std::time::Duration;

use msb_sdk::Msb;

#[tokio::main]
async fn main() -> Result<(), msb_sdk::Error> {
    let image = std::env::args().nth(1).unwrap_or("alpine".to_owned());
    let msb = Msb::new()?;
    let sandbox = msb.sandboxes().run(image).await?;
    let output = sandbox
        .exec(["uname", "-a"])
        .timeout(Duration::from_secs(30))
        .await?;
    println!("exit code {}: {}", output.exit_code, output.text());
    sandbox.close().await
}
