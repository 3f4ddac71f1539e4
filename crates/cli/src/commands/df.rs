use std::io;
use std::path::Path;

use image_store::Usage;
use msb_runtime::{Sandbox, State, Volume, VolumeError};
use serde::Serialize;

use super::Context;
use crate::failure::{Failure, Outcome};
use crate::output::{self, Format};
use crate::table;

// Arguments of `msb df`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "RECLAIMABLE is the space that msb prune --all, msb rm of stopped sandboxes and msb volume \
    prune --force would free.\n\n\
    Examples:\n  \
    msb df\n  \
    msb df --verbose            each image by itself\n  \
    msb df --format json | jq .reclaimable_bytes"
)]
pub(crate) struct Arguments {
    /// Show each image
    #[arg(short, long)]
    verbose: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Serialize)]
struct Report {
    images: Group,
    left_overs: Group,
    unfinished: Group,
    sandboxes: Group,
    volumes: Group,
    machine: Group,
    total_bytes: u64,
    reclaimable_bytes: u64,
    each_image: Vec<Image>,
}

/// A number of objects and the space that they use.
#[derive(Debug, Default, Serialize)]
struct Group {
    count: usize,
    active: usize,
    size_bytes: u64,
    reclaimable_bytes: u64,
}

#[derive(Serialize)]
struct Image {
    digest: String,
    references: Vec<String>,
    in_use: bool,
    unique_bytes: u64,
    shared_bytes: u64,
    /// The time of the last use, in seconds since the epoch.
    used_s: u64,
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let usage = context.store()?.usage(&context.needed())?;
    let report = report(context, usage)?;
    match arguments.format {
        Format::Json => output::print_json(&report)?,
        Format::Table => print(&report, arguments.verbose)?,
    }
    Ok(0)
}

fn report(context: &Context, usage: Usage) -> Result<Report, Failure> {
    let left_overs = Group {
        count: usage.left_overs,
        active: 0,
        size_bytes: usage.left_overs_bytes,
        reclaimable_bytes: usage.left_overs_bytes,
    };
    let images = Group {
        count: usage.images.len(),
        active: usage.images.iter().filter(|image| image.in_use).count(),
        size_bytes: usage.images_bytes,
        reclaimable_bytes: usage.reclaimable_bytes - usage.left_overs_bytes,
    };
    let unfinished = Group {
        size_bytes: usage.unfinished_bytes,
        ..Group::default()
    };
    let sandboxes = sandboxes(context)?;
    let volumes = volumes(context)?;
    let machine = machine(context)?;
    let groups = [
        &images,
        &left_overs,
        &unfinished,
        &sandboxes,
        &volumes,
        &machine,
    ];
    Ok(Report {
        total_bytes: groups.iter().map(|group| group.size_bytes).sum(),
        reclaimable_bytes: groups.iter().map(|group| group.reclaimable_bytes).sum(),
        each_image: usage.images.into_iter().map(image).collect(),
        images,
        left_overs,
        unfinished,
        sandboxes,
        volumes,
        machine,
    })
}

fn image(usage: image_store::ImageUsage) -> Image {
    let used = usage.used.duration_since(std::time::UNIX_EPOCH);
    Image {
        digest: usage.digest.to_string(),
        references: usage.references,
        in_use: usage.in_use,
        unique_bytes: usage.unique_bytes,
        shared_bytes: usage.shared_bytes,
        used_s: used.map_or(0, |since| since.as_secs()),
    }
}

/// Sums the space that the sandboxes' writable disks use on the host.
fn sandboxes(context: &Context) -> io::Result<Group> {
    let mut group = Group::default();
    for sandbox in Sandbox::all(&context.home)? {
        let size_bytes = sandbox.allocated_bytes().unwrap_or(0);
        group.count += 1;
        group.size_bytes += size_bytes;
        match sandbox.state()? {
            State::Running => group.active += 1,
            State::Created | State::Stopped => group.reclaimable_bytes += size_bytes,
        }
    }
    Ok(group)
}

/// Sums the space that the volumes' disks use on the host.
fn volumes(context: &Context) -> Result<Group, VolumeError> {
    let mut group = Group::default();
    for volume in Volume::all(&context.home)? {
        // An unreadable volume is reported by `msb volume ls`; a removed one uses no space.
        let Ok(volume) = volume else { continue };
        let size_bytes = volume.allocated_bytes().unwrap_or(0);
        group.count += 1;
        group.size_bytes += size_bytes;
        if volume.sandboxes(&context.home)?.is_empty() {
            group.reclaimable_bytes += size_bytes
        } else {
            group.active += 1
        }
    }
    Ok(group)
}

/// Sums the space that kernels and boot disks use.
fn machine(context: &Context) -> io::Result<Group> {
    let mut group = Group::default();
    for directory in [context.home.kernels(), context.home.boot_disks()] {
        for size_bytes in sizes(&directory)? {
            group.count += 1;
            group.size_bytes += size_bytes;
        }
    }
    Ok(group)
}

fn sizes(directory: &Path) -> io::Result<Vec<u64>> {
    match std::fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
        Ok(entries) => entries
            .map(|entry| entry?.metadata().map(|file| file.len()))
            .collect(),
    }
}

fn print(report: &Report, verbose: bool) -> io::Result<()> {
    let row = |name: &str, group: &Group| {
        [
            name.to_owned(),
            group.count.to_string(),
            group.active.to_string(),
            output::human_size(group.size_bytes),
            output::human_size(group.reclaimable_bytes),
        ]
    };
    let rows = [
        row("Images", &report.images),
        row("Left-overs", &report.left_overs),
        row("Unfinished", &report.unfinished),
        row("Sandboxes", &report.sandboxes),
        row("Volumes", &report.volumes),
        row("Kernels and boot disks", &report.machine),
    ];
    table::print(["TYPE", "TOTAL", "ACTIVE", "SIZE", "RECLAIMABLE"], &rows)?;
    if !verbose {
        return Ok(());
    }
    output::print("\n")?;
    let now_s = durable_files::now_s();
    let rows: Vec<_> = report
        .each_image
        .iter()
        .map(|image| {
            [
                image
                    .references
                    .first()
                    .cloned()
                    .unwrap_or_else(|| "<none>".to_owned()),
                image
                    .digest
                    .chars()
                    .skip("sha256:".len())
                    .take(12)
                    .collect(),
                output::human_age(now_s.saturating_sub(image.used_s)),
                output::human_size(image.shared_bytes),
                output::human_size(image.unique_bytes),
                if image.in_use { "yes" } else { "no" }.to_owned(),
            ]
        })
        .collect();
    table::print(
        ["IMAGE", "DIGEST", "LAST USED", "SHARED", "UNIQUE", "IN USE"],
        &rows,
    )
}
