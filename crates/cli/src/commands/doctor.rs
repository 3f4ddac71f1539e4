use msb_sdk::{Finding, Severity};

use super::Context;
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

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let findings = context.msb.doctor().await?;
    match arguments.format {
        Format::Json => output::print_json(&findings)?,
        Format::Table => {
            for finding in &findings {
                output::print(&line(finding))?;
            }
        }
    }
    let is_broken = findings
        .iter()
        .any(|finding| finding.level == Severity::Broken);
    Ok(if is_broken {
        crate::failure::EXIT_MSB_FAILED
    } else {
        0
    })
}

fn line(finding: &Finding) -> String {
    let mark = match finding.level {
        Severity::Good => "ok     ",
        Severity::Broken => "BROKEN ",
        _ => "notice ",
    };
    let remedy = finding.remedy.as_ref();
    let remedy = remedy
        .map(|text| format!("\n         {text}"))
        .unwrap_or_default();
    format!("{mark} {}: {}{remedy}\n", finding.subject, finding.finding)
}
