use crate::limits;
use msb_terminal::failure::Outcome;
use msb_terminal::output;

// Arguments of `msb limits`, which `msb help limits` shows.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "msb pull|load|run|create --limit NAME=VALUE ...",
    after_help = limits::table()
)]
pub(crate) struct Arguments {}

pub(crate) fn run() -> Outcome {
    output::print(&limits::table())?;
    Ok(0)
}
