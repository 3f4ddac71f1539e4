//! Watches the statistics of a sandbox while it works.

#![expect(clippy::print_stdout, reason = "an example prints what it shows")]

use std::time::Duration;

use msb_sdk::Msb;

#[tokio::main]
async fn main() -> Result<(), msb_sdk::Error> {
    let image = std::env::args().nth(1).unwrap_or("alpine".to_owned());
    let msb = Msb::new()?;
    let run = msb.sandboxes().run(image);
    let sandbox = run.cpus(1).memory("512M").await?;
    let load = [
        "dd",
        "if=/dev/urandom",
        "of=/dev/null",
        "bs=1M",
        "count=100",
    ];
    sandbox.jobs().start(load).await?;
    let samples = sandbox.watch_stats(Duration::from_secs(1));
    for number in 0..5 {
        let Some(sample) = samples.next().await? else {
            break;
        };
        let guest = sample.guest.unwrap_or_default();
        println!(
            "[{number}] CPU: {:.1}%, memory: {} MB, disk: {:?}/{:?} bytes",
            sample.cpu_percent,
            sample.host.memory_bytes / 1024 / 1024,
            guest.disk_read_bytes,
            guest.disk_written_bytes,
        );
    }
    sandbox.close().await
}
