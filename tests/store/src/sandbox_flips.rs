//! Flipped bytes of the records of sandboxes.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::random::Random;
use super::stage::{BEFORE, layout};
use super::told;
use test_support::{Msb, TestEnv, succeed};

/// The sandbox whose record is damaged, with settings that a default would lose.
const NAME: &str = "kept";

/// Flips one bit at a time of `sandbox.json` and of its copy, and then of both. The sandbox stays in the
/// lists with its settings, its image stays, and a start or a removal does what it did before.
pub(crate) fn flip_records(env: &TestEnv, count: u32) -> Result<String> {
    let msb = env.msb_at("sandboxes")?;
    msb.load(&layout(env), BEFORE)?;
    let mut random = Random::new();
    eprintln!("flipped bytes of records: seed {}", random.seed);
    let mut sandbox = create(&msb)?;
    for round in 0..count {
        for name in ["sandbox.json", "sandbox.copy.json"] {
            let (path, whole) = (sandbox.join(name), read(&sandbox)?);
            let at = flip(&path, &mut random)?;
            let told = || format!("round {round}: byte {at} of {name}");
            one_is_damaged(&msb, name == "sandbox.json").with_context(told)?;
            // A host on which no sandbox can run makes the doctor fail, after its repairs.
            let fixed = msb.command(&["doctor", "--fix"]).output()?;
            let text = super::told(&fixed);
            ensure!(
                text.contains("wrote its record again"),
                "{}: {text}",
                told()
            );
            ensure!(read(&sandbox)? == whole, "{}: {text}", told());
            flip(&path, &mut random)?;
            starts(&msb).with_context(told)?;
            drop(msb.command(&["doctor", "--fix"]).output()?);
            ensure!(read(&sandbox)? == whole, "{} and a start", told());
        }
        both_are_damaged(&msb, &sandbox, &mut random).with_context(|| format!("round {round}"))?;
        sandbox = create(&msb)?;
    }
    Ok(format!(
        "{count} flips of a record, of its copy and of both: the sandbox was listed, its settings and its \
         image kept, and it was mended or removed"
    ))
}

/// Creates the sandbox, and returns its directory.
fn create(msb: &Msb) -> Result<PathBuf> {
    let arguments = [
        "create",
        "-q",
        "--name",
        NAME,
        "--read-only",
        "--network",
        "none",
    ];
    succeed(
        msb.command(&arguments)
            .args(["--label", "job=7", BEFORE, "true"]),
    )?;
    let rows = rows(msb)?;
    let id = rows[0]["id"].as_str().context("no id")?;
    Ok(msb.home.join("sandboxes").join(id))
}

fn one_is_damaged(msb: &Msb, is_record: bool) -> Result<()> {
    let rows = rows(msb)?;
    ensure!(rows.len() == 1, "{rows:?}");
    let row = &rows[0];
    let is_whole = row["name"] == NAME && row["state"] == "created" && row["labels"]["job"] == "7";
    ensure!(is_whole, "{row}");
    ensure!(row["problem"].is_string() == is_record, "{row}");
    let output = msb.command(&["inspect", NAME]).output()?;
    let inspected: Value = serde_json::from_slice(&output.stdout)?;
    ensure!(inspected[0]["read_only"] == true, "{inspected}");
    ensure!(inspected[0]["network"].is_null(), "{inspected}");
    keeps_its_image(msb)?;
    let found = doctor(msb)?;
    ensure!(found.contains("damaged"), "{found}");
    Ok(())
}

/// Checks that the sandbox starts as far as it can without krun, which this host does not have.
fn starts(msb: &Msb) -> Result<()> {
    let started = msb.command(&["start", "--vmm", "krun", NAME]).output()?;
    ensure!(
        told(&started).contains("cannot use krun"),
        "{}",
        told(&started)
    );
    Ok(())
}

fn both_are_damaged(msb: &Msb, sandbox: &Path, random: &mut Random) -> Result<()> {
    for name in ["sandbox.json", "sandbox.copy.json"] {
        flip(&sandbox.join(name), random)?;
    }
    let rows = rows(msb)?;
    ensure!(
        rows.len() == 1 && rows[0]["state"] == "unreadable",
        "{rows:?}"
    );
    let id = rows[0]["id"].as_str().context("no id")?;
    // The name is known if the contents of the two records still agree.
    let name = rows[0]["name"].as_str().context("no name")?;
    let running = msb.command(&["ps"]).output()?;
    ensure!(told(&running).contains("Unreadable"), "{}", told(&running));
    let pruned = msb.command(&["prune", "--all"]).output()?;
    ensure!(pruned.status.code() == Some(125), "{}", told(&pruned));
    ensure!(
        told(&pruned).contains(&format!("msb rm {name}")),
        "{}",
        told(&pruned)
    );
    let removed = msb.command(&["image", "rm", BEFORE]).output()?;
    ensure!(removed.status.code() == Some(125), "{}", told(&removed));
    ensure!(
        doctor(msb)?.contains(&format!("msb rm {name}")),
        "the doctor does not name it"
    );
    let started = msb.command(&["start", "--vmm", "krun", id]).output()?;
    ensure!(
        told(&started).contains("record is damaged"),
        "{}",
        told(&started)
    );
    let ids: Vec<_> = fs::read_dir(msb.home.join("sandboxes"))?.collect();
    ensure!(ids.len() == 1, "{ids:?}");
    succeed(&mut msb.command(&["rm", id]))?;
    ensure!(!sandbox.exists(), "{} is left", sandbox.display());
    Ok(())
}

/// Checks that no prune would take the image.
fn keeps_its_image(msb: &Msb) -> Result<()> {
    let arguments = ["prune", "--all", "--dry-run", "--format", "json"];
    let output = msb.command(&arguments).output()?;
    let pruned: Value = serde_json::from_slice(&output.stdout).with_context(|| told(&output))?;
    ensure!(
        pruned["images"].as_array().is_some_and(Vec::is_empty),
        "{pruned}"
    );
    ensure!(
        pruned["spared"]
            .as_array()
            .is_some_and(|spared| spared.len() == 1),
        "{pruned}"
    );
    Ok(())
}

fn rows(msb: &Msb) -> Result<Vec<Value>> {
    let output = msb.command(&["ps", "-a", "--format", "json"]).output()?;
    let rows: Value = serde_json::from_slice(&output.stdout).with_context(|| told(&output))?;
    rows.as_array().cloned().context("no rows")
}

/// Returns what the doctor says. Its exit code is that of a host on which sandboxes cannot run.
fn doctor(msb: &Msb) -> Result<String> {
    Ok(told(&msb.command(&["doctor"]).output()?))
}

/// Flips a random bit of a random byte of a file. Returns the byte's index.
fn flip(path: &Path, random: &mut Random) -> Result<usize> {
    let mut bytes = fs::read(path)?;
    let at = random.below(bytes.len());
    bytes[at] ^= 1 << random.below(8);
    fs::write(path, bytes)?;
    Ok(at)
}

/// Returns the record and its copy.
fn read(sandbox: &Path) -> Result<(Vec<u8>, Vec<u8>)> {
    let bytes = |name: &str| fs::read(sandbox.join(name));
    Ok((bytes("sandbox.json")?, bytes("sandbox.copy.json")?))
}
