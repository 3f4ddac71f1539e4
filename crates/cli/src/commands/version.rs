use super::Context;
use msb_terminal::failure::Outcome;
use msb_terminal::output::{self, Format};

// Arguments of `msb version`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    msb version\n  \
    msb version --format json | jq -r .msb")]
pub(crate) struct Arguments {
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let versions = context.msb.version();
    match arguments.format {
        Format::Json => output::print_json(&versions)?,
        Format::Table => output::print(&format!(
            "msb {}\nstore format {}\nagent protocol {}\nagent {}\nbuild {}\n\
            launch format {}\nhost {}/{}\n",
            versions.msb,
            versions.store_format,
            versions.agent_protocol,
            versions.agent,
            versions.build,
            versions.launch_format,
            versions.os,
            versions.architecture,
        ))?,
    }
    Ok(0)
}
