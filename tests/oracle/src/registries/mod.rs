//! Pushes to the registries of other projects, and what skopeo and another store find there.

mod cutting;

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use fs_err as fs;
use serde_json::Value;
use test_fixtures::{LocalRegistry, RegistryProgram};
use test_support::harness::{self, Trial};
use test_support::oci_layout::digest;
use test_support::{Msb, TestEnv, succeed};
use testkit::images::{Packing, TestImage, TestLayer, write_directory};

/// Connections that the proxy breaks off, and the bytes of a request that it lets through before.
const CUTS: usize = 3;
const CUT_AFTER_BYTES: u64 = 900_000;

/// Returns a test for each registry.
pub(crate) fn tests() -> Vec<Trial> {
    let test = |program: RegistryProgram| {
        let name = match program {
            RegistryProgram::Debian => "of_debian",
            RegistryProgram::Distribution => "distribution_v3",
            RegistryProgram::GoContainerRegistry => "go_containerregistry",
        };
        let name = format!("stores::registry_{name}_has_what_is_pushed");
        harness::test(&name, move || push_to(program))
    };
    RegistryProgram::ALL.into_iter().map(test).collect()
}

/// Pushes an image, takes it back, lends its layers to another repository, pushes a child of it, and
/// pushes over a line that breaks.
fn push_to(program: RegistryProgram) -> Result<String> {
    let env = TestEnv::new(&format!("registries-{program:?}"))?;
    let registry = LocalRegistry::start_program(program)?;
    let name = |rest: &str| format!("{}/{rest}", registry.address());
    let msb = env.msb_at("home")?;
    load(&env, &msb)?;

    let first = name("team/app:1");
    let pushed = push(&msb, &["app:1", &first])?;
    ensure!(routes(&pushed) == ["rebuilt"; 2], "{pushed}");
    expect_skopeo_finds(&env, &first, &pushed["digest"])?;
    let zstd = push(
        &msb,
        &["--compression", "zstd", "app:1", &name("team/app:zstd")],
    )?;
    ensure!(
        zstd["digest"] != pushed["digest"],
        "it is not compressed otherwise"
    );

    let other = env.msb_at("other")?;
    for (tag, pushed) in [("1", &pushed), ("zstd", &zstd)] {
        let name = name(&format!("team/app:{tag}"));
        succeed(&mut other.command(&["pull", "-q", &name]))?;
        let (here, there) = (image(&msb, "app:1")?, image(&other, &name)?);
        ensure!(there["manifest_digest"] == pushed["digest"], "{there}");
        ensure!(
            there["chain_key"] == here["chain_key"],
            "{there} is not {here}"
        );
    }

    let lent = push(&other, &[&first, &name("lent/app:1")])?;
    ensure!(lent["digest"] == pushed["digest"], "{lent}");
    ensure!(
        lent["uploaded_bytes"] == 0,
        "layers were sent again: {lent}"
    );

    commit(&env, &other, &first)?;
    let child = push(&other, &["child:1", &name("lent/app:2")])?;
    let layers = child["layers"].as_array().context("no layers")?;
    ensure!(
        child["uploaded_bytes"] == layers[2]["size_bytes"],
        "{child}"
    );
    ensure!(routes(&child)[2] == "rebuilt", "{child}");
    expect_skopeo_finds(&env, &name("lent/app:2"), &child["digest"])?;

    let line = cutting::serve(registry.address(), CUTS, CUT_AFTER_BYTES)?;
    let broken = push(&msb, &["app:1", &format!("{line}/broken/app:1")])?;
    ensure!(broken["digest"] == pushed["digest"], "{broken}");
    expect_skopeo_finds(&env, &name("broken/app:1"), &broken["digest"])?;
    env.remove_work()?;
    let bytes = pushed["uploaded_bytes"].as_u64().unwrap_or_default();
    Ok(format!(
        "{bytes} bytes, and {} of a child",
        child["uploaded_bytes"]
    ))
}

/// Loads an image of two layers, one of which is larger than what the proxy lets through.
fn load(env: &TestEnv, msb: &Msb) -> Result<()> {
    let noise = (0..500_000_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes());
    let noise: Vec<u8> = noise.collect();
    let image = TestImage::new(vec![
        TestLayer::new(
            &[("etc/motd", b"hello\n"), ("noise", &noise)],
            Packing::Plain,
        ),
        TestLayer::new(&[("etc/motd", b"good morning\n")], Packing::Plain),
    ]);
    let layout = env.work.join("layout");
    write_directory(&image.layout(Some("latest")), &layout);
    msb.load(&layout, "app:1")
}

/// Commits a sandbox with one more file as `child:1`.
fn commit(env: &TestEnv, msb: &Msb, parent: &str) -> Result<()> {
    let file = env.work.join("file");
    fs::write(&file, "a file of the child\n")?;
    let copied = format!("{}:/etc/file", file.display());
    succeed(&mut msb.command(&["create", "--name", "work", "--copy", &copied, parent]))?;
    succeed(&mut msb.command(&["commit", "work", "child:1"])).map(drop)
}

/// Pushes, and returns what msb reports.
fn push(msb: &Msb, words: &[&str]) -> Result<Value> {
    let mut push = msb.command(&["push", "-q", "--format", "json"]);
    let output = succeed(push.args(words))?;
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn routes(pushed: &Value) -> Vec<&str> {
    let layers = pushed["layers"].as_array().into_iter().flatten();
    let routes = layers.map(|layer| layer["route"].as_str().unwrap_or_default());
    routes.collect()
}

fn image(msb: &Msb, name: &str) -> Result<Value> {
    let output = succeed(&mut msb.command(&["image", "inspect", "--format", "json", name]))?;
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Checks that skopeo finds the manifest with this digest, and can copy the image, for which it
/// compares the digest of every blob.
fn expect_skopeo_finds(env: &TestEnv, name: &str, expected: &Value) -> Result<()> {
    let reference = format!("docker://{name}");
    let raw = skopeo(&["inspect", "--raw", "--tls-verify=false", &reference])?;
    ensure!(*expected == digest(&raw).as_str(), "{expected}: {raw:?}");
    let copy = env.work.join("copy");
    remove(&copy)?;
    let target = format!("dir:{}", copy.display());
    skopeo(&[
        "copy",
        "--quiet",
        "--src-tls-verify=false",
        &reference,
        &target,
    ])?;
    let copied = digest(&fs::read(copy.join("manifest.json"))?);
    ensure!(*expected == copied.as_str(), "skopeo copied {copied}");
    Ok(())
}

fn remove(directory: &Path) -> Result<()> {
    if directory.exists() {
        fs::remove_dir_all(directory)?;
    }
    Ok(())
}

fn skopeo(words: &[&str]) -> Result<Vec<u8>> {
    let mut skopeo = Command::new("skopeo");
    let output = succeed(skopeo.arg("--insecure-policy").args(words))?;
    Ok(output.stdout)
}
