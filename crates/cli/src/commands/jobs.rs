use msb_sdk::JobInfo;

use super::Context;
use msb_terminal::failure::Outcome;
use msb_terminal::output::{self, Format};
use msb_terminal::table::{Elastic, Table};

/// The columns that give way on a narrow terminal.
const ELASTIC: [Elastic; 1] = [Elastic::cut("COMMAND")];

// Arguments of `msb jobs`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Jobs are listed until the sandbox is started again; of the jobs that have ended, the newest \
    256 are kept.\n\n\
    Examples:\n  \
    msb jobs work\n  \
    job=$(msb exec -d work make); msb wait --job $job work; msb logs --job $job work\n  \
    msb kill --job $job work"
)]
pub(crate) struct Arguments {
    /// Show whole commands, even if the terminal is too narrow
    #[arg(long)]
    no_trunc: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Sandbox, by name or id
    sandbox: String,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let sandbox = context.handle(&arguments.sandbox).await?;
    let jobs = sandbox.jobs().list().await?;
    match arguments.format {
        Format::Json => output::print_json(&jobs)?,
        Format::Table if context.quiet => {
            let numbers = jobs.iter().map(|job| format!("{}\n", job.id));
            output::print(&numbers.collect::<String>())?;
        }
        Format::Table => print_table(arguments, &jobs)?,
    }
    Ok(0)
}

/// Returns the user that a job with the user setting `text` runs as.
fn user(text: &str) -> &str {
    if text.is_empty() { "root" } else { text }
}

fn print_table(arguments: &Arguments, jobs: &[JobInfo]) -> std::io::Result<()> {
    let now_s = durable_files::now_s();
    let rows: Vec<_> = jobs
        .iter()
        .map(|job| {
            let state = match &job.exit {
                None => "running".to_owned(),
                Some(exit) => format!("exited ({})", exit.code),
            };
            [
                job.id.to_string(),
                job.pid
                    .map_or_else(|| "-".to_owned(), |pid| pid.to_string()),
                user(&job.user).to_owned(),
                job.argv.join(" "),
                output::human_age(now_s.saturating_sub(job.started_s)),
                state,
            ]
        })
        .collect();
    let header = ["JOB", "PID", "USER", "COMMAND", "STARTED", "STATE"];
    let table = Table::new(&header, rows.iter().map(<[String; 6]>::as_slice));
    output::print(&if arguments.no_trunc {
        table.whole()
    } else {
        table.for_stdout(&ELASTIC)
    })
}
