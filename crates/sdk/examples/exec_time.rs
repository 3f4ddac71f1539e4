//! Measures the time of a command in a running sandbox: by the SDK, and by the protocol's client
//! below it, which the command line uses too. Prints the medians in µs, as JSON.
//!
//! `sdk/bench/overhead.py` runs it beside the same programs in Python and TypeScript.

#![expect(clippy::print_stdout, reason = "an example prints what it shows")]

use std::error::Error;
use std::time::Instant;

use msb_agent_protocol::v1::Exec;
use msb_agent_protocol::{Client, Output};
use msb_runtime::{Home, Sandbox as StoredSandbox};
use msb_sdk::{Msb, Sandbox};

/// The command.
const PROGRAM: &str = "/bin/true";
/// The calls before the first that counts.
const WARM_UP: usize = 50;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().ok_or("a sandbox's name is missing")?;
    let count: usize = arguments.next().unwrap_or("1000".to_owned()).parse()?;
    let msb = Msb::new()?;
    let sandbox = msb.sandboxes().get(name.as_str()).await?;
    let stored = StoredSandbox::find(&Home::new(msb.home()), &name)?;
    let stored = stored.ok_or("the sandbox is gone")?;
    let mut client = stored.connect().await?;
    let (mut by_client, mut by_sdk) = (Vec::new(), Vec::new());
    for _ in 0..WARM_UP + count {
        let begun = Instant::now();
        through_client(&mut client).await?;
        by_client.push(begun.elapsed().as_micros());
        let begun = Instant::now();
        through_sdk(&sandbox).await?;
        by_sdk.push(begun.elapsed().as_micros());
    }
    let [by_client, by_sdk] = [by_client, by_sdk].map(|times| median(times.split_at(WARM_UP).1));
    println!("{{\"client\": {by_client}, \"rust\": {by_sdk}}}");
    Ok(())
}

async fn through_client(client: &mut Client) -> Result<(), Box<dyn Error>> {
    let exec = Exec {
        argv: vec![PROGRAM.into()],
        ..Exec::default()
    };
    let mut command = client.exec(exec).await?;
    command.inputs.end().await;
    while let Some(output) = command.outputs.next().await? {
        if matches!(output, Output::Exited(_)) {
            break;
        }
    }
    Ok(())
}

async fn through_sdk(sandbox: &Sandbox) -> Result<(), Box<dyn Error>> {
    sandbox.exec([PROGRAM]).await?.check()?;
    Ok(())
}

fn median(times: &[u128]) -> u128 {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    sorted[sorted.len() / 2]
}
