//! Reads the output of a main command, and the console of its machine, after the end.

#![expect(clippy::print_stdout, reason = "an example prints what it shows")]

use msb_sdk::{Force, LogSource, Msb};

const SCRIPT: &str = "echo line one; echo line two; echo error line 1>&2; echo line three";

#[tokio::main]
async fn main() -> Result<(), msb_sdk::Error> {
    let image = std::env::args().nth(1).unwrap_or("alpine".to_owned());
    let msb = Msb::new()?;
    let create = msb.sandboxes().create(image).memory("512M");
    let sandbox = create.command(["sh", "-c", SCRIPT]).await?;
    sandbox.start().await?;
    sandbox.wait().await?;
    let logs = sandbox.logs().await?;
    while let Some(entry) = logs.next().await? {
        println!(
            "[{:?}] {:?}: {}",
            entry.time_ns,
            entry.stream,
            entry.text().trim_end()
        );
    }
    let console = sandbox.logs().source(LogSource::Console).await?;
    let mut count = 0;
    while console.next().await?.is_some() {
        count += 1;
    }
    println!("console: {count} entries");
    let last = sandbox.logs().tail(1).await?;
    while let Some(entry) = last.next().await? {
        println!("last: {}", entry.text().trim_end());
    }
    sandbox.remove(Force::No).await
}
