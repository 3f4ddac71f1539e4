use serde::Serialize;

use crate::failure::Outcome;
use crate::output::{self, Format};

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

#[derive(Serialize)]
struct Versions {
    msb: &'static str,
    store_format: u32,
    agent_protocol: u32,
    agent: String,
    build: &'static str,
    launch_format: u32,
    os: &'static str,
    architecture: &'static str,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let versions = Versions {
        msb: env!("CARGO_PKG_VERSION"),
        store_format: image_store::FORMAT_VERSION,
        agent_protocol: msb_agent_protocol::VERSION,
        agent: msb_runtime::agent_identity(),
        build: msb_runtime::BUILD,
        launch_format: msb_runtime::LAUNCH_FORMAT,
        os: std::env::consts::OS,
        architecture: std::env::consts::ARCH,
    };
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
