use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use image_store::{Damage, FileRole, Progress, Store, Verification, VerifyMode};
use msb_runtime::{MachineParts, machine_parts};
use oci_image::Digest;
use serde::Serialize;

use super::{Context, pull};
use crate::failure::Outcome;
use crate::output::{self, Format};
use crate::progress::Bars;

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

#[derive(Serialize)]
struct Report {
    images: BTreeSet<String>,
    files: usize,
    bytes: u64,
    damages: Vec<Row>,
    /// Steps that the user has to take.
    advice: Vec<String>,
}

#[derive(Serialize)]
struct Row {
    path: PathBuf,
    part: &'static str,
    problem: String,
    images: BTreeSet<String>,
    repaired: bool,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let store = context.store()?;
    let bars = Arc::new(Bars::new(context.quiet));
    let verified = look(&store, &arguments.names, VerifyMode::Digest, &bars).await;
    let found = verified?;
    let parts = if arguments.names.is_empty() {
        machine_parts(&context.home)?
    } else {
        MachineParts::default()
    };
    let mut advice = Vec::new();
    let mut left = found.damages.clone();
    let mut parts_left = parts.damaged.clone();
    if arguments.repair && !(left.is_empty() && parts_left.is_empty()) {
        let progress: Arc<dyn Progress> = bars.clone();
        let options = pull::options(context)?;
        let repaired = image_import::repair(&store, &found, &options, &progress).await;
        advice = repaired?.advice;
        // Intact files have a stamp since the first verification.
        left = look(&store, &arguments.names, VerifyMode::Stamp, &bars)
            .await?
            .damages;
        for path in parts_left.drain(..) {
            // The next start writes the file again.
            std::fs::remove_file(path)?;
        }
    }
    bars.finish();
    let report = report(&found, &parts, &left, &parts_left, advice);
    match arguments.format {
        Format::Json => output::print_json(&report)?,
        Format::Table => print(&report, arguments.repair)?,
    }
    let whole = report.damages.iter().all(|row| row.repaired);
    Ok(if whole { 0 } else { EXIT_DAMAGED })
}

/// Verifies on its own thread, because it reads the whole store.
async fn look(
    store: &Store,
    names: &[String],
    trust: VerifyMode,
    bars: &Arc<Bars>,
) -> Result<Verification, crate::failure::Failure> {
    let (store, names, bars) = (store.clone(), names.to_vec(), Arc::clone(bars));
    let looking = tokio::task::spawn_blocking(move || store.verify(&names, trust, &*bars));
    Ok(looking.await??)
}

fn report(
    found: &Verification,
    parts: &MachineParts,
    left: &[Damage],
    parts_left: &[PathBuf],
    advice: Vec<String>,
) -> Report {
    let texts = |digests: &BTreeSet<Digest>| digests.iter().map(Digest::to_string).collect();
    let rows = found.damages.iter().map(|damage| Row {
        path: damage.path.clone(),
        part: part_name(damage.role),
        problem: damage.problem.to_string(),
        images: texts(&damage.images),
        repaired: left.iter().all(|still| still.path != damage.path),
    });
    let machine_rows = parts.damaged.iter().map(|path| Row {
        path: path.clone(),
        part: "machine",
        problem: "its content is not what was written".to_owned(),
        images: BTreeSet::new(),
        repaired: !parts_left.contains(path),
    });
    Report {
        images: texts(&found.images),
        files: found.files + parts.files,
        bytes: found.bytes + parts.bytes,
        damages: rows.chain(machine_rows).collect(),
        advice,
    }
}

const fn part_name(part: FileRole) -> &'static str {
    match part {
        FileRole::Name => "name",
        FileRole::Image => "image",
        FileRole::Origin => "origin",
        FileRole::Layer => "layer",
        FileRole::LayerRecord => "layer-record",
        FileRole::Disk => "disk",
        FileRole::Unneeded => "unneeded",
    }
}

fn print(report: &Report, repair: bool) -> std::io::Result<()> {
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
