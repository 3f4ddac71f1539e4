//! Makes a file in a sandbox, and reads it as a stream.

#![expect(clippy::print_stdout, reason = "an example prints what it shows")]

use msb_sdk::Msb;

const FILE_SIZE: usize = 10 * 1024 * 1024;

#[tokio::main]
async fn main() -> Result<(), msb_sdk::Error> {
    let image = std::env::args().nth(1).unwrap_or("alpine".to_owned());
    let msb = Msb::new()?;
    let run = msb.sandboxes().run(image);
    let sandbox = run.cpus(1).memory("512M").await?;
    let make = "dd if=/dev/urandom of=/tmp/data.bin bs=1M count=10";
    sandbox.shell(make).await?.check()?;
    let stream = sandbox.files().read_stream("/tmp/data.bin").await?;
    let (mut total, mut count) = (0, 0);
    while let Some(chunk) = stream.next().await? {
        count += 1;
        total += chunk.len();
        println!("chunk {count}: {} bytes", chunk.len());
    }
    println!("{total} bytes in all");
    assert_eq!(total, FILE_SIZE);
    sandbox.close().await
}
