//! Runs several sandboxes at once.

#![expect(clippy::print_stdout, reason = "an example prints what it shows")]

use msb_sdk::Msb;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let image = std::env::args().nth(1).unwrap_or("alpine".to_owned());
    let msb = Msb::new()?;
    let mut tasks = Vec::new();
    for number in 0..3_u32 {
        let (msb, image) = (msb.clone(), image.clone());
        tasks.push(tokio::spawn(async move {
            let sandbox = msb.sandboxes().run(image).memory("256M").await?;
            let command = format!("echo $(({number} * {number}))");
            let output = sandbox.shell(command).await?.check()?;
            sandbox.close().await?;
            Ok::<_, msb_sdk::Error>(output)
        }));
    }
    for (number, task) in tasks.into_iter().enumerate() {
        print!("{number} squared is {}", task.await??.text());
    }
    Ok(())
}
