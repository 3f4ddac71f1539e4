//! Keeps a cache in a volume that sandboxes share one after the other.

#![expect(clippy::print_stdout, reason = "an example prints what it shows")]

use msb_sdk::{Mount, Msb};

#[tokio::main]
async fn main() -> Result<(), msb_sdk::Error> {
    let image = std::env::args().nth(1).unwrap_or("alpine".to_owned());
    let msb = Msb::new()?;
    for _ in 0..2 {
        let cache = Mount::volume("example-cache", "/cache");
        let sandbox = msb.sandboxes().run(image.as_str()).mount(cache).await?;
        let script = "echo built >> /cache/builds; wc -l < /cache/builds";
        let output = sandbox.shell(script).await?.check()?;
        println!("builds so far: {}", output.text());
        sandbox.close().await?;
    }
    msb.volumes().remove("example-cache").await
}
