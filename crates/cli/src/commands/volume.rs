use std::collections::BTreeMap;
use std::path::PathBuf;

use msb_runtime::{Mount, Sandbox, VOLUME_BYTES, Volume, VolumeError, VolumeName, VolumeSpec};
use serde::Serialize;

use super::Context;
use crate::failure::{Failures, Outcome};
use crate::mount_words::{MountWord, TmpfsWord, VolumeWord};
use crate::output::{self, Format};
use crate::words::Label;

// What a sandbox sees of host directories, volumes and memory.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Mounts")]
pub(crate) struct MountArguments {
    /// Mount a directory of the host (/path or ./path), a named volume, or with PATH alone a volume
    /// that goes with the sandbox; with :ro nobody in the sandbox can write to it
    #[arg(short, long, value_name = "[SOURCE:]PATH[:ro]")]
    volume: Vec<VolumeWord>,
    /// The same as key=value pairs: type=bind|volume|tmpfs,source=...,target=...[,readonly][,tmpfs-size=...]
    #[arg(long, value_name = "KEY=VALUE,...")]
    mount: Vec<MountWord>,
    /// Mount memory of the guest, empty at each start; options: size=, mode=, exec, ro
    #[arg(long, value_name = "PATH[:OPTIONS]")]
    tmpfs: Vec<TmpfsWord>,
}

impl MountArguments {
    pub(crate) fn mounts(&self) -> Vec<Mount> {
        let volumes = self.volume.iter().map(|word| &word.0);
        let mounts = self.mount.iter().map(|word| &word.0);
        let tmpfs = self.tmpfs.iter().map(|word| &word.0);
        volumes.chain(mounts).chain(tmpfs).cloned().collect()
    }
}

// Arguments of `msb volume`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A volume is an ext4 disk that sandboxes mount with -v NAME:PATH. One sandbox at a time \
    can have it to write, or any number to read (:ro). It is made when it is first named.\n\n\
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
    /// Remove volumes that no sandbox has, with what is in them
    #[command(alias = "remove")]
    Rm(RemoveArguments),
    /// Remove every volume that no sandbox has, with what is in them
    Prune(PruneArguments),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    msb volume create cache\n  \
    msb volume create --size 20G --label team=web data")]
struct CreateArguments {
    /// Size of its disk; sparse, so what is not written costs nothing
    #[arg(long, default_value_t = VOLUME_BYTES, hide_default_value = true, value_name = "SIZE",
        value_parser = output::parse_size)]
    size: u64,
    /// Label of the volume
    #[arg(short, long, value_name = "KEY[=VALUE]")]
    label: Vec<Label>,
    /// Name of the volume
    name: VolumeName,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    msb volume ls\n  \
    msb volume ls --format json | jq -r '.[].name'")]
struct ListArguments {
    /// Print only names
    #[arg(short, long)]
    quiet: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  msb volume inspect data")]
struct InspectArguments {
    /// Output format
    #[arg(long, value_enum, default_value = "json")]
    format: Format,
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
    after_help = "Without --force it asks first; where it cannot ask it removes nothing.\n\n\
    Examples:\n  \
    msb volume prune\n  \
    msb volume prune --force"
)]
struct PruneArguments {
    /// Remove them without asking
    #[arg(short, long)]
    force: bool,
}

#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    spec: VolumeSpec,
    /// What its disk takes on the host.
    allocated_bytes: u64,
    /// The sandboxes, running or not, that have it.
    sandboxes: Vec<String>,
    /// Where its files are.
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
    let name = arguments.name.clone();
    let volume = Volume::create(&context.home, name, arguments.size, labels)?;
    output::print(&format!("{}\n", volume.spec.name))?;
    Ok(0)
}

fn report(context: &Context, volume: Volume) -> Result<Report, VolumeError> {
    Ok(Report {
        allocated_bytes: volume.allocated_bytes()?,
        sandboxes: volume.sandboxes(&context.home)?,
        directory: volume.directory().to_owned(),
        spec: volume.spec,
    })
}

fn list(context: &Context, arguments: &ListArguments) -> Outcome {
    let mut failures = Failures::default();
    let mut reports = Vec::new();
    for volume in Volume::all(&context.home)? {
        match volume.and_then(|volume| report(context, volume)) {
            // It has just been removed.
            Err(VolumeError::Missing { .. }) => {}
            outcome => reports.extend(failures.note(outcome)),
        }
    }
    if arguments.quiet {
        for report in &reports {
            output::print(&format!("{}\n", report.spec.name))?;
        }
    } else {
        print(&reports, arguments.format)?;
    }
    Ok(failures.code)
}

fn inspect(context: &Context, arguments: &InspectArguments) -> Outcome {
    let mut reports = Vec::new();
    for name in &arguments.volumes {
        reports.push(report(context, Volume::find(&context.home, name)?)?);
    }
    print(&reports, arguments.format)
}

fn print(reports: &[Report], format: Format) -> Outcome {
    if format == Format::Json {
        output::print_json(&reports)?;
        return Ok(0);
    }
    let now_s = output::now_s();
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
    output::print_table(["NAME", "SIZE", "TAKEN", "CREATED", "SANDBOXES"], &rows)?;
    Ok(0)
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
    Volume::sweep(&context.home)?;
    let mut failures = Failures::default();
    for volume in Volume::all(&context.home)? {
        let pruned = volume.and_then(|volume| prune_one(context, volume, arguments.force));
        if let Some(Some(name)) = failures.note(pruned) {
            output::print(&format!("{name}\n"))?;
        }
    }
    if !arguments.force {
        output::notice("nothing was removed; msb volume prune --force removes these volumes");
    }
    Ok(failures.code)
}

/// The name of one that goes, or would; `None` of one that stays.
fn prune_one(
    context: &Context,
    volume: Volume,
    force: bool,
) -> Result<Option<VolumeName>, VolumeError> {
    if !volume.sandboxes(&context.home)?.is_empty() {
        return Ok(None);
    }
    let name = volume.spec.name.clone();
    if !force {
        return Ok(Some(name));
    }
    match volume.remove(&context.home) {
        // A sandbox has just been made that has it, or somebody else was faster.
        Err(VolumeError::Needed { .. } | VolumeError::Missing { .. }) => Ok(None),
        removed => removed.map(|()| Some(name)),
    }
}
