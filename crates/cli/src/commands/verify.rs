use std::sync::Arc;

use msb_sdk::Verified;

use super::Context;
use msb_terminal::failure::Outcome;
use msb_terminal::output::{self, Format};
use msb_terminal::progress::Bars;

/// The exit code if something is damaged and was not repaired.
const EXIT_DAMAGED: u8 = 1;

// Arguments of `msb image verify`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Compares every file of the images with the checksum that was recorded when it was written; \
    without names, also every other file of the store, the wrapped kernels and the boot disk.\n\n\
    Exit code: 0 when everything is intact or was repaired; 1 when something is damaged; 125 when msb \
    failed.\n\n\
    Examples:\n  \
    msb image verify\n  \
    msb image verify --repair debian:12"
)]
pub(crate) struct Arguments {
    /// Images, by name or digest [default: all]
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Repair damaged files from copies, from layers, or from the source of the image
    #[arg(long)]
    repair: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let bars = Arc::new(Bars::new(context.quiet));
    let shown = Arc::clone(&bars);
    let verify = context.msb.images().verify(arguments.names.iter().cloned());
    let verified = verify
        .repair(arguments.repair)
        .watch(move |event| shown.show(&event))
        .await;
    bars.finish();
    let report = verified?;
    match arguments.format {
        Format::Json => output::print_json(&report)?,
        Format::Table => print(&report, arguments.repair)?,
    }
    Ok(if report.is_intact() { 0 } else { EXIT_DAMAGED })
}

fn print(report: &Verified, repair: bool) -> std::io::Result<()> {
    let mut text = String::new();
    for row in &report.damages {
        let state = if row.repaired { "repaired" } else { "DAMAGED " };
        text.push_str(&format!(
            "{state} {}: {}\n",
            row.path.display(),
            row.problem
        ));
    }
    for advice in &report.advice {
        text.push_str(&format!("to do    {advice}\n"));
    }
    let damaged = report.damages.iter().filter(|row| !row.repaired).count();
    text.push_str(&format!(
        "{} images, {} files, {}: {}\n",
        report.images.len(),
        report.files,
        output::human_size(report.bytes),
        match (report.damages.len(), damaged) {
            (0, _) => "all intact".to_owned(),
            (count, 0) => format!("{count} damaged, all repaired"),
            (count, left) if repair => format!("{count} damaged, {left} not repaired"),
            (count, _) => format!("{count} damaged; repair them with --repair"),
        }
    ));
    output::print(&text)
}
