use msb_sdk::{SnapshotContent, VerifiedSnapshot};

use super::{joined, split};
use crate::commands::Context;
use msb_terminal::failure::Outcome;
use msb_terminal::output::{self, Format};

/// The exit code if a snapshot is damaged.
const EXIT_DAMAGED: u8 = 1;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Reads each snapshot completely and compares it with its digest, which a \
    background process records a second after the snapshot. A snapshot that has no digest yet gets \
    one now, so that later verifications find every changed byte.\n\n\
    Exit code: 0 when everything is intact or its digest was recorded; 1 when something is \
    damaged; 125 when msb failed.\n\n\
    Examples:\n  \
    msb snapshot verify work@clean\n  \
    msb snapshot verify work --format json"
)]
pub(super) struct Arguments {
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Sandboxes, by name or id, each with all its snapshots or with one
    #[arg(required = true, value_name = "SANDBOX[@NAME]")]
    snapshots: Vec<String>,
}

pub(super) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let mut verified = Vec::new();
    for word in &arguments.snapshots {
        let (sandbox, name) = split(word);
        let sandbox = context.handle(sandbox).await?;
        verified.extend(sandbox.snapshots().verify(name).await?);
    }
    match arguments.format {
        Format::Json => output::print_json(&verified)?,
        Format::Table => verified
            .iter()
            .map(line)
            .try_for_each(|line| output::print(&line))?,
    }
    let is_damaged = |one: &VerifiedSnapshot| one.content == SnapshotContent::Damaged;
    Ok(if verified.iter().any(is_damaged) {
        EXIT_DAMAGED
    } else {
        0
    })
}

fn line(verified: &VerifiedSnapshot) -> String {
    let state = match verified.content {
        SnapshotContent::Damaged => "DAMAGED ",
        SnapshotContent::Recorded => "recorded",
        _ => "intact  ",
    };
    let name = joined(&verified.sandbox, &verified.name);
    match &verified.problem {
        Some(problem) => format!("{state} {name}: {problem}\n"),
        None => format!("{state} {name}\n"),
    }
}
