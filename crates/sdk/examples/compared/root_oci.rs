//! Runs commands in a sandbox of an image.

#![expect(clippy::print_stdout, reason = "an example prints what it shows")]

use msb_sdk::Msb;

#[tokio::main]
async fn main() -> Result<(), msb_sdk::Error> {
    let image = std::env::args().nth(1).unwrap_or("alpine".to_owned());
    let msb = Msb::new()?;
    let run = msb.sandboxes().run(image);
    let sandbox = run.cpus(1).memory("512M").await?;
    let output = sandbox.shell("echo 'Hello from msb!'").await?;
    println!("stdout: {}", output.text());
    println!("stderr: {}", output.error_text());
    println!("exit code: {}", output.exit_code);
    let output = sandbox.shell("uname -a").await?;
    println!("uname: {}", output.text());
    let output = sandbox.shell("cat /etc/os-release").await?;
    println!("os-release:\n{}", output.text());
    sandbox.close().await
}
