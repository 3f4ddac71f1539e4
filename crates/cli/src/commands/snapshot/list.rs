use msb_sdk::SnapshotInfo;
use serde_json::{Value, json};

use super::{full_name, split_named};
use crate::commands::Context;
use msb_terminal::failure::{Failures, Outcome};
use msb_terminal::output;
use msb_terminal::table;
use msb_terminal::template::{ListingFormat, fields};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "VIRTUAL is the size of the disk in the sandbox; msb df and msb ps -as show the \
    space of sandboxes with their snapshots. CONSISTENCY is clean if the sandbox was stopped, \
    frozen if its guest had frozen the filesystem, and crash if the files are as after a power \
    cut. ORIGIN is the reason for the snapshot: user, rollback or command.\n\n\
    Examples:\n  \
    msb snapshot ls\n  \
    msb snapshot ls work --format json | jq -r '.[].name'"
)]
pub(super) struct ListArguments {
    /// Include snapshots made by rollbacks and commands in the table; JSON, templates and -q always do
    #[arg(short, long)]
    all: bool,
    /// Output format: table, json, or a template such as '{{.Name}}'
    #[arg(long, default_value = "table")]
    format: ListingFormat,
    /// Sandboxes, by name or id [default: all]
    #[arg(value_name = "SANDBOX")]
    sandboxes: Vec<String>,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  msb snapshot inspect work@clean")]
pub(super) struct InspectArguments {
    /// Output format: json, table, or a template such as '{{.Name}}'
    #[arg(short, long, default_value = "json")]
    format: ListingFormat,
    /// Snapshots
    #[arg(required = true, value_name = "SANDBOX@NAME")]
    snapshots: Vec<String>,
}

pub(super) async fn list(context: &Context, arguments: &ListArguments) -> Outcome {
    let mut names = arguments.sandboxes.clone();
    if names.is_empty() {
        let all = context.msb.sandboxes().list(msb_sdk::SandboxFilter::all());
        names = all.await?.into_iter().map(|sandbox| sandbox.id).collect();
    }
    let mut failures = Failures::default();
    let mut reports = Vec::new();
    for name in names {
        let sandbox = context.handle(&name).await?;
        let each = failures.note(sandbox.snapshots().list_each().await);
        let each = each.unwrap_or_default().into_iter();
        reports.extend(each.filter_map(|snapshot| failures.note(snapshot)));
    }
    if context.quiet {
        for report in &reports {
            output::print(&format!("{}\n", full_name(report)))?;
        }
    } else {
        print_listed(&reports, arguments)?;
    }
    Ok(failures.code)
}

pub(super) async fn inspect(context: &Context, arguments: &InspectArguments) -> Outcome {
    let mut reports = Vec::new();
    for word in &arguments.snapshots {
        let (sandbox, name) = split_named(word)?;
        let sandbox = context.handle(sandbox).await?;
        reports.push(sandbox.snapshots().get(name).await?);
    }
    print(&reports, &arguments.format)
}

/// Prints a list. The table leaves out what rollbacks made, unless all are asked for, and says so.
fn print_listed(reports: &[SnapshotInfo], arguments: &ListArguments) -> Outcome {
    if arguments.all || arguments.format != ListingFormat::Table {
        return print(reports, &arguments.format);
    }
    let (automatic, shown): (Vec<_>, Vec<_>) =
        reports.iter().cloned().partition(|report| report.automatic);
    print_table(&shown)?;
    match automatic.len() {
        0 => {}
        1 => output::notice("1 automatic snapshot is not shown; list it with -a"),
        count => output::notice(&format!(
            "{count} automatic snapshots are not shown; list them with -a"
        )),
    }
    Ok(0)
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
            report.consistency.as_str().to_owned(),
            report.origin.as_str().to_owned(),
            report.message.clone().unwrap_or_default(),
        ]
    };
    let rows: Vec<_> = reports.iter().map(row).collect();
    let heads = [
        "SNAPSHOT",
        "CREATED",
        "VIRTUAL",
        "CONSISTENCY",
        "ORIGIN",
        "MESSAGE",
    ];
    table::print(heads, &rows)
}
