use anyhow::anyhow;
use msb_sdk::SnapshotInfo;
use serde_json::{Value, json};

use super::Context;
use crate::failure::{Failure, Failures, Outcome};
use crate::output;
use crate::table;
use crate::template::{ListingFormat, fields};

/// The separator of a sandbox and its snapshot; neither name can have it.
const SEPARATOR: char = '@';

// Arguments of `msb snapshot`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A snapshot keeps the files of a stopped sandbox as they are. It copies nothing, and takes the space of \
    what changes later. Volumes and host directories are not part of it. msb rollback goes back to one. The snapshots \
    of a sandbox are removed with it.\n\n\
    A sandbox that has or had snapshots runs under QEMU only.\n\n\
    Examples:\n  \
    msb snapshot create -m 'before the upgrade' work@clean\n  \
    msb snapshot ls work; msb rollback work@clean"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Take a snapshot of a stopped sandbox
    Create(CreateArguments),
    /// List the snapshots of sandboxes
    #[command(visible_alias = "list")]
    Ls(ListArguments),
    /// Print everything about snapshots, as JSON
    Inspect(InspectArguments),
    /// Remove snapshots of stopped sandboxes
    #[command(alias = "remove")]
    Rm(RemoveArguments),
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Without a name the snapshot gets its number. Its name is printed.\n\n\
    Examples:\n  \
    msb snapshot create work\n  \
    msb snapshot create -m 'before the upgrade' work@clean"
)]
struct CreateArguments {
    /// Note on the snapshot
    #[arg(short, long, value_name = "MESSAGE")]
    message: Option<String>,
    /// Stopped sandbox, by name or id, and the name of the snapshot
    #[arg(value_name = "SANDBOX[@NAME]")]
    snapshot: String,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    msb snapshot ls\n  \
    msb snapshot ls work --format json | jq -r '.[].name'")]
struct ListArguments {
    /// Output format: table, json, or a template as '{{.Name}}'
    #[arg(long, default_value = "table")]
    format: ListingFormat,
    /// Sandboxes, by name or id [default: all]
    #[arg(value_name = "SANDBOX")]
    sandboxes: Vec<String>,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  msb snapshot inspect work@clean")]
struct InspectArguments {
    /// Output format: json, table, or a template as '{{.Name}}'
    #[arg(short, long, default_value = "json")]
    format: ListingFormat,
    /// Snapshots
    #[arg(required = true, value_name = "SANDBOX@NAME")]
    snapshots: Vec<String>,
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "The sandbox keeps its files. What neither they nor another snapshot need is given back to the host.\n\n\
    Examples:\n  msb snapshot rm work@clean work@2"
)]
struct RemoveArguments {
    /// Snapshots
    #[arg(required = true, value_name = "SANDBOX@NAME")]
    snapshots: Vec<String>,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    match &arguments.command {
        Command::Create(arguments) => create(context, arguments).await,
        Command::Ls(arguments) => list(context, arguments).await,
        Command::Inspect(arguments) => inspect(context, arguments).await,
        Command::Rm(arguments) => remove(context, arguments).await,
    }
}

/// Splits `SANDBOX[@NAME]`.
pub(super) fn split(word: &str) -> (&str, Option<&str>) {
    match word.split_once(SEPARATOR) {
        Some((sandbox, name)) => (sandbox, Some(name)),
        None => (word, None),
    }
}

/// Splits `SANDBOX@NAME`.
fn split_named(word: &str) -> Result<(&str, &str), Failure> {
    let (sandbox, name) = split(word);
    let missing = || anyhow!("'{word}' names no snapshot: write SANDBOX@NAME");
    Ok((sandbox, name.ok_or_else(missing)?))
}

async fn create(context: &Context, arguments: &CreateArguments) -> Outcome {
    let (sandbox, name) = split(&arguments.snapshot);
    let sandbox = context.handle(sandbox).await?;
    let message = arguments.message.as_deref();
    let made = sandbox.create_snapshot(name, message).await?;
    output::print(&format!("{}\n", full_name(&made)))?;
    Ok(0)
}

async fn list(context: &Context, arguments: &ListArguments) -> Outcome {
    let mut names = arguments.sandboxes.clone();
    if names.is_empty() {
        let all = context.msb.sandboxes().list(msb_sdk::SandboxFilter::all());
        names = all.await?.into_iter().map(|sandbox| sandbox.id).collect();
    }
    let mut failures = Failures::default();
    let mut reports = Vec::new();
    for name in names {
        let sandbox = context.handle(&name).await?;
        let listed = failures.note(sandbox.snapshots().await);
        reports.extend(listed.unwrap_or_default());
    }
    if context.quiet {
        for report in &reports {
            output::print(&format!("{}\n", full_name(report)))?;
        }
    } else {
        print(&reports, &arguments.format)?;
    }
    Ok(failures.code)
}

async fn inspect(context: &Context, arguments: &InspectArguments) -> Outcome {
    let mut reports = Vec::new();
    for word in &arguments.snapshots {
        let (sandbox, name) = split_named(word)?;
        let sandbox = context.handle(sandbox).await?;
        reports.push(sandbox.snapshot(name).await?);
    }
    print(&reports, &arguments.format)
}

async fn remove(context: &Context, arguments: &RemoveArguments) -> Outcome {
    let mut failures = Failures::default();
    for word in &arguments.snapshots {
        let (sandbox, name) = split_named(word)?;
        let sandbox = context.handle(sandbox).await?;
        match sandbox.remove_snapshot(name).await {
            Err(error) if arguments.snapshots.len() == 1 => return Err(error.into()),
            removed => {
                if failures.note(removed).is_some() {
                    output::print(&format!("{word}\n"))?;
                }
            }
        }
    }
    Ok(failures.code)
}

/// Returns `SANDBOX@NAME`.
pub(super) fn full_name(snapshot: &SnapshotInfo) -> String {
    format!("{}{SEPARATOR}{}", snapshot.sandbox, snapshot.name)
}

fn print(reports: &[SnapshotInfo], format: &ListingFormat) -> Outcome {
    match format {
        ListingFormat::Json => output::print_json(&reports)?,
        ListingFormat::Template(template) => {
            let rows = reports
                .iter()
                .map(|report| fields(report, docker_names(report)));
            template.print(&rows.collect::<Result<Vec<_>, _>>()?)?;
        }
        ListingFormat::Table => print_table(reports)?,
    }
    Ok(0)
}

/// Returns a report's fields under names as Docker's templates have them.
fn docker_names(report: &SnapshotInfo) -> Value {
    json!({
        "Name": report.name,
        "Sandbox": report.sandbox,
        "CreatedAt": output::time(report.created_s),
    })
}

fn print_table(reports: &[SnapshotInfo]) -> std::io::Result<()> {
    let now_s = durable_files::now_s();
    let row = |report: &SnapshotInfo| {
        [
            full_name(report),
            output::human_age(now_s.saturating_sub(report.created_s)),
            output::human_size(report.size_bytes),
            report.message.clone().unwrap_or_default(),
        ]
    };
    let rows: Vec<_> = reports.iter().map(row).collect();
    table::print(["SNAPSHOT", "CREATED", "DISK", "MESSAGE"], &rows)
}
