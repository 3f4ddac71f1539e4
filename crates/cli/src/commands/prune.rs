use std::time::Duration;

use msb_sdk::{PruneOptions, Pruned};

use super::Context;
use msb_terminal::failure::Outcome;
use msb_terminal::output::{self, Format};
use msb_terminal::until_filter::parse_filter;

// Arguments of `msb prune`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Leftovers of killed processes, and stores of earlier formats, are always \
    removed. Images that a sandbox uses, running or stopped, are never removed; msb container \
    prune removes stopped sandboxes, and msb system prune removes both.\n\n\
    Examples:\n  \
    msb prune                             images without a name\n  \
    msb prune --all --filter until=240h   images that have not been used for ten days\n  \
    msb prune --all --dry-run             only show what would be removed"
)]
pub(crate) struct Arguments {
    /// Remove every image that no sandbox uses, not only those without a name
    #[arg(short, long)]
    all: bool,
    /// Show what would be removed, without removing it
    #[arg(long)]
    dry_run: bool,
    /// until=DURATION: only images that have been unused for longer, such as 90m, 24h or 10d
    #[arg(long, value_name = "FILTER", value_parser = parse_filter)]
    filter: Option<Duration>,
    /// Ignored (docker compatibility): msb prune does not ask for confirmation
    #[arg(short, long)]
    force: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl Arguments {
    /// Returns the arguments that remove every unused image, or only those without a name.
    pub(super) fn with_all(all: bool) -> Self {
        Self {
            all,
            dry_run: false,
            filter: None,
            force: true,
            format: Format::Table,
        }
    }
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let mut options = PruneOptions::default();
    options.all = arguments.all;
    let unused_for = arguments.filter.map(|unused_for| unused_for.as_millis());
    options.unused_for_ms = unused_for.map(|ms| u64::try_from(ms).unwrap_or(u64::MAX));
    options.dry_run = arguments.dry_run;
    let pruned = context.msb.images().prune_with(options).await?;
    match arguments.format {
        Format::Json => output::print_json(&pruned)?,
        Format::Table => print(&pruned)?,
    }
    Ok(0)
}

fn print(report: &Pruned) -> std::io::Result<()> {
    let mut text = String::new();
    for image in &report.images {
        for name in &image.references {
            text.push_str(&format!("untagged: {name}\n"));
        }
        text.push_str(&format!("deleted: {}\n", image.digest));
    }
    let what = if report.dry_run {
        "would be reclaimed"
    } else {
        "reclaimed"
    };
    if report.older_stores > 0 {
        text.push_str(&format!("{} older stores\n", report.older_stores));
    }
    if report.staged_directories > 0 {
        text.push_str(&format!(
            "{} staged directories\n",
            report.staged_directories
        ));
    }
    text.push_str(&format!(
        "{} images, {} leftovers, {} {what}\n",
        report.images.len(),
        report.left_overs,
        output::human_size(report.freed_bytes)
    ));
    output::print(&text)
}
