use anyhow::anyhow;
use msb_sdk::{Changes, Size};

use super::Context;
use super::resources::{parse_cpus, parse_memory};
use msb_terminal::failure::Outcome;
use msb_terminal::output;

// Arguments of `msb update`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The writable disk only grows; the guest's filesystem grows with it at the next start.\n\n\
    Examples:\n  msb update --upper-size 20G --memory 2G work; msb restart work"
)]
pub(crate) struct Arguments {
    /// Size of the writable disk; it cannot shrink
    #[arg(long, value_name = "SIZE", value_parser = output::parse_size)]
    upper_size: Option<u64>,
    /// Virtual processors
    #[arg(long, value_name = "COUNT", value_parser = parse_cpus)]
    cpus: Option<u8>,
    /// Guest memory
    #[arg(short, long, value_name = "SIZE", value_parser = parse_memory)]
    memory: Option<u32>,
    /// Sandboxes, by name or id
    #[arg(required = true, value_name = "SANDBOX")]
    sandboxes: Vec<String>,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let mut changes = Changes::default();
    changes.cpus = arguments.cpus;
    changes.memory = arguments.memory.map(|mib| Size::new(u64::from(mib) << 20));
    changes.disk = arguments.upper_size.map(Size::new);
    if changes == Changes::default() {
        return Err(anyhow!("nothing to change: give --upper-size, --cpus or --memory").into());
    }
    context
        .each(&arguments.sandboxes, async |sandbox| {
            sandbox.update(changes).await?;
            if !context.quiet && sandbox.inspect().await?.state.is_up() {
                let name = sandbox.name();
                output::notice(&format!(
                    "sandbox {name} is still running with the old settings; apply the new ones with \
                     msb restart {name}"
                ));
            }
            Ok(())
        })
        .await
}
