use std::io;

use msb_sdk::{Usage, UsageGroup};

use super::Context;
use msb_terminal::failure::Outcome;
use msb_terminal::output::{self, Format};
use msb_terminal::table;

// Arguments of `msb df`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "RECLAIMABLE is the space that msb prune --all, msb rm of stopped sandboxes and \
    msb volume prune --force would free.\n\n\
    Examples:\n  \
    msb df\n  \
    msb df --verbose            one row for each image\n  \
    msb df --format json | jq .reclaimable_bytes"
)]
pub(crate) struct Arguments {
    /// Show each image
    #[arg(short, long)]
    verbose: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let usage = context.msb.usage().await?;
    match arguments.format {
        Format::Json => output::print_json(&usage)?,
        Format::Table => print(&usage, arguments.verbose)?,
    }
    Ok(0)
}

fn print(report: &Usage, verbose: bool) -> io::Result<()> {
    let row = |name: &str, group: &UsageGroup| {
        [
            name.to_owned(),
            group.count.to_string(),
            group.active.to_string(),
            output::human_size(group.size_bytes),
            output::human_size(group.reclaimable_bytes),
        ]
    };
    let rows = [
        row("Images", &report.images),
        row("Left-overs", &report.left_overs),
        row("Unfinished", &report.unfinished),
        row("Older stores", &report.older_stores),
        row("Sandboxes", &report.sandboxes),
        row("Staged directories", &report.staged_directories),
        row("Volumes", &report.volumes),
        row("Kernels and boot disks", &report.machine),
    ];
    table::print(["TYPE", "TOTAL", "ACTIVE", "SIZE", "RECLAIMABLE"], &rows)?;
    if !verbose {
        return Ok(());
    }
    output::print(&format!(
        "\nPacked layers take {}, and their cache files {}.\n\n",
        output::human_size(report.packed_bytes),
        output::human_size(report.cache_bytes),
    ))?;
    let now_s = durable_files::now_s();
    let rows: Vec<_> = report
        .each_image
        .iter()
        .map(|image| {
            [
                image
                    .references
                    .first()
                    .cloned()
                    .unwrap_or_else(|| "<none>".to_owned()),
                image
                    .digest
                    .chars()
                    .skip("sha256:".len())
                    .take(12)
                    .collect(),
                output::human_age(now_s.saturating_sub(image.used_s)),
                output::human_size(image.shared_bytes),
                output::human_size(image.unique_bytes),
                if image.in_use { "yes" } else { "no" }.to_owned(),
            ]
        })
        .collect();
    table::print(
        ["IMAGE", "DIGEST", "LAST USED", "SHARED", "UNIQUE", "IN USE"],
        &rows,
    )
}
