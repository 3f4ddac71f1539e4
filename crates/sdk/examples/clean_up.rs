//! Removes what crashed programs have left: stopped sandboxes with a label, images, volumes.

#![expect(clippy::print_stdout, reason = "an example prints what it shows")]

use msb_sdk::{Force, Msb, SandboxFilter, SandboxState};

#[tokio::main]
async fn main() -> Result<(), msb_sdk::Error> {
    let msb = Msb::new()?;
    // Owned sandboxes whose owner has died are removed by this listing.
    let stopped = SandboxFilter::all()
        .state(SandboxState::Stopped)
        .label("owner", "example");
    for info in msb.sandboxes().list(stopped).await? {
        let sandbox = msb.sandboxes().get(info.id).await?;
        sandbox.remove(Force::Yes).await?;
        println!("removed {}", info.name);
    }
    let pruned = msb.images().prune().await?;
    println!("{} bytes of images are free", pruned.freed_bytes);
    Ok(())
}
