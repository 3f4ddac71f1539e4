use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use msb_bench_runner::{Facts, Line, Request};

use super::disk::Disk;
use super::{Against, Arguments, Outcome, places, runner};
use crate::msb::{Msb, text};
use crate::report::Cache;
use crate::sandbox::Sandbox;

/// The runner's path in the guest. It lies in memory, so that dropping caches does not drop its
/// code.
const RUNNER_PATH: &str = "/run/msb-bench-runner";

/// Measures in a sandbox of the image.
pub(super) fn measure(arguments: &Arguments, msb: &Msb) -> Result<Outcome> {
    ensure!(
        !arguments.host_cold || runner::can_drop_caches(),
        "--host-cold needs root, to drop the host's caches"
    );
    let work = tempfile::tempdir_in(&arguments.work)
        .with_context(|| format!("cannot create a directory in {}", arguments.work.display()))?;
    // A workload changes owners in this directory only from within the guest.
    let guest = Guest::start(arguments, msb, &work.path().canonicalize()?, Root::Overlay)?;
    guest.send_runner(work.path())?;
    let facts: Facts = serde_json::from_str(&text(&mut guest.runner(&["facts", "/"]))?)
        .context("cannot parse the runner's facts as JSON")?;
    ensure!(
        facts.has_losetup || !arguments.has(Against::Layers),
        "{} has no losetup, which --against layers needs; use an image with losetup, or another \
         --against",
        arguments.image
    );
    let layers = Disk::from_image(msb, &arguments.image)?.extents();
    let places = places::of_guest(arguments, &facts, &layers);
    let parts = places::parts(&places);
    let mut request = arguments.request(places, facts.lower.clone(), parts);
    request.ask_host = arguments.host_cold;
    let mut lines =
        runner::converse(&mut guest.runner(&["run", &serde_json::to_string(&request)?]))?;
    drop(guest);
    if arguments.has(Against::NativeRoot) {
        let native = native_root(arguments, msb, work.path(), &mut request)?;
        lines.extend(native);
    }
    Ok(Outcome {
        request,
        facts,
        lines,
        is_thrown_away: arguments.rm,
        has_snapshot: arguments.snapshot,
        directory: None,
        cold: if arguments.host_cold {
            Cache::Cold
        } else {
            Cache::ColdGuest
        },
    })
}

/// Measures in a sandbox with a native root, and adds the place to the request.
fn native_root(
    arguments: &Arguments,
    msb: &Msb,
    work: &Path,
    request: &mut Request,
) -> Result<Vec<Line>> {
    let guest = Guest::start(arguments, msb, &work.canonicalize()?, Root::Native)?;
    guest.send_runner(work)?;
    let facts: Facts = serde_json::from_str(&text(&mut guest.runner(&["facts", "/"]))?)
        .context("cannot parse the runner's facts as JSON")?;
    let place = places::of_native_root(&facts);
    let alone = Request {
        places: vec![place.clone()],
        source: facts.lower.clone(),
        parts: places::native_root_parts(&request.parts),
        ..request.clone()
    };
    request.places.insert(1, place);
    places::add_native_root(&mut request.parts);
    runner::converse(&mut guest.runner(&["run", &serde_json::to_string(&alone)?]))
}

/// The root of a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Root {
    Overlay,
    Native,
}

/// A sandbox that runs until this value is dropped.
struct Guest {
    msb: Msb,
    sandbox: Sandbox,
}

impl Guest {
    /// Starts a sandbox with every place mounted, and `shared` as the host directory. It has no
    /// network, which is not needed and could be one device too many.
    fn start(arguments: &Arguments, msb: &Msb, shared: &Path, root: Root) -> Result<Self> {
        let guest = Self {
            msb: msb.clone(),
            sandbox: Sandbox::named(msb, "fs"),
        };
        let name = &guest.sandbox.name;
        let mut create = msb.command();
        create
            .args(["create", "--quiet", "--no-command"])
            .args(["--network", "none", "--name", name])
            .args(["--memory", &arguments.memory])
            .args(["--tmpfs", &format!("{}:exec", places::TMPFS_PATH)]);
        if arguments.has(Against::Virtiofs) {
            let volume = format!("{}:{}", shared.display(), places::VIRTIOFS_PATH);
            create.args(["--volume", &volume]);
        }
        let on_volume = [Against::Ext4, Against::Overlay, Against::Layers];
        if on_volume.iter().any(|&against| arguments.has(against)) {
            create.args(["--volume", places::EXT4_PATH]);
        }
        if root == Root::Native {
            create.arg("--native-root");
        }
        if arguments.rm {
            create.arg("--rm");
        }
        text(create.arg(&arguments.image))?;
        if arguments.snapshot {
            text(msb.command().args(["snapshot", "create", name]))?;
        }
        let mut start = msb.command();
        text(start.args(["start", "--quiet", "--vmm", &arguments.vmm, name]))?;
        Ok(guest)
    }

    fn send_runner(&self, work: &Path) -> Result<()> {
        let program = work.join("msb-bench-runner");
        fs::write(&program, runner::PROGRAM)?;
        let target = format!("{}:{RUNNER_PATH}", self.sandbox.name);
        let mut copy = self.msb.command();
        text(copy.args(["cp", "--quiet"]).arg(&program).arg(&target))?;
        text(self.sandbox.exec(&[]).args(["chmod", "755", RUNNER_PATH]))?;
        Ok(fs::remove_file(program)?)
    }

    /// Returns the command that runs the runner in the guest, as root.
    fn runner(&self, words: &[&str]) -> Command {
        let mut exec = self.sandbox.exec(&["--interactive", "--user", "0"]);
        exec.arg(RUNNER_PATH).args(words);
        exec
    }
}
