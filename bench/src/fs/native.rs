//! The image's disks and other filesystems on the host's own kernel, measured by the same runner.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use msb_bench_runner::{BenchTarget, Facts};

use super::disk::Disk;
use super::mounts::Mounts;
use super::{Arguments, Outcome, places, runner};
use crate::msb::{Msb, text};
use crate::report::Cache;

/// The size of the sparse disk for copies and for the workloads' files.
const WRITABLE_SIZE: &str = "8G";

/// Measures on the host's kernel.
pub(super) fn measure(arguments: &Arguments, msb: &Msb) -> Result<Outcome> {
    ensure!(
        runner::can_drop_caches(),
        "--against native needs root on a Linux host: it mounts disks"
    );
    let work = tempfile::tempdir_in(&arguments.work)?;
    let directory = work.path().canonicalize()?;
    let program = directory.join("msb-bench-runner");
    fs::write(&program, runner::PROGRAM)?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
    let mut mounts = Mounts::below(&directory);
    let disk = Disk::from_image(msb, &arguments.image)?;
    let roots = mounted(&mut mounts, &disk, &directory)?;
    let (_, first) = roots
        .overlays
        .first()
        .context("cannot find a mounted overlay")?;
    let facts = facts(&program, first)?;
    let places = roots.places(&program)?;
    let parts = places::parts(&places);
    let request = arguments.request(places, facts.lower.clone(), parts);
    let text = serde_json::to_string(&request)?;
    let lines = runner::converse(Command::new(&program).arg("run").arg(text))?;
    Ok(Outcome {
        request,
        facts,
        lines,
        cold: Cache::Cold,
        is_thrown_away: false,
        has_snapshot: false,
        directory: Some(directory),
    })
}

/// The mounted roots that show the image, and a plain filesystem.
struct Roots {
    overlays: Vec<(&'static str, PathBuf)>,
    ext4: PathBuf,
}

fn mounted(mounts: &mut Mounts, stored: &Disk, directory: &Path) -> Result<Roots> {
    let (flat, disk) = (
        directory.join("image.erofs"),
        directory.join("writable.ext4"),
    );
    stored.concatenate(&flat)?;
    text(
        Command::new("mkfs.ext4")
            .arg("-q")
            .arg(&disk)
            .arg(WRITABLE_SIZE),
    )?;
    let writable = mounts.image("writable", "ext4", &disk)?;
    let whole = mounts.image("whole", "erofs", &flat)?;
    let mut layers = Vec::new();
    for (number, layer) in stored.layers.iter().enumerate().rev() {
        layers.push(mounts.image(&format!("layer{number}"), "erofs", layer)?);
    }
    let whole = [whole];
    let mut overlays = vec![
        (
            "erofs+overlay",
            mounts.overlay("merged", &whole, &writable)?,
        ),
        (
            "n-layer overlay",
            mounts.overlay("layered", &layers, &writable)?,
        ),
    ];
    let fuse = Command::new("fuse-overlayfs").arg("--version").output();
    if fuse.is_ok_and(|output| output.status.success()) {
        overlays.push((
            "fuse-overlayfs",
            mounts.fuse_overlay("fuse", &layers, &writable)?,
        ));
    }
    let ext4 = writable.join("plain");
    Ok(Roots { overlays, ext4 })
}

impl Roots {
    fn places(&self, program: &Path) -> Result<Vec<BenchTarget>> {
        let mut places = Vec::new();
        for (name, root) in &self.overlays {
            let facts = facts(program, root)?;
            places.push(BenchTarget {
                name: (*name).to_owned(),
                lower: Some(facts.lower),
                work: facts.work,
                mounted: None,
            });
        }
        places.push(BenchTarget {
            name: places::EXT4.to_owned(),
            lower: None,
            work: self.ext4.clone(),
            mounted: None,
        });
        Ok(places)
    }
}

fn facts(program: &Path, root: &Path) -> Result<Facts> {
    let said = text(Command::new(program).arg("facts").arg(root))?;
    serde_json::from_str(&said).context("cannot parse the runner's facts as JSON")
}
