//! Proves that a kernel has the options of `kernel-config/msb.config`, by using them in the lab.
//!
//! msb's own kernel also has to have the options of the other fragments that a probe uses.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use fs_err as fs;
use rustix::fs::{XattrFlags, lsetxattr};

use test_fixtures::{kernel, paths};
use test_support::harness::{self, Trial};
use test_support::lab::{Job, Lab};

const TIMEOUT: Duration = Duration::from_secs(180);
const MEMORY_MIB: u32 = 512;

/// The fragment that every kernel has to have.
const MSB_FRAGMENT: &str = include_str!("../../../kernel-config/msb.config");

/// Fragments that only msb's own kernel is built from.
const OWN_FRAGMENTS: [&str; 3] = [
    include_str!("../../../kernel-config/base.config"),
    include_str!("../../../kernel-config/guest.config"),
    include_str!("../../../kernel-config/hardening.config"),
];

/// The end of the release of msb's own kernel (`CONFIG_LOCALVERSION` of `base.config`).
const OWN_RELEASE: &str = "-msb";

/// Content of the image's one file, which `kernel-config/probe` expects.
const CONTENT: &[u8] = b"chunked\n";
const CONTENT_REPEATS: usize = 4096;

/// `CAP_NET_BIND_SERVICE`, effective, as `VFS_CAP_REVISION_2` (uapi/linux/capability.h).
const CAPABILITY: [u8; 20] = [1, 0, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// Returns the test of the kernel in use.
pub(crate) fn tests() -> Vec<Trial> {
    vec![harness::test("kernel::boot_the_kernels_options", run)]
}

/// Boots the kernel and prints `ok` or `MISSING` for each option.
fn run() -> Result<String> {
    let kernel_config = paths::root().join("kernel-config");
    let (image, blob) = make_image(&paths::scratch("kernel-check")?)?;
    let outcome = Lab::with_kernel(&kernel::guest()?)?.run(&Job {
        inputs: vec![
            (kernel_config.join("probe"), "probe".to_string()),
            (image, "chunks.erofs".to_string()),
            (blob, "chunks.blob".to_string()),
        ],
        command: ["python3", "-B", "probe"].map(String::from).to_vec(),
        timeout: TIMEOUT,
        memory_mib: MEMORY_MIB,
        nested: false,
    })?;
    let stdout = String::from_utf8_lossy(&outcome.stdout);
    let stderr = String::from_utf8_lossy(&outcome.stderr);
    ensure!(
        outcome.code == 0,
        "the probes ended with {}: {stderr}",
        outcome.code
    );
    let verdicts = verdicts(&stdout);
    let mut wanted = options(MSB_FRAGMENT);
    wanted.extend(own_options(&stdout, &verdicts));
    judge(&wanted, &verdicts).with_context(|| format!("the probes wrote:\n{stderr}"))?;
    Ok(format!("{} options", wanted.len()))
}

/// Judges what the probes of some modules printed in a sandbox: each option that they know of, of
/// those that the kernel has to have.
pub(crate) fn judge_known(stdout: &str) -> Result<()> {
    let verdicts = verdicts(stdout);
    let probed = |option: &&str| verdicts.contains_key(option);
    let mut wanted: BTreeSet<_> = options(MSB_FRAGMENT).into_iter().filter(probed).collect();
    ensure!(!wanted.is_empty(), "the probes printed {stdout:?}");
    wanted.extend(own_options(stdout, &verdicts));
    judge(&wanted, &verdicts)
}

/// Returns the options of msb's own kernel that a probe knows of; none if another kernel ran.
fn own_options(stdout: &str, verdicts: &BTreeMap<&str, bool>) -> Vec<&'static str> {
    if !is_own(stdout) {
        return Vec::new();
    }
    let own = OWN_FRAGMENTS.iter().flat_map(|fragment| options(fragment));
    own.filter(|option| verdicts.contains_key(option)).collect()
}

/// Returns true if the probes ran on msb's own kernel.
fn is_own(stdout: &str) -> bool {
    let release = stdout
        .lines()
        .find_map(|line| line.strip_prefix("release "));
    release.is_some_and(|release| release.ends_with(OWN_RELEASE))
}

/// Returns the options that a configuration fragment sets.
fn options(fragment: &str) -> BTreeSet<&str> {
    let settings = fragment.lines().filter(|line| line.starts_with("CONFIG_"));
    settings
        .filter_map(|line| Some(line.split_once('=')?.0))
        .collect()
}

/// Returns true for each option that works. An option with several probes needs all of them.
fn verdicts(stdout: &str) -> BTreeMap<&str, bool> {
    let mut verdicts = BTreeMap::new();
    for (verdict, option) in stdout.lines().filter_map(|line| line.split_once(' ')) {
        *verdicts.entry(option).or_insert(true) &= verdict == "ok";
    }
    verdicts
}

fn judge(wanted: &BTreeSet<&str>, verdicts: &BTreeMap<&str, bool>) -> Result<()> {
    let mut missing = Vec::new();
    for &option in wanted {
        let is_there = *verdicts
            .get(option)
            .with_context(|| format!("{option} has no probe"))?;
        println!("{} {option}", if is_there { "ok" } else { "MISSING" });
        if !is_there {
            missing.push(option);
        }
    }
    ensure!(
        missing.is_empty(),
        "the kernel lacks {}",
        missing.join(", ")
    );
    Ok(())
}

/// Makes an EROFS with a file that has attributes and its chunks on a device of its own.
fn make_image(work: &Path) -> Result<(PathBuf, PathBuf)> {
    let directory = work.join("tree/directory");
    fs::create_dir_all(&directory)?;
    let file = directory.join("file");
    fs::write(&file, CONTENT.repeat(CONTENT_REPEATS))?;
    let attributes: [(&str, &[u8]); 3] = [
        ("user.probe", b"1"),
        ("trusted.probe", b"2"),
        ("security.capability", &CAPABILITY),
    ];
    for (name, value) in attributes {
        lsetxattr(&file, name, value, XattrFlags::empty())
            .with_context(|| format!("cannot set {name} on {}", file.display()))?;
    }
    let (image, blob) = (work.join("chunks.erofs"), work.join("chunks.blob"));
    fs::write(&blob, [])?;
    let output = Command::new("mkfs.erofs")
        .args(["--quiet", "--chunksize=4096"])
        .arg(format!("--blobdev={}", blob.display()))
        .args([&image, &work.join("tree")])
        .output()
        .context("cannot run mkfs.erofs")?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "mkfs.erofs: {stderr}");
    Ok((image, blob))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fragment_names_its_options() {
        let fragment = "# CONFIG_NO is not set\n\nCONFIG_A=y\n# words\nCONFIG_B_2=64\n";
        assert_eq!(
            options(fragment),
            BTreeSet::from(["CONFIG_A", "CONFIG_B_2"])
        );
    }

    #[test]
    fn the_own_kernel_is_known_by_its_release() {
        assert!(is_own("ok CONFIG_A\nrelease 6.12.117-msb\n"));
        assert!(!is_own("release 6.12.91\nok CONFIG_A\n"));
        assert!(!is_own(""));
    }

    #[test]
    fn an_option_without_a_probe_fails() {
        let wanted = BTreeSet::from(["CONFIG_A"]);
        assert!(judge(&wanted, &verdicts("ok CONFIG_B\n")).is_err());
        assert!(judge(&wanted, &verdicts("ok CONFIG_A\n")).is_ok());
    }

    #[test]
    fn an_option_is_missing_if_one_of_its_probes_fails() {
        let wanted = BTreeSet::from(["CONFIG_A"]);
        let verdicts = verdicts("ok CONFIG_A\nMISSING CONFIG_A\nok CONFIG_A\n");
        assert!(judge(&wanted, &verdicts).is_err());
    }
}
