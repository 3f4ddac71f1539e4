use std::time::Duration;

use anyhow::anyhow;
use msb_sdk::{PruneOptions, Pruned};

use super::Context;
use msb_terminal::failure::Outcome;
use msb_terminal::output::{self, Format};

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

/// Parses `until=DURATION`.
pub(super) fn parse_filter(text: &str) -> Result<Duration, String> {
    let Some(("until", duration)) = text.split_once('=') else {
        return Err(format!(
            "'{text}' is not a filter: write one such as until=24h"
        ));
    };
    parse_duration(duration).map_err(|error| {
        format!("'{duration}' is not a duration ({error}): write one such as 90m, 24h or 10d")
    })
}

/// Parses numbers with a unit each, such as `1h30m`.
fn parse_duration(text: &str) -> Result<Duration, anyhow::Error> {
    let mut seconds = 0_u64;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit())
            .ok_or_else(|| anyhow!("it has no unit"))?;
        let number: u64 = rest[..digits].parse()?;
        let unit = rest[digits..].chars().next().unwrap_or_default();
        let unit_s = match unit {
            's' => 1,
            'm' => 60,
            'h' => 3_600,
            'd' => 86_400,
            _ => return Err(anyhow!("'{unit}' is not a unit")),
        };
        let more = number.checked_mul(unit_s);
        seconds = more
            .and_then(|more| seconds.checked_add(more))
            .ok_or_else(|| anyhow!("it is too long"))?;
        rest = &rest[digits + unit.len_utf8()..];
    }
    if text.is_empty() {
        return Err(anyhow!("it is empty"));
    }
    Ok(Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read() {
        let seconds = |text| parse_filter(text).map(|duration| duration.as_secs());
        assert_eq!(seconds("until=90m"), Ok(5_400));
        assert_eq!(seconds("until=1h30m5s"), Ok(5_405));
        assert_eq!(seconds("until=10d"), Ok(864_000));
        for text in [
            "",
            "until",
            "until=",
            "until=5",
            "until=h",
            "until=5é",
            "since=5h",
        ] {
            parse_filter(text).expect_err(text);
        }
        parse_filter("until=99999999999999999999d").expect_err("too long");
    }
}
