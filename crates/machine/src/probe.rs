//! Trials, from inside a VMM process, of the operations that its jails must refuse.

use std::io;
use std::path::{Path, PathBuf};

use image_store::DiskExtent;
use msb_jail::{
    Attempt, Calls, Jail, JailError, LayerStatus, Outcome, Report, Strictness, Target, attempt_all,
    renounce,
};
use msb_network::{Network, ProxyVariables, Settings};
use msb_runtime::{LaunchSpec, SandboxPaths};
use msb_vmm::Vmm;

use crate::confinement;
use crate::network_process::NetworkProcessError;
use crate::vmm_process::{VmmProcessError, find_vmm, read_launch_spec};

/// An operation that was tried, and its result.
#[derive(Debug)]
pub struct Trial {
    /// The jail of the trial: `supervisor`, `machine`, `waiting`, `image`, `disk` or `network`.
    pub jail: &'static str,
    /// The operation, in words.
    pub what: String,
    /// The result, and its correctness.
    pub finding: Finding,
}

/// The result of a trial, and its correctness.
#[derive(Debug)]
pub enum Finding {
    /// The operation was refused, as it must be.
    Refused(io::Error),
    /// The operation succeeded, as it must.
    Allowed,
    /// The trial proves nothing: the host lacks the layer that refuses the operation, named here.
    Skipped(String),
    /// The operation succeeded and must be refused, or the reverse.
    Wrong(String),
}

/// Puts on the jails of the sandbox in `directory`, and tries operations in each.
/// Each jail has its own thread, in which forbidden and needed operations are tried. The sandbox
/// must have been started before.
///
/// # Errors
/// If its machine is not known, or a jail cannot be put on.
pub fn probe(
    directory: &Path,
    backends: &[&dyn Vmm],
    strictness: Strictness,
) -> Result<Vec<Trial>, VmmProcessError> {
    let files = SandboxPaths {
        directory: directory.to_owned(),
    };
    let launch_spec = read_launch_spec(&files)?;
    let vmm = find_vmm(&launch_spec, backends)?;
    let limits = confinement::limits(&launch_spec, vmm.serves_shares(), 0);
    renounce(&limits, strictness)?;
    let of_machine = vmm.jail(&launch_spec.machine)?;
    let starts_programs = of_machine.calls() == Calls::Starter;
    let mut jails = vec![
        ("supervisor", confinement::supervisor_jail(&files)),
        ("machine", of_machine),
        ("waiting", Jail::new(Calls::Supervisor).with_signals()),
        ("disk", confinement::disk_jail(&files.generations())),
    ];
    if !launch_spec.image_extents.is_empty() {
        jails.push(("image", confinement::image_jail()));
    }
    if let Some(settings) = &launch_spec.network {
        // The ports are left out: those of a running sandbox are in use. The jail does not depend on the rest.
        let settings = Settings {
            publish: Vec::new(),
            secrets: Vec::new(),
            requests: Vec::new(),
            upstream_proxy: None,
            ..settings.clone()
        };
        let network = Network::bind(&settings, None, &ProxyVariables::default())
            .map_err(NetworkProcessError::from);
        let network = network.map_err(VmmProcessError::NetworkProbe)?;
        jails.push(("network", confinement::of_network(&network)));
    }
    let mut trials = Vec::new();
    for (name, jail) in jails {
        let needed = needed(name, &files, &launch_spec);
        let forbidden = forbidden(name, &files, &launch_spec);
        let by_landlock = |target: &Target| {
            is_file(target) || (starts_programs && name == "machine" && is_program(target))
        };
        let (report, attempts, wanted) = try_in(jail, strictness, forbidden, needed)?;
        let lacks_landlock = lacking(&report, "landlock");
        trials.extend(attempts.into_iter().map(|attempt| {
            let skip = lacks_landlock
                .as_ref()
                .filter(|_| by_landlock(&attempt.target));
            trial(name, attempt, false, skip.cloned())
        }));
        trials.extend(
            wanted
                .into_iter()
                .map(|attempt| trial(name, attempt, true, None)),
        );
    }
    Ok(trials)
}

type Tried = (Report, Vec<Attempt>, Vec<Attempt>);

/// Puts the jail on a new thread, and tries the operations there.
fn try_in(
    jail: Jail,
    strictness: Strictness,
    forbidden: Vec<Target>,
    needed: Vec<Target>,
) -> Result<Tried, JailError> {
    let tried = std::thread::spawn(move || {
        let report = jail.put_on(strictness)?;
        Ok((report, attempt_all(forbidden), attempt_all(needed)))
    });
    tried.join().unwrap_or_else(|_| {
        Err(JailError::Refused {
            action: "try anything: the thread panicked",
            source: io::ErrorKind::Other.into(),
        })
    })
}

fn trial(jail: &'static str, attempt: Attempt, needed: bool, skip: Option<String>) -> Trial {
    let finding = match (attempt.outcome, needed, skip) {
        (_, _, Some(reason)) => Finding::Skipped(reason),
        (Outcome::Refused(error), false, _) => Finding::Refused(error),
        (Outcome::Done, true, _) => Finding::Allowed,
        (Outcome::Done, false, _) => Finding::Wrong("was done".to_owned()),
        (Outcome::Refused(error) | Outcome::Failed(error), _, _) => {
            Finding::Wrong(format!("failed: {error}"))
        }
    };
    Trial {
        jail,
        what: attempt.target.to_string(),
        finding,
    }
}

fn lacking(report: &Report, name: &str) -> Option<String> {
    let layer = report.layers.iter().find(|layer| layer.name == name)?;
    matches!(layer.status, LayerStatus::Off(_)).then(|| layer.to_string())
}

const fn is_file(target: &Target) -> bool {
    matches!(
        target,
        Target::Read(_)
            | Target::Write(_)
            | Target::Create(_)
            | Target::List(_)
            | Target::Symlink(_)
    )
}

const fn is_program(target: &Target) -> bool {
    matches!(target, Target::Spawn(_))
}

/// Returns the operations that no thread of the process may do.
fn forbidden(jail: &str, files: &SandboxPaths, launch_spec: &LaunchSpec) -> Vec<Target> {
    let name = format!(".probe-{}", std::process::id());
    let mut targets = vec![
        Target::Read("/etc/passwd".into()),
        Target::Read(files.spec()),
        Target::Read(files.spec_copy()),
        Target::Read(files.lock()),
        Target::List("/".into()),
        Target::List(files.directory.clone()),
        Target::Write(files.spec()),
        Target::Write(files.spec_copy()),
        Target::Write(launch_spec.machine.kernel.clone()),
        Target::Chmod(files.spec()),
        Target::Create(std::env::temp_dir().join(&name)),
        Target::Create(files.directory.join(&name)),
        Target::Symlink(files.written().join(&name)),
        Target::ConnectUnix(files.socket()),
        Target::Spawn("/bin/true".into()),
        Target::Spawn("/bin/sh".into()),
    ];
    // The image's files are open, and no thread needs to open them again.
    for path in image_files(launch_spec) {
        targets.extend([Target::Read(path.clone()), Target::Write(path)]);
    }
    if jail == "machine" {
        targets.push(Target::Create(files.written().join(&name)));
    } else {
        targets.push(Target::Read(launch_spec.machine.kernel.clone()));
    }
    // The VMM does not open the disk that it is served.
    targets.push(Target::Create(match jail {
        "disk" => files.written().join(&name),
        _ => files.generations().join(&name),
    }));
    targets.push(match jail {
        "network" => Target::Thread,
        _ => Target::ConnectTcp,
    });
    targets.extend([
        Target::ListenTcp,
        Target::Udp,
        Target::ConnectAbstract,
        Target::SignalParent,
        Target::RaiseLimit,
        Target::LimitParent,
        Target::Namespace,
        Target::Mount,
        Target::Environment,
    ]);
    targets
}

/// Returns the operations that a thread needs.
fn needed(jail: &str, files: &SandboxPaths, launch_spec: &LaunchSpec) -> Vec<Target> {
    let mut targets = match jail {
        "network" => vec![Target::ReachTcp],
        _ => vec![Target::Thread],
    };
    match jail {
        "machine" => {
            targets.extend([
                Target::Read(launch_spec.machine.kernel.clone()),
                Target::Write(files.console_log()),
            ]);
        }
        "supervisor" => targets.extend([
            Target::Create(files.written().join(".new-probe")),
            Target::List(files.written()),
        ]),
        "disk" => targets.extend([
            Target::Create(files.generations().join(".new-probe")),
            Target::List(files.generations()),
        ]),
        _ => {}
    }
    targets
}

/// Returns the files of the image's disk.
fn image_files(launch_spec: &LaunchSpec) -> impl Iterator<Item = PathBuf> {
    let extents = launch_spec.image_extents.iter();
    let files = extents.flat_map(DiskExtent::files);
    files.filter(|file| file.exists())
}
