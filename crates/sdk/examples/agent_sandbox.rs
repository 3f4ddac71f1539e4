//! Keeps one sandbox for many commands of an agent, also after this program.

#![expect(clippy::print_stdout, reason = "an example prints what it shows")]

use msb_sdk::{ErrorKind, Msb, Sandbox};

const NAME: &str = "agent";

#[tokio::main]
async fn main() -> Result<(), msb_sdk::Error> {
    let image = std::env::args().nth(1).unwrap_or("alpine".to_owned());
    let msb = Msb::new()?;
    let sandbox = found_or_started(&msb, &image).await?;
    sandbox.shell("date >> /var/log/visits").await?.check()?;
    let visits = sandbox.exec(["cat", "/var/log/visits"]).await?;
    println!("{}", visits.text());
    Ok(())
}

/// Returns the agent's sandbox, which is created the first time.
async fn found_or_started(msb: &Msb, image: &str) -> Result<Sandbox, msb_sdk::Error> {
    let sandbox = match msb.sandboxes().get(NAME).await {
        Err(error) if error.kind() == ErrorKind::SandboxNotFound => {
            msb.sandboxes().create(image).name(NAME).await?
        }
        found => found?,
    };
    match sandbox.start().await {
        Err(error) if error.kind() == ErrorKind::SandboxRunning => {}
        started => drop(started?),
    }
    Ok(sandbox)
}
