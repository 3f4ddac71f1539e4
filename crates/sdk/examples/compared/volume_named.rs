//! Writes to a volume in one sandbox, and reads it in another.

#![expect(clippy::print_stdout, reason = "an example prints what it shows")]

use msb_sdk::{Mount, Msb};

#[tokio::main]
async fn main() -> Result<(), msb_sdk::Error> {
    let image = std::env::args().nth(1).unwrap_or("alpine".to_owned());
    let msb = Msb::new()?;
    let volume = msb
        .volumes()
        .create("my-data", Some("100M".parse()?))
        .await?;
    let data = Mount::volume("my-data", "/data");
    let writer = msb
        .sandboxes()
        .run(image.as_str())
        .mount(data.clone())
        .await?;
    let write = "echo 'hello from sandbox A' > /data/message.txt";
    writer.shell(write).await?.check()?;
    writer.stop(None).await?;
    writer.close().await?;
    let run = msb.sandboxes().run(image.as_str());
    let reader = run.mount(data.read_only()).await?;
    let output = reader.shell("cat /data/message.txt").await?.check()?;
    println!("{}", output.text());
    reader.close().await?;
    volume.remove().await
}
