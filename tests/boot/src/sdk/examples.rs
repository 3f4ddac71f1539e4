//! The Rust SDK's examples that docs/sdk-examples.md counts, as their readers run them.

use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use test_support::TestEnv;

/// The name of each example, and parts of its output in their order. Whether this host reaches the
/// server of `net_policy` is not known; a sandbox without a network does not.
const EXAMPLES: [(&str, &[&str]); 7] = [
    (
        "root_oci",
        &[
            "stdout: Hello from msb!\n",
            "exit code: 0\nuname: Linux",
            "os-release:\n",
        ],
    ),
    (
        "fs_read_stream",
        &["chunk 1: ", "\n10485760 bytes in all\n"],
    ),
    ("volume_named", &["hello from sandbox A\n"]),
    ("net_ports", &["host: Hello from msb!\n"]),
    ("net_policy", &["outbound: ", "range: ", "none: FAIL\n"]),
    (
        "logs_read",
        &["Stdout", ": line one\n", "console: ", "last: "],
    ),
    ("metrics_stream", &["[0] CPU: ", "[4] CPU: ", "disk: Some("]),
];

pub(super) fn check(env: &TestEnv) -> Result<()> {
    let programs = env.program.parent().context("a program without a folder")?;
    for (name, parts) in EXAMPLES {
        let mut example = Command::new(programs.join(format!("examples/compared_{name}")));
        example
            .arg(env.image())
            .env("MSB_HOME", env.home())
            .env("MSB_PROGRAM", &env.program)
            .env("MSB_KERNEL", &env.kernel);
        let output = example.output().with_context(|| {
            format!("cannot run {name}: build it with cargo build -p msb-sdk --examples")
        })?;
        let printed = String::from_utf8(output.stdout)?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{name}: {errors}");
        let mut rest = printed.as_str();
        for part in parts {
            let (_, after) = rest
                .split_once(part)
                .with_context(|| format!("{name} printed {printed:?}, without {part:?}"))?;
            rest = after;
        }
    }
    Ok(())
}
