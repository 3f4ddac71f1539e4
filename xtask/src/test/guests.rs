//! Steps that wait for emulated guests most of their time.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use super::Step;
use super::ground::{Ground, IMAGE};
use crate::lab::Job;
use crate::oracle::{self, Msb};
use crate::registry::Registry;
use crate::run::shown;
use crate::{docker, fidelity, lab_recipe, place, powercut};

/// The walk through a sandbox's life.
const WALK: &str = "ci/walk.sh";

pub(super) const STEPS: &[Step] = &[
    (
        "oracle: every case of layer semantics, natively and in the guest",
        layer_semantics,
    ),
    ("lab: msb's store survives power cuts", power_cuts),
    ("boot: pulled from a real registry", pulled),
    ("boot: a sandbox's whole life under QEMU", life_under_qemu),
    ("boot: checks under QEMU", checks_under_qemu),
    (
        "boot: invocations end as docker's documentation says",
        invocations,
    ),
    (
        "boot: the guest's tree under QEMU equals umoci's and the host's",
        trees_under_qemu,
    ),
    ("boot: the kernel's options", kernel_options),
    ("boot: life, checks and tree under libkrun, in the lab", lab),
];

fn power_cuts(_: &Ground) -> Result<String> {
    powercut::quick()
}

fn layer_semantics(_: &Ground) -> Result<String> {
    fidelity::run(&fidelity::Arguments::default())
}

fn pulled(ground: &Ground) -> Result<String> {
    let registry = Registry::start()?;
    let name = registry.push(&ground.layout, "debian-python")?;
    let msb = Msb {
        program: ground.msb.program.clone(),
        home: ground.work.join("pulled"),
    };
    oracle::succeed(&mut msb.command(&["pull", "-q", "--plain-http", &name]))?;
    let mut run = msb.command(&[
        "run", "-q", "--rm", "--vmm", "qemu", "--pull", "never", &name,
    ]);
    run.args(["python3", "-c", "print(6 * 7)"])
        .env("MSB_KERNEL", &ground.kernel);
    let output = oracle::succeed(&mut run)?;
    ensure!(
        output.stdout == b"42\n",
        "python3 said {:?}",
        String::from_utf8_lossy(&output.stdout)
    );
    let boot_disks = std::fs::read_dir(msb.home.join("boot"))?;
    for disk in boot_disks {
        oracle::succeed(
            Command::new("fsck.erofs")
                .arg("--extract")
                .arg(disk?.path()),
        )?;
    }
    std::fs::remove_dir_all(&msb.home)?;
    Ok("python3 computes, fsck.erofs accepts the boot disk".to_owned())
}

fn life_under_qemu(ground: &Ground) -> Result<String> {
    shown(
        Command::new("sh")
            .arg(place::root().join(WALK))
            .arg(&ground.msb.program)
            .arg(std::env::current_exe()?)
            .args([IMAGE, "qemu"])
            .env("MSB_HOME", &ground.msb.home)
            .env("MSB_KERNEL", &ground.kernel),
    )?;
    Ok("walked".to_owned())
}

fn checks_under_qemu(ground: &Ground) -> Result<String> {
    shown(&mut ground.itself("checks", "qemu")?)?;
    Ok("all".to_owned())
}

fn invocations(ground: &Ground) -> Result<String> {
    docker::run(&ground.docker(), 4)
}

fn host_trees(ground: &Ground) -> Result<String> {
    oracle::host_tree(
        &ground.msb,
        IMAGE,
        &ground.layout,
        &ground.tree_dump,
        &ground.work,
    )
}

fn trees_under_qemu(ground: &Ground) -> Result<String> {
    let expected = host_trees(ground)?;
    let mut dump = ground.itself("guest-tree", "qemu")?;
    let seen = oracle::succeed(dump.arg("--tree-dump").arg(&ground.tree_dump))?.stdout;
    oracle::compare(
        "umoci unpack",
        &expected,
        "the guest",
        &String::from_utf8(seen)?,
    )?;
    Ok(format!("{} entries", expected.lines().count()))
}

fn kernel_options(_: &Ground) -> Result<String> {
    lab_recipe::kernel_check()?;
    Ok("all".to_owned())
}

/// The same walk and tree, and the checks that a VMM can make a difference to, with the store as it is
/// here, under real libkrun.
fn lab(ground: &Ground) -> Result<String> {
    const SCRIPT: &str = "export MSB_HOME=/job/home MSB_KERNEL=/job/libkrunfw.so; \
        sh ./walk.sh ./msb ./xtask \"$0\" krun && \
        ./xtask checks --part machine --msb ./msb --vmm krun --memory 256 --boot-timeout 90 --image \"$0\" && \
        ./xtask guest-tree --msb ./msb --vmm krun --memory 512 --boot-timeout 90 --image \"$0\" \
            --tree-dump ./tree-dump > out/tree";
    let input = |path: &Path, name: &str| (path.to_owned(), name.to_owned());
    let job = Job {
        inputs: vec![
            input(&ground.msb.program, "msb"),
            input(&std::env::current_exe()?, "xtask"),
            input(&place::root().join(WALK), "walk.sh"),
            input(&ground.tree_dump, "tree-dump"),
            input(&ground.kernel, "libkrunfw.so"),
            input(&ground.msb.home, "home"),
        ],
        command: ["sh", "-c", SCRIPT, IMAGE].map(str::to_owned).to_vec(),
        timeout: Duration::from_secs(2400),
        memory_mib: 3072,
        nested: true,
    };
    let outcome = lab_recipe::with_lab(|lab| lab.run(&job))?;
    print!("{}", String::from_utf8_lossy(&outcome.stdout));
    let stderr = String::from_utf8_lossy(&outcome.stderr);
    ensure!(
        outcome.code == 0,
        "the lab's job gave {}: {stderr}",
        outcome.code
    );
    let tree = std::fs::read_to_string(outcome.out.join("tree")).context("no tree came back")?;
    let expected = host_trees(ground)?;
    oracle::compare("umoci unpack", &expected, "the guest under libkrun", &tree)?;
    Ok(format!(
        "{} entries, {} outer starts",
        expected.lines().count(),
        outcome.outer_starts
    ))
}
