use std::path::Path;

use msb_runtime::{Mount, Source};
use msb_sdk::{ErrorKind, Size, VolumeInfo, VolumeOptions};
use serde_json::{Value, json};

use super::Context;
use super::rules::RuleArguments;
use msb_terminal::confirm::confirmed;
use msb_terminal::failure::{Failure, Failures, Outcome};
use msb_terminal::mount_options::{MountOption, TmpfsOption, VolumeOption};
use msb_terminal::option_values::Label;
use msb_terminal::output;
use msb_terminal::table;
use msb_terminal::template::{ListingFormat, fields};

// The options for host directories, volumes and tmpfs in a sandbox.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Mounts")]
pub(crate) struct MountArguments {
    /// Mount a path of the host, a named volume, or a new volume
    ///
    /// The path is a directory or a file. A source that begins with / or ./ is a path of the host;
    /// any other is the name of a volume. PATH alone is a new volume, which is removed with the
    /// sandbox. With :ro the sandbox cannot write to it. With :staged it has the files that a directory
    /// of the host has now, and its changes stay in the sandbox until msb apply puts them there. The
    /// limit is 64 mounts with QEMU, and 3 volumes and directories and no files with libkrun.
    #[arg(short, long, value_name = "[SOURCE:]PATH[:ro|staged]")]
    volume: Vec<VolumeOption>,
    /// Mount type=bind|volume|tmpfs,source=...,target=...
    ///
    /// More keys are readonly, staged, tmpfs-size and tmpfs-mode.
    #[arg(long, value_name = "KEY=VALUE,...")]
    mount: Vec<MountOption>,
    /// Mount a tmpfs in guest memory; options: size=, mode=, exec, ro
    ///
    /// It is empty at each start.
    #[arg(long, value_name = "PATH[:OPTIONS]")]
    tmpfs: Vec<TmpfsOption>,
    #[command(flatten)]
    rules: RuleArguments,
}

impl MountArguments {
    /// Returns true if a mount asks for an SELinux label.
    pub(crate) fn has_labels(&self) -> bool {
        self.volume.iter().any(|word| word.has_label)
    }

    pub(crate) fn mounts(&self) -> Result<Vec<msb_sdk::Mount>, Failure> {
        let volumes = self.volume.iter().map(|word| &word.mount);
        let mounts = self.mount.iter().map(|word| &word.0);
        let tmpfs = self.tmpfs.iter().map(|word| &word.0);
        let mounts = volumes.chain(mounts).chain(tmpfs).map(mount);
        self.rules.given_to(mounts.collect())
    }
}

/// Returns a mount as the SDK takes it.
fn mount(mount: &Mount) -> msb_sdk::Mount {
    let target = mount.target.as_str();
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let mut converted = match &mount.source {
        Source::Bind {
            directory: path, ..
        }
        | Source::BindFile { file: path } => msb_sdk::Mount::bind(text(path), target),
        Source::Staged(staged) => {
            // A mount that is typed has a directory.
            let directory = staged.directory.as_deref().map(text);
            msb_sdk::Mount::staged(directory.unwrap_or_default(), target)
        }
        Source::Volume { volume } => msb_sdk::Mount::volume(volume.as_str(), target),
        Source::Anonymous { size_bytes } => {
            let mut unnamed = msb_sdk::Mount::unnamed_volume(target);
            unnamed.size = Some(Size::new(*size_bytes));
            unnamed
        }
        Source::Tmpfs {
            size_bytes,
            mode,
            exec,
        } => {
            let mut memory = msb_sdk::Mount::tmpfs(target);
            memory.size = size_bytes.map(Size::new);
            memory.mode = *mode;
            memory.exec = *exec;
            memory
        }
    };
    converted.read_only = mount.read_only;
    converted
}

// Arguments of `msb volume`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A volume is an ext4 disk that sandboxes mount with -v NAME:PATH. One sandbox at \
    a time can mount it writable, or any number read-only (:ro). A volume is created when it is \
    first used.\n\n\
    Examples:\n  \
    msb volume create --size 20G data; msb run --rm -v data:/data debian df -h /data\n  \
    msb volume ls; msb volume rm data"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Create a volume
    Create(CreateArguments),
    /// List volumes
    #[command(visible_alias = "list")]
    Ls(ListArguments),
    /// Print the details of volumes as JSON
    Inspect(InspectArguments),
    /// Remove volumes that no sandbox uses, with their files
    #[command(alias = "remove")]
    Rm(RemoveArguments),
    /// Remove every volume that no sandbox uses, with its files
    Prune(PruneArguments),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    msb volume create cache\n  \
    msb volume create --size 20G --label team=web data")]
struct CreateArguments {
    /// Size of the disk; sparse, so it uses only the space that is written
    #[arg(long, value_name = "SIZE", value_parser = output::parse_size)]
    size: Option<u64>,
    /// Label of the volume
    #[arg(short, long, value_name = "KEY[=VALUE]")]
    label: Vec<Label>,
    /// Name of the volume [default: a random one]
    name: Option<String>,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    msb volume ls\n  \
    msb volume ls --format json | jq -r '.[].name'")]
struct ListArguments {
    /// Output format: table, json, or a template such as '{{.Name}}'
    #[arg(long, default_value = "table")]
    format: ListingFormat,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  msb volume inspect data")]
struct InspectArguments {
    /// Output format: json, table, or a template such as '{{.Name}}'
    #[arg(short, long, default_value = "json")]
    format: ListingFormat,
    /// Volumes, by name
    #[arg(required = true, value_name = "VOLUME")]
    volumes: Vec<String>,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    msb volume rm data\n  \
    msb volume rm --force data cache")]
struct RemoveArguments {
    /// Ignore volumes that do not exist
    #[arg(short, long)]
    force: bool,
    /// Volumes, by name
    #[arg(required = true, value_name = "VOLUME")]
    volumes: Vec<String>,
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Asks first unless --force is given; without an answer, it removes nothing and \
    fails.\n\n\
    Examples:\n  \
    msb volume prune\n  \
    msb volume prune --force"
)]
struct PruneArguments {
    /// Remove without asking
    #[arg(short, long)]
    force: bool,
    /// Ignored (docker compatibility): named volumes are always removed
    #[arg(short, long, hide = true)]
    all: bool,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    match &arguments.command {
        Command::Create(arguments) => create(context, arguments).await,
        Command::Ls(arguments) => list(context, arguments).await,
        Command::Inspect(arguments) => inspect(context, arguments).await,
        Command::Rm(arguments) => remove(context, arguments).await,
        Command::Prune(arguments) => prune(context, arguments).await,
    }
}

async fn create(context: &Context, arguments: &CreateArguments) -> Outcome {
    let pair = |label: &Label| (label.key.clone(), label.value.clone().unwrap_or_default());
    let mut options = VolumeOptions::default();
    options.name.clone_from(&arguments.name);
    options.size = arguments.size.map(Size::new);
    options.labels = arguments.label.iter().map(pair).collect();
    let volume = context.msb.volumes().create_with(options).await?;
    output::print(&format!("{}\n", volume.name()))?;
    Ok(0)
}

/// Returns a volume's fields for templates, under msb's names and under Docker's.
pub(super) fn template_fields(report: &VolumeInfo) -> Result<Value, serde_json::Error> {
    fields(report, docker_names(report))
}

/// Returns a report's fields under the names of Docker's templates.
fn docker_names(report: &VolumeInfo) -> Value {
    json!({
        "Name": report.name,
        "CreatedAt": output::time(report.created_s),
        "Labels": report.labels,
        "Size": output::human_size(report.allocated_bytes),
    })
}

async fn list(context: &Context, arguments: &ListArguments) -> Outcome {
    let mut failures = Failures::default();
    let volumes = context.msb.volumes().list_each().await?.into_iter();
    let readable = volumes.filter_map(|volume| failures.note(volume));
    let reports: Vec<_> = readable.map(|volume| volume.info().clone()).collect();
    if context.quiet {
        for report in &reports {
            output::print(&format!("{}\n", report.name))?;
        }
    } else {
        print(&reports, &arguments.format)?;
    }
    Ok(failures.code)
}

async fn inspect(context: &Context, arguments: &InspectArguments) -> Outcome {
    let mut reports = Vec::new();
    for name in &arguments.volumes {
        let volume = context.msb.volumes().get(name.as_str()).await?;
        reports.push(volume.info().clone());
    }
    print(&reports, &arguments.format)
}

fn print(reports: &[VolumeInfo], format: &ListingFormat) -> Outcome {
    match format {
        ListingFormat::Json => output::print_json(&reports)?,
        ListingFormat::Template(template) => {
            let rows = reports.iter().map(template_fields);
            template.print(&rows.collect::<Result<Vec<_>, _>>()?)?;
        }
        ListingFormat::Table => print_table(reports)?,
    }
    Ok(0)
}

fn print_table(reports: &[VolumeInfo]) -> std::io::Result<()> {
    let now_s = durable_files::now_s();
    let row = |report: &VolumeInfo| {
        [
            report.name.to_string(),
            output::human_size(report.size_bytes),
            output::human_size(report.allocated_bytes),
            output::human_age(now_s.saturating_sub(report.created_s)),
            report.sandboxes.join(","),
        ]
    };
    let rows: Vec<_> = reports.iter().map(row).collect();
    table::print(["NAME", "SIZE", "TAKEN", "CREATED", "SANDBOXES"], &rows)
}

async fn remove(context: &Context, arguments: &RemoveArguments) -> Outcome {
    let mut failures = Failures::default();
    for name in &arguments.volumes {
        match context.msb.volumes().remove(name.as_str()).await {
            Err(error) if error.kind() == ErrorKind::VolumeNotFound && arguments.force => {}
            Err(error) if arguments.volumes.len() == 1 => return Err(error.into()),
            removed => {
                if failures.note(removed).is_some() {
                    output::print(&format!("{name}\n"))?;
                }
            }
        }
    }
    Ok(failures.code)
}

async fn prune(context: &Context, arguments: &PruneArguments) -> Outcome {
    let (unused, failures) = unused(context).await?;
    if unused.is_empty() || !arguments.force && !confirmed(&consequence(&unused))? {
        return Ok(failures.code);
    }
    Ok(failures.code.max(remove_unused(context, unused).await?))
}

/// Returns the names of the volumes that no sandbox uses. A volume that cannot be read is reported.
pub(super) async fn unused(context: &Context) -> Result<(Vec<String>, Failures), Failure> {
    let mut failures = Failures::default();
    let volumes = context.msb.volumes().unused().await?.into_iter();
    let readable = volumes.filter_map(|volume| failures.note(volume));
    let names = readable.map(|volume| volume.name().to_owned()).collect();
    Ok((names, failures))
}

fn consequence(names: &[String]) -> String {
    format!(
        "This removes every volume that no sandbox uses, and its files: {}.",
        names.join(", ")
    )
}

/// Removes the volumes that are still unused, and prints the name of each that was removed.
pub(super) async fn remove_unused(context: &Context, names: Vec<String>) -> Outcome {
    let mut failures = Failures::default();
    for removal in context.msb.volumes().remove_unused(names).await? {
        if failures.note(removal.freed_bytes).is_some() {
            output::print(&format!("{}\n", removal.name))?;
        }
    }
    Ok(failures.code)
}
