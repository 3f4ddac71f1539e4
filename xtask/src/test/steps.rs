use anyhow::Result;
use test_fixtures::build::cargo;
use test_fixtures::command::shown;

use super::Ready;
use super::product::{PRODUCT, tests};
use crate::sdk;

/// A step: its name and its work.
pub(super) struct Step {
    pub(super) name: &'static str,
    work: Work,
}

/// The work of a step.
enum Work {
    /// Runs unit tests and tests of single crates.
    Units,
    /// Runs the guides' commands as their readers type them.
    Guides,
    /// Builds, installs and tests the packages of the SDKs.
    Sdk,
    /// Runs the system tests of a package whose names hold a word, with every Nth case of a long table.
    System(&'static str, &'static str, &'static str),
}

const fn system(name: &'static str, package: &'static str, filter: &'static str) -> Step {
    Step {
        name,
        work: Work::System(package, filter, "1"),
    }
}

/// Returns a step with a table of which `nightly` runs every case, and this one every Nth.
const fn every_nth(
    name: &'static str,
    (package, filter): (&'static str, &'static str),
    step: &'static str,
) -> Step {
    Step {
        name,
        work: Work::System(package, filter, step),
    }
}

/// All steps. One process works from the front, where steps mostly wait for emulated guests, and one
/// from the end, where they work on this machine; short ones are in the middle, where both meet.
pub(super) const STEPS: &[Step] = &[
    system("boot: checks", "boot", "checks::"),
    system(
        "boot: life and tree under libkrun, in the lab",
        "boot",
        "lab::",
    ),
    system(
        "boot: images of well-known services run",
        "boot",
        "gallery::",
    ),
    system(
        "oracle: every case of layer semantics, natively and in the guest",
        "oracle",
        "fidelity::",
    ),
    system(
        "lab: msb's store survives power cuts",
        "store",
        "power_cuts::",
    ),
    system("boot: a sandbox's whole life", "boot", "walk::"),
    system(
        "oracle: a command sees what it sees under docker",
        "oracle",
        "environment::",
    ),
    system("oracle: changes by guests", "oracle", "guest_changes::"),
    every_nth(
        "boot: invocations end as docker's documentation says",
        ("boot", "docker::"),
        "8",
    ),
    system(
        "boot: the guest's tree equals umoci's and the host's",
        "boot",
        "tree::",
    ),
    system(
        "boot: another user of the host reaches nothing of a sandbox",
        "boot",
        "attacks::boot_users",
    ),
    Step {
        name: "boot: every guide, as its reader types it",
        work: Work::Guides,
    },
    system("boot: the SDKs' behaviours", "boot", "conformance::"),
    system("boot: the Rust SDK", "boot", "sdk::"),
    system(
        "fleet: containers of containerd live in machines",
        "fleet",
        "ctr::",
    ),
    system("boot: the kernel's options", "boot", "kernel::"),
    system("boot: pulled from a real registry", "boot", "pulled::"),
    system(
        "bench: a report's page is readable in a browser",
        "oracle",
        "pages::",
    ),
    system(
        "boot: a hostile agent leaves the supervisor its memory and its clients",
        "boot",
        "attacks::agent",
    ),
    system(
        "boot: a forged disk leaves the commands that read it their memory",
        "boot",
        "attacks::disks",
    ),
    system(
        "network: floods by a guest and by peers leave it its memory",
        "boot",
        "attacks::network",
    ),
    system(
        "store: the same bytes on every number of processors",
        "store",
        "determinism::",
    ),
    system("store: errors of the disk", "store", "faults::"),
    system("store: full disks", "store", "full_disks::"),
    system(
        "store: a flipped byte is found, refused and mended",
        "store",
        "flips::",
    ),
    system("store: processes, some killed", "store", "stress::"),
    system("store: commands survive being killed", "store", "kills::"),
    system(
        "oracle: ext4 images are accepted by e2fsck and the kernel",
        "oracle",
        "ext4::",
    ),
    system("oracle: bad input is refused", "oracle", "refusals::"),
    system(
        "oracle: artifacts are accepted by fsck.erofs and qemu-img",
        "oracle",
        "artifacts::",
    ),
    system("oracle: stores and registries", "oracle", "stores::"),
    system("oracle: saved tars are those read", "oracle", "saved::"),
    system(
        "oracle: random layers agree with containerd and umoci",
        "oracle",
        "engines::random",
    ),
    every_nth(
        "oracle: hostile layers agree with containerd, moby and umoci",
        ("oracle", "engines::hostile"),
        "6",
    ),
    system("oracle: EROFS, by every reader", "oracle", "erofs::"),
    Step {
        name: "sdk: the Python and npm packages, from empty environments",
        work: Work::Sdk,
    },
    Step {
        name: "unit, golden, property and oracle tests",
        work: Work::Units,
    },
];

impl Step {
    /// Does the work, and shows its output as it comes.
    pub(super) fn run(&self, ready: &Ready) -> Result<()> {
        match self.work {
            Work::Units => {
                // The system tests of the same packages are steps of their own.
                let skip = ["--", "--skip", "[system]"];
                let mut units = cargo();
                units.args(["test", "--no-fail-fast"]).args(PRODUCT);
                shown(ready.prepare(units.args(skip)))?;
                shown(cargo().args(["test", "--locked", "--package", "xtask"]))
            }
            Work::Guides => shown(ready.prepare(&mut tests("boot"))),
            // The steps before it are those of Rust.
            Work::Sdk => ["python", "typescript"].iter().try_for_each(|language| {
                sdk::run(&sdk::command().get_matches_from(["sdk", "--language", language]))
            }),
            Work::System(package, filter, step) => {
                let mut tests = tests(&format!("{package}-tests"));
                tests.args(["--", filter]).env("MSB_TEST_STEP", step);
                shown(ready.prepare(&mut tests))
            }
        }
    }
}
