use msb_sdk::HistoryStep;

use super::Context;
use msb_terminal::failure::{Failure, Outcome};
use msb_terminal::output::{self, Format};
use msb_terminal::table;

/// The number of a digest's hexadecimal digits that a table shows.
const DIGITS_SHOWN: usize = 12;
/// The number of a command's characters that a table shows.
const COMMAND_SHOWN: usize = 45;

// Arguments of `msb image history`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The steps come from the image's config, the last one first. A step's size is that of its layer in \
    the store, which other images may share. -q prints only the diff IDs of the layers.\n\n\
    Examples:\n  \
    msb image history python:3-slim\n  \
    msb image history --no-trunc python:3-slim\n  \
    msb image history --format json python:3-slim | jq -r '.[].created_by'"
)]
pub(crate) struct Arguments {
    /// Show whole commands and digests
    #[arg(long)]
    no_trunc: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Ignored (docker compatibility): sizes and times are always human-readable
    #[arg(short = 'H', long, hide = true, num_args = 0..=1, require_equals = true, value_name = "BOOL")]
    human: Option<Option<bool>>,
    /// Image, by name, digest or the beginning of a digest
    image: String,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let steps = context.msb.images().history(&arguments.image).await?;
    print(context, &steps, arguments.format, arguments.no_trunc)
}

/// Prints the steps of an image.
pub(super) fn print(
    context: &Context,
    steps: &[HistoryStep],
    format: Format,
    no_trunc: bool,
) -> Outcome {
    match format {
        Format::Json => output::print_json(&steps)?,
        Format::Table if context.quiet => print_layers(steps)?,
        Format::Table => print_table(no_trunc, steps)?,
    }
    Ok(0)
}

fn print_layers(steps: &[HistoryStep]) -> Result<(), Failure> {
    let layers = steps.iter().filter_map(|step| step.diff_id.as_ref());
    let lines: Vec<String> = layers.map(|layer| format!("{layer}\n")).collect();
    Ok(output::print(&lines.concat())?)
}

fn print_table(no_trunc: bool, steps: &[HistoryStep]) -> Result<(), Failure> {
    let rows: Vec<_> = steps.iter().map(|step| row(no_trunc, step)).collect();
    let header = ["LAYER", "CREATED", "CREATED BY", "SIZE", "COMMENT"];
    Ok(table::print(header, &rows)?)
}

fn row(no_trunc: bool, step: &HistoryStep) -> [String; 5] {
    let layer = match &step.diff_id {
        None => "-".to_owned(),
        Some(diff_id) if no_trunc => diff_id.clone(),
        Some(diff_id) => {
            let digits = diff_id.chars().skip("sha256:".len());
            digits.take(DIGITS_SHOWN).collect()
        }
    };
    let command = msb_terminal::failure::printable(step.created_by.as_deref().unwrap_or("-"));
    [
        layer,
        age(step).unwrap_or_else(|| "-".to_owned()),
        if no_trunc {
            command
        } else {
            output::cut(&command, COMMAND_SHOWN)
        },
        output::human_size(step.size_bytes),
        msb_terminal::failure::printable(step.comment.as_deref().unwrap_or("-")),
    ]
}

/// Returns the time since a step; `None` if the config has no valid time.
fn age(step: &HistoryStep) -> Option<String> {
    let time: jiff::Timestamp = step.created.as_ref()?.parse().ok()?;
    let created_s = u64::try_from(time.as_second()).ok()?;
    let age_s = durable_files::now_s().saturating_sub(created_s);
    Some(output::human_age(age_s))
}
