use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use crate::lab::Job;
use crate::oracle::{self, Msb};
use crate::registry::Registry;
use crate::run::{shown, step};
use crate::{
    build, docker, engines, erofs, ext4, fidelity, fuzz, image, kernel, lab_recipe, lint, place,
    powercut, stress, tools,
};

const IMAGE: &str = "localhost/debian-python:latest";
/// How often `msb load` is killed.
const KILLS: u32 = 200;

/// What the steps after the build work with.
struct Ground {
    msb: Msb,
    kernel: PathBuf,
    layout: PathBuf,
    small: PathBuf,
    tree_dump: PathBuf,
    work: PathBuf,
}

/// One step: its name, and what it does; it gives what it found.
type Step = (&'static str, fn(&Ground) -> Result<String>);

const STEPS: &[Step] = &[
    ("oracle: EROFS images through every reader", erofs_readers),
    (
        "oracle: hostile layers agree with containerd, moby and umoci",
        hostile_layers,
    ),
    (
        "oracle: random layers agree with containerd and umoci",
        random_layers,
    ),
    (
        "oracle: every case of layer semantics, natively and in the guest",
        layer_semantics,
    ),
    ("fuzz: every target", fuzz_targets),
    ("oracle: two stores hold the same bytes", same_bytes),
    (
        "oracle: artifacts are accepted by fsck.erofs and qemu-img",
        artifacts,
    ),
    ("oracle: bad input is refused clearly", refusals),
    (
        "oracle: ext4 images are accepted by e2fsck and the kernel",
        ext4_images,
    ),
    ("oracle: msb load survives being killed", kills),
    ("lab: msb's store survives power cuts", power_cuts),
    ("store: many processes, some of them killed", stress_store),
    (
        "store: a flipped byte is found, refused and mended",
        flipped_bytes,
    ),
    ("store: full disks", full_disks),
    ("store: errors of the disk", failing_disks),
    (
        "store: the same bytes on every number of processors",
        determinism,
    ),
    ("boot: pulled from a real registry", pulled),
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
    ("boot: checks and tree under libkrun, in the lab", lab),
];

/// Runs everything, cheap first, or only the steps whose name holds `only`. Goes on after a failed
/// step, and fails at the end.
pub(crate) fn run(only: Option<&str>) -> Result<()> {
    tools::install()?;
    let kernel = kernel::fetch()?;
    if only.is_none() {
        lint::run()?;
        step("unit, golden, property and oracle tests");
        shown(
            build::cargo()
                .args(["test", "--workspace", "--locked"])
                .env("MSB_KERNEL", &kernel),
        )?;
    }
    let ground = Ground::prepare(kernel)?;
    let chosen = STEPS
        .iter()
        .filter(|(name, _)| only.is_none_or(|only| name.contains(only)));
    let (mut passed, mut failed) = (0, 0);
    for (name, check) in chosen {
        step(name);
        let begun = Instant::now();
        match check(&ground) {
            Ok(found) => {
                passed += 1;
                println!("ok      {name}: {found} ({} s)", begun.elapsed().as_secs());
            }
            Err(error) => {
                failed += 1;
                println!("FAILED  {name}: {error:?}");
            }
        }
    }
    println!("steps: {passed} passed, {failed} failed");
    ensure!(passed + failed > 0, "no step has such a name");
    ensure!(failed == 0, "{failed} steps failed");
    Ok(())
}

impl Ground {
    fn prepare(kernel: PathBuf) -> Result<Self> {
        let ground = Self {
            msb: Msb {
                program: build::msb()?,
                home: place::scratch("test-home")?,
            },
            kernel,
            layout: image::demo()?,
            small: image::small()?,
            tree_dump: build::tree_dump()?,
            work: place::scratch("test")?,
        };
        ground.msb.load(&ground.layout, IMAGE)?;
        Ok(ground)
    }
}

fn erofs_readers(_: &Ground) -> Result<String> {
    erofs::corpus(&erofs::Arguments {
        trees: 200,
        first: 0,
        installed: false,
        sizes: false,
    })
}

fn hostile_layers(_: &Ground) -> Result<String> {
    engines::run(&engines::Arguments::default())
}

fn random_layers(_: &Ground) -> Result<String> {
    engines::run(&engines::Arguments {
        sequences: Some(2000),
        ..engines::Arguments::default()
    })
}

fn layer_semantics(_: &Ground) -> Result<String> {
    fidelity::run(&fidelity::Arguments::default())
}

fn fuzz_targets(_: &Ground) -> Result<String> {
    fuzz::run(&fuzz::Arguments {
        seconds: 60,
        target: None,
        jobs: 2,
        seed: false,
    })
}

fn same_bytes(ground: &Ground) -> Result<String> {
    let files = oracle::load_twice(&ground.msb.program, &ground.layout, &ground.work)?;
    Ok(format!("{files} files"))
}

fn artifacts(ground: &Ground) -> Result<String> {
    let layers = oracle::check_artifacts(&ground.msb, IMAGE, &ground.work)?;
    ensure!(layers >= 10, "the image has {layers} layers");
    Ok(format!("{layers} layers"))
}

fn refusals(ground: &Ground) -> Result<String> {
    let cases = oracle::check_refusals(&ground.msb.program, &ground.small, &ground.work)?;
    Ok(format!("{cases} cases"))
}

fn ext4_images(_: &Ground) -> Result<String> {
    ext4::run(&ext4::Arguments {
        count: 40,
        first: 0,
        used: 2,
        work: None,
    })
}

fn kills(ground: &Ground) -> Result<String> {
    let in_time = oracle::kill_loads(&ground.msb.program, &ground.small, &ground.work, KILLS)?;
    ensure!(
        in_time > KILLS / 2,
        "only {in_time} kills came in time to prove anything"
    );
    Ok(format!(
        "{KILLS} kills, {in_time} before the load had ended"
    ))
}

fn power_cuts(_: &Ground) -> Result<String> {
    powercut::quick()
}

/// What the recipes of the store work with.
fn store_ground(ground: &Ground) -> stress::Ground<'_> {
    stress::Ground {
        program: &ground.msb.program,
        kernel: &ground.kernel,
        small: &ground.small,
        work: &ground.work,
    }
}

fn stress_store(ground: &Ground) -> Result<String> {
    let ground = store_ground(ground);
    let overlapping = stress::pull_overlapping(&ground, 1)?;
    let crowd = stress::pull_at_once(&ground, 1)?;
    let kills = stress::kill_pulls(&ground, 30)?;
    Ok(format!("{overlapping}; {crowd}; {kills}"))
}

fn flipped_bytes(ground: &Ground) -> Result<String> {
    stress::flip_bytes(&store_ground(ground), 50)
}

fn full_disks(ground: &Ground) -> Result<String> {
    stress::fill_disks(&store_ground(ground), 4)
}

fn failing_disks(ground: &Ground) -> Result<String> {
    stress::fail_calls(&store_ground(ground), 8)
}

fn determinism(ground: &Ground) -> Result<String> {
    stress::same_bytes_every_time(&store_ground(ground), 4)
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

/// This program, as it runs in a guest too: the checks with an msb and a VMM.
fn itself(ground: &Ground, recipe: &str, vmm: &str) -> Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command
        .arg(recipe)
        .arg("--msb")
        .arg(&ground.msb.program)
        .args(["--image", IMAGE, "--vmm", vmm])
        .env("MSB_HOME", &ground.msb.home)
        .env("MSB_KERNEL", &ground.kernel);
    Ok(command)
}

fn checks_under_qemu(ground: &Ground) -> Result<String> {
    shown(&mut itself(ground, "checks", "qemu")?)?;
    Ok("all".to_owned())
}

fn invocations(ground: &Ground) -> Result<String> {
    docker::run(&docker_ground(ground), 4)
}

fn docker_ground(ground: &Ground) -> docker::Ground<'_> {
    docker::Ground {
        program: &ground.msb.program,
        kernel: &ground.kernel,
        layout: &ground.layout,
        vmm: "qemu",
    }
}

/// The whole table of invocations.
pub(crate) fn docker() -> Result<String> {
    let ground = Ground::prepare(kernel::fetch()?)?;
    docker::run(&docker_ground(&ground), 1)
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
    let mut dump = itself(ground, "guest-tree", "qemu")?;
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

/// The same checks, with the store as it is here, under real libkrun.
fn lab(ground: &Ground) -> Result<String> {
    const SCRIPT: &str = "export MSB_HOME=/job/home MSB_KERNEL=/job/libkrunfw.so; \
        ./xtask checks --msb ./msb --vmm krun --memory 256 --boot-timeout 90 --image \"$0\" && \
        ./xtask guest-tree --msb ./msb --vmm krun --memory 512 --boot-timeout 90 --image \"$0\" \
            --tree-dump ./tree-dump > out/tree";
    let input = |path: &Path, name: &str| (path.to_owned(), name.to_owned());
    let job = Job {
        inputs: vec![
            input(&ground.msb.program, "msb"),
            input(&std::env::current_exe()?, "xtask"),
            input(&ground.tree_dump, "tree-dump"),
            input(&ground.kernel, "libkrunfw.so"),
            input(&ground.msb.home, "home"),
        ],
        command: ["sh", "-c", SCRIPT, IMAGE].map(str::to_owned).to_vec(),
        timeout: Duration::from_secs(1200),
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
