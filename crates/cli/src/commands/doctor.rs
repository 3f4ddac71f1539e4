use msb_runtime::{Health, Level, diagnose};

use super::{Context, machine};
use crate::failure::Outcome;
use crate::output::{self, Format};

// Arguments of `msb doctor`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit code: 0 when sandboxes can run here, 125 when they cannot.\n\n\
    Examples:\n  \
    msb doctor\n  \
    msb doctor --format json | jq -r '.[] | select(.level != \"good\") | .subject'"
)]
pub(crate) struct Arguments {
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let msb_kernel = std::env::var_os("MSB_KERNEL");
    let backends = machine::Backends::from_environment();
    let mut checks = diagnose(&context.home, &backends.all(), msb_kernel.as_deref());
    checks.push(credentials());
    match arguments.format {
        Format::Json => output::print_json(&checks)?,
        Format::Table => {
            for check in &checks {
                output::print(&line(check))?;
            }
        }
    }
    let broken = checks.iter().any(|check| check.level == Level::Broken);
    Ok(if broken {
        crate::failure::EXIT_MSB_FAILED
    } else {
        0
    })
}

fn credentials() -> Health {
    const SUBJECT: &str = "registry credentials";
    match oci_registry::configured_registries() {
        Ok(registries) if registries.is_empty() => {
            Health::good(SUBJECT, "none configured; public images only".to_owned())
        }
        Ok(registries) => Health::good(SUBJECT, format!("for {}", registries.join(", "))),
        Err(error) => Health::bad(
            SUBJECT,
            Level::Degraded,
            error.to_string(),
            "repair or remove the docker config file, or set DOCKER_CONFIG to another directory"
                .to_owned(),
        ),
    }
}

fn line(check: &Health) -> String {
    let mark = match check.level {
        Level::Good => "ok     ",
        Level::Degraded => "notice ",
        Level::Broken => "BROKEN ",
    };
    let remedy = check
        .remedy
        .as_ref()
        .map(|text| format!("\n         {text}"))
        .unwrap_or_default();
    format!("{mark} {}: {}{remedy}\n", check.subject, check.finding)
}
