//! The examples of the Rust SDK, run as programs of their own.

use std::path::PathBuf;
use std::process::{Command, Output};

use anyhow::{Context as _, Result, ensure};
use test_fixtures::{LocalRegistry, images};
use test_support::{TestEnv, describe, expect_code};

/// An example, and parts of its output in their order.
type Example = (&'static str, &'static [&'static str]);

/// The examples of the guide. The name that `allow_list` may not reach is refused; whether this
/// host reaches the other one is not known.
const OF_GUIDE: &[Example] = &[
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
    (
        "step_back_and_branch",
        &[
            "one\n",
            "C /work/app\n",
            "1 file is applied\n",
            "example:1\n",
        ],
    ),
    (
        "staged_directory",
        &["C app\n", "R LICENSE (LICENSE=read-only)\n", "app: two\n"],
    ),
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
const PULL: &str = "pull_progress";

/// The examples that docs/sdk-examples.md counts. Whether this host reaches the server of
/// `net_policy` is not known; a sandbox without a network does not.
const COMPARED: &[Example] = &[
    (
        "compared_root_oci",
        &[
            "stdout: Hello from msb!\n",
            "exit code: 0\nuname: Linux",
            "os-release:\n",
        ],
    ),
    (
        "compared_fs_read_stream",
        &["chunk 1: ", "\n10485760 bytes in all\n"],
    ),
    ("compared_volume_named", &["hello from sandbox A\n"]),
    ("compared_net_ports", &["host: Hello from msb!\n"]),
    (
        "compared_net_policy",
        &["outbound: ", "range: ", "none: FAIL\n"],
    ),
    (
        "compared_logs_read",
        &["Stdout", ": line one\n", "console: ", "last: "],
    ),
    (
        "compared_metrics_stream",
        &["[0] CPU: ", "[4] CPU: ", "disk: Some("],
    ),
];

/// The stopped sandbox that an example removes, and the running one that another leaves.
const LEFT: &str = "left";
const KEPT: &str = "agent";

/// Runs the examples of the guide.
pub(super) fn of_guide(env: &TestEnv) -> Result<()> {
    let stopped = ["--name", LEFT, "--label", "owner=example"];
    let output = env.retried(|| env.run_command(&stopped, &["true"]), &[])?;
    expect_code(&output, 0)?;
    print_all(env, OF_GUIDE)?;
    expect_code(&env.msb().args(["rm", "-f", KEPT]).output()?, 0)?;
    let registry = LocalRegistry::start()?;
    let name = registry.push(&images::demo()?, "example")?;
    let mut pull = command(env, PULL)?;
    let output = pull
        .arg(name)
        .env("MSB_HOME", env.work.join("pulled"))
        .output()?;
    holds(PULL, &output, &[" bytes\n", "sha256:"])
}

/// Runs the examples that are compared with those of another project.
pub(super) fn compared(env: &TestEnv) -> Result<()> {
    print_all(env, COMPARED)
}

fn print_all(env: &TestEnv, examples: &[Example]) -> Result<()> {
    for &(name, parts) in examples {
        let mut example = command(env, name)?;
        let output = example.arg(env.image()).output();
        let output = output.with_context(|| format!("cannot run {name}"))?;
        holds(name, &output, parts)?;
    }
    Ok(())
}

fn holds(name: &str, output: &Output, parts: &[&str]) -> Result<()> {
    ensure!(output.status.success(), "{name}: {}", describe(output));
    let printed = String::from_utf8_lossy(&output.stdout);
    let mut rest = &*printed;
    for part in parts {
        let found = rest.split_once(part);
        (_, rest) =
            found.with_context(|| format!("{name} printed {printed:?}, without {part:?}"))?;
    }
    Ok(())
}

/// Returns an example's command, with the home, the msb and the kernel under test.
fn command(env: &TestEnv, name: &str) -> Result<Command> {
    let programs = env
        .program
        .parent()
        .context("a program without a directory")?;
    let program: PathBuf = programs.join("examples").join(name);
    if !program.exists() {
        // Only the tests of the whole workspace build them before.
        test_fixtures::build::sdk_examples(&env.program)?;
    }
    let mut example = Command::new(program);
    example
        .env("MSB_HOME", env.home())
        .env("MSB_PROGRAM", &env.program)
        .env("MSB_KERNEL", &env.kernel)
        .env("MSB_VMM", env.vmm());
    Ok(example)
}
