use msb_sdk::{Finding, Fix, Severity};

use super::Context;
use msb_terminal::failure::Outcome;
use msb_terminal::output::{self, Format};

// Arguments of `msb doctor`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit code: 0 when sandboxes can run here, 125 when they cannot.\n\n\
    msb doctor --fix never uses root: it prints the commands that need root.\n\n\
    Examples:\n  \
    msb doctor\n  \
    msb doctor --fix\n  \
    msb doctor --format json | jq -r '.[] | select(.level != \"good\") | .subject'"
)]
pub(crate) struct Arguments {
    /// Fix problems that do not need root, and print the commands for the rest
    #[arg(long)]
    fix: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    if arguments.fix {
        let fixes = context.msb.fix().await?;
        match arguments.format {
            Format::Json => output::print_json(&fixes)?,
            Format::Table => output::print(&steps(&fixes))?,
        }
    }
    // What was repaired is no longer found.
    let findings = context.msb.doctor().await?;
    match arguments.format {
        _ if arguments.fix => {}
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
        msb_terminal::failure::EXIT_MSB_FAILED
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

/// Returns the text of all steps, each with its commands on lines of their own.
fn steps(fixes: &[Fix]) -> String {
    if fixes.is_empty() {
        return "nothing to fix: sandboxes can run on this host\n".to_owned();
    }
    let step = |fix: &Fix| {
        let mark = match (fix.is_done, fix.is_required) {
            (true, _) => "fixed   ",
            (false, true) => "TO DO   ",
            (false, false) => "advice  ",
        };
        let commands: String = fix
            .commands
            .iter()
            .map(|command| format!("          {command}\n"))
            .collect();
        format!("{mark}{}: {}\n{commands}", fix.subject, fix.action)
    };
    fixes.iter().map(step).collect()
}
