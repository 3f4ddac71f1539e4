//! Shows the progress of a pull.

#![expect(clippy::print_stdout, reason = "an example prints what it shows")]

use msb_sdk::{Msb, PullEvent};

#[tokio::main]
async fn main() -> Result<(), msb_sdk::Error> {
    let name = std::env::args().nth(1).unwrap_or("alpine".to_owned());
    let msb = Msb::new()?;
    let pull = msb.images().pull(name).watch();
    let (mut total, mut received) = (0, 0);
    while let Some(event) = pull.next().await? {
        match event {
            PullEvent::Image { layers, .. } => {
                total = layers.iter().map(|layer| layer.size_bytes).sum();
            }
            PullEvent::LayerBytes { bytes, .. } => {
                received += bytes;
                println!("{received} of {total} bytes");
            }
            PullEvent::Retrying { what, reason, .. } => println!("{what}: {reason}"),
            _ => {}
        }
    }
    println!("{}", pull.image().await?.digest());
    Ok(())
}
