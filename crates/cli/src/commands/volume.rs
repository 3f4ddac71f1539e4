use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use msb_runtime::{
    Mount, Sandbox, SandboxId, Source, VOLUME_BYTES, Volume, VolumeError, VolumeName, VolumeSpec,
};
use msb_sdk::Size;
use serde::Serialize;
use serde_json::{Value, json};

use super::Context;
use crate::confirm::confirmed;
use crate::failure::{Failure, Failures, Outcome};
use crate::mount_options::{MountOption, TmpfsOption, VolumeOption};
use crate::option_values::Label;
use crate::output;
use crate::table;
use crate::template::{ListingFormat, fields};

// The options for host directories, volumes and tmpfs in a sandbox.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Mounts")]
pub(crate) struct MountArguments {
    /// Mount a path of the host, a named volume, or a new volume
    ///
    /// The path is a directory or a file. A source of the host begins with / or ./, any other is the name
    /// of a volume. PATH alone is a volume that is removed with the sandbox. With :ro the sandbox cannot
    /// write to it. The limit is 64 mounts with QEMU, and 3 volumes and directories and no files with
    /// libkrun.
    #[arg(short, long, value_name = "[SOURCE:]PATH[:ro]")]
    volume: Vec<VolumeOption>,
    /// Mount type=bind|volume|tmpfs,source=...,target=...
    ///
    /// More keys are readonly, tmpfs-size and tmpfs-mode.
    #[arg(long, value_name = "KEY=VALUE,...")]
    mount: Vec<MountOption>,
    /// Mount memory of the guest; options: size=, mode=, exec, ro
    ///
    /// It is empty at each start.
    #[arg(long, value_name = "PATH[:OPTIONS]")]
    tmpfs: Vec<TmpfsOption>,
}

impl MountArguments {
    pub(crate) fn mounts(&self) -> Vec<msb_sdk::Mount> {
        let volumes = self.volume.iter().map(|word| &word.0);
        let mounts = self.mount.iter().map(|word| &word.0);
        let tmpfs = self.tmpfs.iter().map(|word| &word.0);
        volumes.chain(mounts).chain(tmpfs).map(mount).collect()
    }
}

/// Returns a mount as the SDK takes it.
fn mount(mount: &Mount) -> msb_sdk::Mount {
    let target = mount.target.as_str();
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let mut converted = match &mount.source {
        Source::Bind { directory: path } | Source::BindFile { file: path } => {
            msb_sdk::Mount::bind(text(path), target)
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
    after_help = "A volume is an ext4 disk that sandboxes mount with -v NAME:PATH. One sandbox at a time can \
    mount it writable, or any number read-only (:ro). It is created when it is first named.\n\n\
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
    /// Print everything about volumes, as JSON
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
    #[arg(long, default_value_t = VOLUME_BYTES, hide_default_value = true, value_name = "SIZE",
        value_parser = output::parse_size)]
    size: u64,
    /// Label of the volume
    #[arg(short, long, value_name = "KEY[=VALUE]")]
    label: Vec<Label>,
    /// Name of the volume [default: a random one]
    name: Option<VolumeName>,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    msb volume ls\n  \
    msb volume ls --format json | jq -r '.[].name'")]
struct ListArguments {
    /// Output format: table, json, or a template as '{{.Name}}'
    #[arg(long, default_value = "table")]
    format: ListingFormat,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  msb volume inspect data")]
struct InspectArguments {
    /// Output format: json, table, or a template as '{{.Name}}'
    #[arg(short, long, default_value = "json")]
    format: ListingFormat,
    /// Volumes, by name
    #[arg(required = true, value_name = "VOLUME")]
    volumes: Vec<VolumeName>,
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
    volumes: Vec<VolumeName>,
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Asks first unless --force is given; if there is no answer, it removes nothing and \
    fails.\n\n\
    Examples:\n  \
    msb volume prune\n  \
    msb volume prune --force"
)]
struct PruneArguments {
    /// Remove without asking
    #[arg(short, long)]
    force: bool,
    /// Accepted for docker's sake: volumes with a name are removed in any case
    #[arg(short, long, hide = true)]
    all: bool,
}

#[derive(Serialize)]
pub(super) struct Report {
    #[serde(flatten)]
    spec: VolumeSpec,
    /// Space that the disk uses on the host, in bytes.
    allocated_bytes: u64,
    /// Names of the sandboxes, running or not, that use the volume.
    sandboxes: Vec<String>,
    /// Directory of the volume's files.
    directory: PathBuf,
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Outcome {
    match &arguments.command {
        Command::Create(arguments) => create(context, arguments),
        Command::Ls(arguments) => list(context, arguments),
        Command::Inspect(arguments) => inspect(context, arguments),
        Command::Rm(arguments) => remove(context, arguments),
        Command::Prune(arguments) => prune(context, arguments),
    }
}

fn create(context: &Context, arguments: &CreateArguments) -> Outcome {
    let pair = |label: &Label| (label.key.clone(), label.value.clone().unwrap_or_default());
    let labels: BTreeMap<_, _> = arguments.label.iter().map(pair).collect();
    let name = arguments.name.clone().map_or_else(random_name, Ok)?;
    let volume = Volume::create(&context.home, name, arguments.size, labels)?;
    output::print(&format!("{}\n", volume.spec.name))?;
    Ok(0)
}

fn random_name() -> Result<VolumeName, Failure> {
    Ok(SandboxId::random()?.as_str().parse()?)
}

pub(super) fn report(context: &Context, volume: Volume) -> Result<Report, VolumeError> {
    Ok(Report {
        allocated_bytes: volume.allocated_bytes()?,
        sandboxes: volume.sandboxes(&context.home)?,
        directory: volume.directory().to_owned(),
        spec: volume.spec,
    })
}

/// Returns a volume's fields for templates, under msb's names and under Docker's.
pub(super) fn template_fields(report: &Report) -> Result<Value, serde_json::Error> {
    fields(report, docker_names(report))
}

/// Returns a report's fields under the names of Docker's templates.
fn docker_names(report: &Report) -> Value {
    json!({
        "Name": report.spec.name,
        "CreatedAt": output::time(report.spec.created_s),
        "Labels": report.spec.labels,
        "Size": output::human_size(report.allocated_bytes),
    })
}

fn list(context: &Context, arguments: &ListArguments) -> Outcome {
    let mut failures = Failures::default();
    let mut reports = Vec::new();
    for volume in Volume::all(&context.home)? {
        match volume.and_then(|volume| report(context, volume)) {
            // The volume was removed meanwhile.
            Err(VolumeError::Missing { .. }) => {}
            outcome => reports.extend(failures.note(outcome)),
        }
    }
    if context.quiet {
        for report in &reports {
            output::print(&format!("{}\n", report.spec.name))?;
        }
    } else {
        print(&reports, &arguments.format)?;
    }
    Ok(failures.code)
}

fn inspect(context: &Context, arguments: &InspectArguments) -> Outcome {
    let mut reports = Vec::new();
    for name in &arguments.volumes {
        reports.push(report(context, Volume::find(&context.home, name)?)?);
    }
    print(&reports, &arguments.format)
}

fn print(reports: &[Report], format: &ListingFormat) -> Outcome {
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

fn print_table(reports: &[Report]) -> std::io::Result<()> {
    let now_s = durable_files::now_s();
    let row = |report: &Report| {
        [
            report.spec.name.to_string(),
            output::human_size(report.spec.size_bytes),
            output::human_size(report.allocated_bytes),
            output::human_age(now_s.saturating_sub(report.spec.created_s)),
            report.sandboxes.join(","),
        ]
    };
    let rows: Vec<_> = reports.iter().map(row).collect();
    table::print(["NAME", "SIZE", "TAKEN", "CREATED", "SANDBOXES"], &rows)
}

fn remove(context: &Context, arguments: &RemoveArguments) -> Outcome {
    Sandbox::sweep(&context.home)?;
    Volume::sweep(&context.home)?;
    let mut failures = Failures::default();
    for name in &arguments.volumes {
        let found = Volume::find(&context.home, name);
        match found.and_then(|volume| volume.remove(&context.home)) {
            Err(VolumeError::Missing { .. }) if arguments.force => {}
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

fn prune(context: &Context, arguments: &PruneArguments) -> Outcome {
    Sandbox::sweep(&context.home)?;
    let (unused, failures) = unused(context)?;
    if unused.is_empty() || !arguments.force && !confirmed(&consequence(&unused))? {
        return Ok(failures.code);
    }
    Ok(failures.code.max(remove_unused(context, unused)?))
}

/// Returns the volumes that no sandbox uses. A volume that cannot be read is reported.
pub(super) fn unused(context: &Context) -> Result<(Vec<Volume>, Failures), Failure> {
    Volume::sweep(&context.home)?;
    let mut failures = Failures::default();
    let mut unused = Vec::new();
    for volume in Volume::all(&context.home)? {
        let looked = volume.and_then(|volume| {
            let is_unused = volume.sandboxes(&context.home)?.is_empty();
            Ok(is_unused.then_some(volume))
        });
        unused.extend(failures.note(looked).flatten());
    }
    Ok((unused, failures))
}

fn consequence(volumes: &[Volume]) -> String {
    let names: Vec<&str> = (volumes.iter().map(|volume| volume.spec.name.as_str())).collect();
    format!(
        "This removes every volume that no sandbox uses, and its files: {}.",
        names.join(", ")
    )
}

/// Removes the volumes that are still unused, and prints the name of each that was removed.
pub(super) fn remove_unused(context: &Context, volumes: Vec<Volume>) -> Outcome {
    let mut failures = Failures::default();
    for volume in volumes {
        let name = volume.spec.name.clone();
        match volume.remove(&context.home) {
            // A sandbox that uses the volume was created meanwhile, or another process removed the
            // volume.
            Err(VolumeError::Needed { .. } | VolumeError::Missing { .. }) => {}
            removed => {
                if failures.note(removed).is_some() {
                    output::print(&format!("{name}\n"))?;
                }
            }
        }
    }
    Ok(failures.code)
}
