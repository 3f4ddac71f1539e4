//! Streams the output of a long command while it runs.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an example prints what it shows"
)]

use msb_sdk::{Event, Msb};

#[tokio::main]
async fn main() -> Result<(), msb_sdk::Error> {
    let image = std::env::args().nth(1).unwrap_or("alpine".to_owned());
    let msb = Msb::new()?;
    let sandbox = msb.sandboxes().run(image).await?;
    let script = "for part in 1 2 3; do echo building part $part; sleep 1; done";
    let process = sandbox.spawn(["sh", "-c", script]).await?;
    while let Some(event) = process.next().await? {
        match event {
            Event::Stdout(bytes) => print!("{}", String::from_utf8_lossy(&bytes)),
            Event::Stderr(bytes) => eprint!("{}", String::from_utf8_lossy(&bytes)),
            Event::Exit(exit) => println!("exit code {}", exit.code),
            _ => {}
        }
    }
    sandbox.close().await
}
