//! The examples of the Rust SDK, run as programs of their own.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use test_fixtures::build::cargo;
use test_fixtures::command::quiet;
use test_fixtures::{DistributionRegistry, images, paths};
use test_support::{TestEnv, describe, expect_code};

/// Each example, and text that its output holds.
const EXAMPLES: &[(&str, &[&str])] = &[
    ("agent_sandbox", &["20"]),
    ("allow_list", &["example.com: exit code 1"]),
    ("clean_up", &["removed left", "bytes of images are free"]),
    ("files_in_and_out", &["copied to "]),
    ("limits", &["it had printed: so far"]),
    ("no_network", &["lo:"]),
    (
        "parallel_sandboxes",
        &["0 squared is 0", "1 squared is 1", "2 squared is 4"],
    ),
    ("run_a_command", &["exit code 0: Linux"]),
    ("server_and_port", &["200 OK"]),
    (
        "stream_a_build",
        &["building part 1", "building part 3", "exit code 0"],
    ),
    (
        "volumes_and_caches",
        &["builds so far: 1", "builds so far: 2"],
    ),
];
/// The stopped sandbox that one example finds, and the running one that another leaves.
const LEFT: &str = "left";
const KEPT: &str = "agent";
const PULL: &str = "pull_progress";

/// Runs every example with the test image in the home under test.
pub(super) fn check(env: &TestEnv) -> Result<()> {
    let programs = built()?;
    let stopped = ["--name", LEFT, "--label", "owner=example"];
    expect_code(&env.run(&stopped, &["true"])?, 0)?;
    for &(name, expected) in EXAMPLES {
        let line = || {
            let mut example = in_environment(env, &programs.join(name));
            example.arg(env.image());
            example
        };
        let output = env.retried(line, &[])?;
        let printed = String::from_utf8_lossy(&output.stdout);
        for part in expected {
            ensure!(printed.contains(part), "{name}: {}", describe(&output));
        }
    }
    expect_code(&env.msb().args(["rm", "-f", KEPT]).output()?, 0)?;
    pull(env, &programs.join(PULL))
}

/// Runs the example that pulls, with an image of a registry.
fn pull(env: &TestEnv, program: &Path) -> Result<()> {
    let registry = DistributionRegistry::start()?;
    let name = registry.push(&images::demo()?, "example")?;
    let mut example = in_environment(env, program);
    example.arg(&name).env("MSB_HOME", env.work.join("pulled"));
    let output = example.output()?;
    let printed = String::from_utf8_lossy(&output.stdout);
    ensure!(
        output.status.success() && printed.contains(" bytes\n") && printed.contains("sha256:"),
        "{}",
        describe(&output)
    );
    Ok(())
}

/// Returns the command of an example that uses the home, the msb and the kernel under test.
fn in_environment(env: &TestEnv, program: &Path) -> Command {
    let mut example = Command::new(program);
    example
        .env("MSB_HOME", env.home())
        .env("MSB_PROGRAM", &env.program)
        .env("MSB_KERNEL", &env.kernel)
        .env("MSB_VMM", env.vmm());
    example
}

/// Builds the examples, and returns their directory.
fn built() -> Result<PathBuf> {
    let mut build = cargo();
    build.args(["build", "--quiet", "--locked", "--workspace"]);
    build.args(["--exclude", "xtask", "--package", "msb-sdk"]);
    quiet(build.args(["--examples"])).context("the examples of msb-sdk")?;
    Ok(paths::root().join("target/debug/examples"))
}
