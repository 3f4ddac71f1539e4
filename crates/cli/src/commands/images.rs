use image_store::ImageSummary;
use serde::Serialize;

use super::Context;
use crate::failure::Outcome;
use crate::output::{self, Format};

// Arguments of `msb images`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    msb images\n  \
    msb images --format json | jq -r '.[].reference'")]
pub(crate) struct Arguments {
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Print only digests
    #[arg(long)]
    digests_only: bool,
}

#[derive(Serialize)]
struct Row {
    reference: Option<String>,
    digest: String,
    platform: String,
    layer_count: usize,
    size_bytes: u64,
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let rows: Vec<Row> = context.store()?.images()?.into_iter().map(row).collect();
    if arguments.digests_only {
        let lines: Vec<String> = rows.iter().map(|row| format!("{}\n", row.digest)).collect();
        output::print(&lines.concat())?;
        return Ok(0);
    }
    match arguments.format {
        Format::Json => output::print_json(&rows)?,
        Format::Table => print_table(&rows)?,
    }
    Ok(0)
}

fn row(image: ImageSummary) -> Row {
    Row {
        reference: image.reference,
        digest: image.digest.to_string(),
        platform: image.platform.to_string(),
        layer_count: image.layer_count,
        size_bytes: image.size_bytes,
    }
}

fn print_table(rows: &[Row]) -> std::io::Result<()> {
    let cells: Vec<_> = rows
        .iter()
        .map(|row| {
            [
                row.reference.clone().unwrap_or_else(|| "<none>".to_owned()),
                row.digest.chars().skip("sha256:".len()).take(12).collect(),
                row.platform.clone(),
                row.layer_count.to_string(),
                output::human_size(row.size_bytes),
            ]
        })
        .collect();
    output::print_table(["IMAGE", "DIGEST", "PLATFORM", "LAYERS", "SIZE"], &cells)
}
