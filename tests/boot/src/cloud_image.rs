//! A Debian on a disk, as clouds boot it: made by FAI, the tool of Debian's own cloud images, or one that
//! somebody published.
//!
//! An installation takes minutes, so the test runs on request alone.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use fs_err as fs;
use test_fixtures::command::quiet;
use test_fixtures::{images, tools};
use test_support::harness::Trial;
use test_support::{TestEnv, expect_code, settings, succeed};

use crate::trial::boot_found;

const NAME: &str = "cloud-image";
const FORK: &str = "cloud-image-fork";
/// A disk image to boot instead, which has a Debian or one of its derivatives.
const IMAGE: &str = "MSB_TEST_CLOUD_IMAGE";
/// The programs that make an image, and the packages of Debian that have them.
const PROGRAMS: [(&str, &str); 4] = [
    ("fai-diskimage", "fai-server"),
    ("setup-storage", "fai-setup-storage"),
    ("udevadm", "udev"),
    ("parted", "parted"),
];
/// FAI's example of a configuration, and the package that has it.
const EXAMPLE: &str = "/usr/share/doc/fai-doc/examples/simple";
const EXAMPLE_PACKAGE: &str = "fai-doc";
/// FAI's classes of the image: what is installed, and how the disk is divided.
const CLASSES: &str = "DEFAULT,LINUX,AMD64,BOOKWORM64,FAIBASE,DEBIAN,CLOUD";
/// Prints the number of packages. It fails if a file of one differs from its digest; files of configuration may.
const LOOK: &str = "set -e; dpkg --version > /dev/null; changed=$(dpkg --verify | grep -v ' c ' || :); \
    test -z \"$changed\" || { echo \"$changed\"; exit 1; }; dpkg-query -W | wc -l";
/// Removes much of the system.
const BREAK: &str = "rm -rf /usr/lib/python3* /usr/share /etc/passwd /boot; sync";

/// Returns the test.
pub(crate) fn tests() -> Vec<Trial> {
    vec![boot_found("filesystems", "a cloud image", booted).with_ignored_flag(true)]
}

/// Boots an image, has its own package manager look at every file, breaks the system and goes back, and boots
/// a fork.
fn booted(env: &TestEnv) -> Result<String> {
    let image = match settings::path(IMAGE) {
        Some(image) => image,
        None => install(&env.work)?,
    };
    let disk = image.to_str().context("a path of text")?;
    let memory = format!("{}M", env.memory_mib());
    let start = || {
        // A start without an answer leaves its sandbox.
        let _ = told(env, &["rm", "-f", NAME]);
        let mut line = env.machine_command("run");
        line.args(["-d", "--cpus", "1", "--memory", &memory, "--name", NAME]);
        line.args(["--root-disk", disk, "sleep", "10000"]);
        line
    };
    expect_code(&env.retried(start, &[])?, 0)?;
    let packages = guest(env, NAME, LOOK)?;
    let clean = format!("{NAME}@clean");
    told(env, &["snapshot", "create", &clean])?;
    let broken =
        format!("{BREAK}; if ({LOOK}) > /dev/null; then echo nothing is missing; exit 1; fi");
    guest(env, NAME, &broken)?;
    told(env, &["rollback", &clean])?;
    ensure!(guest(env, NAME, LOOK)? == packages, "rolled back");
    told(env, &["fork", NAME, FORK])?;
    let start_fork = || {
        let mut line = env.machine_command("start");
        line.arg(FORK);
        line
    };
    expect_code(&env.retried(start_fork, &[])?, 0)?;
    ensure!(guest(env, FORK, LOOK)? == packages, "the fork");
    told(env, &["rm", "-f", NAME, FORK])?;
    let bytes = fs::metadata(&image)?.len();
    Ok(format!("{} packages, {} MiB", packages.trim(), bytes >> 20))
}

fn guest(env: &TestEnv, name: &str, script: &str) -> Result<String> {
    told(env, &["exec", name, "sh", "-c", script])
}

fn told(env: &TestEnv, words: &[&str]) -> Result<String> {
    let output = succeed(env.msb().args(words))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Installs a Debian with its kernel and boot loader on a disk, and returns that as a compressed qcow2.
fn install(work: &Path) -> Result<PathBuf> {
    tools::install_programs(&PROGRAMS)?;
    if !Path::new(EXAMPLE).exists() {
        tools::install_packages(&[EXAMPLE_PACKAGE])?;
    }
    let (config, image) = (work.join("config"), work.join("cloud.qcow2"));
    quiet(Command::new("cp").args(["-r", EXAMPLE]).arg(&config))?;
    // It asks for a network manager that the classes do not install.
    fs::remove_file(config.join("scripts/CLOUD/10-network"))?;
    // No server boots this machine again.
    let hook = config.join("hooks/chboot.DEFAULT.sh");
    fs::write(&hook, "skiptask chboot\n")?;
    fs::set_permissions(&hook, Permissions::from_mode(0o755))?;
    let base = config.join("basefiles/BOOKWORM64.tar.zst");
    let mut pack = Command::new("tar");
    pack.args(["--create", "--zstd", "--one-file-system", "--file"]);
    pack.arg(&base).arg("--directory").arg(images::base_tree()?);
    quiet(pack.arg("."))?;
    let mut fai = Command::new("fai-diskimage");
    fai.args(["--hostname", "cloud", "--size", "1500M"]);
    fai.args(["--class", CLASSES, "--cspace"]);
    fai.arg(format!("file://{}", config.display())).arg(&image);
    quiet(&mut fai)?;
    Ok(image)
}
