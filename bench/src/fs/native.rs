//! The image's disks and others on the host's own kernel, by the same runner.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use msb_bench_runner::{Facts, Place};
use serde_json::Value;

use super::mounts::Mounts;
use super::{Arguments, Outcome, places, runner};
use crate::msb::{Msb, text};
use crate::report::Cache;

/// Room for the copies and what is written, sparse.
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
    let disks = Disks::of_image(msb, &arguments.image)?;
    let roots = mounted(&mut mounts, &disks, &directory)?;
    let (_, first) = roots.overlays.first().context("no overlay is mounted")?;
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
    })
}

/// The image as it is stored.
struct Disks {
    fsmeta: PathBuf,
    /// The lowest first.
    layers: Vec<PathBuf>,
}

impl Disks {
    fn of_image(msb: &Msb, image: &str) -> Result<Self> {
        let said = msb.output(["image", "inspect", "--format", "json", image])?;
        let inspection: Value = serde_json::from_str(&said)?;
        let path = |value: &Value| value.as_str().map(PathBuf::from);
        let layers = inspection["layers"]
            .as_array()
            .context("the image has no layers")?;
        Ok(Self {
            fsmeta: path(&inspection["fsmeta"]).context("the image has no fsmeta")?,
            layers: layers
                .iter()
                .map(path)
                .collect::<Option<_>>()
                .context("layers are no paths")?,
        })
    }

    /// What a guest has as one disk: the metadata, then the layers.
    fn concatenate(&self, flat: &Path) -> Result<()> {
        let mut out = fs::File::create(flat)?;
        for part in std::iter::once(&self.fsmeta).chain(&self.layers) {
            io::copy(&mut fs::File::open(part)?, &mut out)?;
        }
        Ok(())
    }
}

/// Roots that show the image, and a plain filesystem.
struct Roots {
    overlays: Vec<(&'static str, PathBuf)>,
    ext4: PathBuf,
}

fn mounted(mounts: &mut Mounts, disks: &Disks, directory: &Path) -> Result<Roots> {
    let (flat, disk) = (
        directory.join("image.erofs"),
        directory.join("writable.ext4"),
    );
    disks.concatenate(&flat)?;
    text(
        Command::new("mkfs.ext4")
            .arg("-q")
            .arg(&disk)
            .arg(WRITABLE_SIZE),
    )?;
    let writable = mounts.image("writable", "ext4", &disk)?;
    let whole = mounts.image("whole", "erofs", &flat)?;
    let mut layers = Vec::new();
    for (number, layer) in disks.layers.iter().enumerate().rev() {
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
    fn places(&self, program: &Path) -> Result<Vec<Place>> {
        let mut places = Vec::new();
        for (name, root) in &self.overlays {
            let facts = facts(program, root)?;
            places.push(Place {
                name: (*name).to_owned(),
                lower: Some(facts.lower),
                work: facts.work,
                overlay: None,
            });
        }
        places.push(Place {
            name: places::EXT4.to_owned(),
            lower: None,
            work: self.ext4.clone(),
            overlay: None,
        });
        Ok(places)
    }
}

fn facts(program: &Path, root: &Path) -> Result<Facts> {
    let said = text(Command::new(program).arg("facts").arg(root))?;
    serde_json::from_str(&said).context("the runner's facts are not JSON")
}
