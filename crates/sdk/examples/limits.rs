//! Bounds what a sandbox and its commands may use.

#![expect(clippy::print_stdout, reason = "an example prints what it shows")]

use std::num::NonZeroU32;
use std::time::Duration;

use msb_sdk::{ErrorKind, Msb};

#[tokio::main]
async fn main() -> Result<(), msb_sdk::Error> {
    let image = std::env::args().nth(1).unwrap_or("alpine".to_owned());
    let msb = Msb::new()?;
    let sandbox = msb
        .sandboxes()
        .run(image)
        .cpus(1)
        .memory("256M")
        .disk("1G")
        .guest(|guest| guest.pids = NonZeroU32::new(200))
        .max_duration(Duration::from_secs(600))
        .await?;
    let slow = sandbox
        .shell("echo so far; sleep 60")
        .timeout(Duration::from_secs(5))
        .await;
    if let Err(error) = slow
        && error.kind() == ErrorKind::CommandTimeout
    {
        let printed = String::from_utf8_lossy(error.stdout());
        println!("{error}; it had printed: {printed}");
    }
    sandbox.close().await
}
