//! Runs the same request under three network policies.

#![expect(clippy::print_stdout, reason = "an example prints what it shows")]

use msb_sdk::{Msb, Network};

const REQUEST: &str =
    "import urllib.request; urllib.request.urlopen('http://example.com', timeout=5)";

#[tokio::main]
async fn main() -> Result<(), msb_sdk::Error> {
    let policies = [
        ("outbound", Network::outbound()),
        (
            "outbound and a private range",
            Network::outbound().allow("10.0.5.0/24:443"),
        ),
        ("none", Network::none()),
    ];
    let image = std::env::args().nth(1).unwrap_or("alpine".to_owned());
    let msb = Msb::new()?;
    for (name, network) in policies {
        let run = msb.sandboxes().run(image.as_str()).memory("512M");
        let sandbox = run.network(network).await?;
        let output = sandbox.exec(["python3", "-c", REQUEST]).await?;
        println!(
            "{name}: {}",
            if output.exit_code == 0 { "OK" } else { "FAIL" }
        );
        sandbox.close().await?;
    }
    Ok(())
}
