//! Writes files into a sandbox, and copies results out.

#![expect(clippy::print_stdout, reason = "an example prints what it shows")]

use msb_sdk::{Msb, WriteOptions};

#[tokio::main]
async fn main() -> Result<(), msb_sdk::Error> {
    let image = std::env::args().nth(1).unwrap_or("alpine".to_owned());
    let msb = Msb::new()?;
    let sandbox = msb.sandboxes().run(image).await?;
    let files = sandbox.files();
    let script = WriteOptions::default().mode(0o755).parents();
    let text = "#!/bin/sh\nmkdir /work/out\nwc -c < /etc/passwd > /work/out/count\n";
    files.write_with("/work/count.sh", text, script).await?;
    sandbox.exec(["/work/count.sh"]).await?.check()?;
    let count = files.read("/work/out/count").await?;
    println!("{}", String::from_utf8_lossy(&count));
    let out = std::env::temp_dir().join("msb-example-out");
    files.download("/work/out", &out).await?;
    println!("copied to {}", out.display());
    sandbox.close().await
}
