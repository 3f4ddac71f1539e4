//! Steps whose work is this machine's own.

use std::fs;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use super::Step;
use super::ground::{Ground, IMAGE};
use crate::run::{quiet, shown};
use crate::{attacks, browser, build, engines, erofs, ext4, fuzz, oracle, place, stress};

/// How often `msb load` is killed.
const KILLS: u32 = 200;

pub(super) const STEPS: &[Step] = &[
    ("unit, golden, property and oracle tests", unit_tests),
    ("oracle: EROFS images through every reader", erofs_readers),
    (
        "oracle: hostile layers agree with containerd, moby and umoci",
        hostile_layers,
    ),
    (
        "oracle: random layers agree with containerd and umoci",
        random_layers,
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
    (
        "network: floods by a guest and by peers leave it its memory",
        network_floods,
    ),
    ("bench: a report's page is readable in a browser", pages),
];

/// A page that no reader can be content with, to judge the judge.
const BAD_PAGE: &str = "<!doctype html><svg viewBox=\"0 0 860 100\" width=\"860\">\
    <text x=\"10\" y=\"20\">one word</text><text x=\"12\" y=\"21\">another</text></svg>";
/// A report with every kind of plot, as it was reviewed.
const SAMPLE_PAGE: &str =
    "bench/src/report/snapshots/msb_bench__report__tests__a_report_as_a_page.snap";

fn unit_tests(ground: &Ground) -> Result<String> {
    shown(build::tests().env("MSB_KERNEL", &ground.kernel))?;
    shown(&mut build::own_tests())?;
    Ok("all".to_owned())
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

fn network_floods(ground: &Ground) -> Result<String> {
    let lines = attacks::network::run(&ground.msb.program)?;
    println!("{lines}");
    Ok(format!("{} floods", lines.lines().count()))
}

/// The page of the sample, and one of a benchmark that runs here.
fn pages(ground: &Ground) -> Result<String> {
    ensure!(
        browser::judge(BAD_PAGE).is_err(),
        "a bad page passes for a good one"
    );
    let sample = fs::read_to_string(place::root().join(SAMPLE_PAGE))?;
    let page = sample.splitn(3, "---\n").nth(2);
    let of_sample = browser::judge(page.context("the sample's page has no head")?)?;
    let written = ground.work.join("growth.html");
    let growth = ["bench", "growth", "--no-sandboxes", "--rounds", "1"];
    let mut bench = Command::new(&ground.msb.program);
    bench
        .args(growth)
        .args(["--most-files", "1000", "--format", "json"])
        .arg("--work")
        .arg(&ground.work)
        .arg("--html")
        .arg(&written)
        .env("MSB_HOME", &ground.msb.home);
    quiet(&mut bench)?;
    let of_growth = browser::judge(&fs::read_to_string(&written)?)?;
    Ok(format!("{} plots", of_sample + of_growth))
}
