//! The settings of the guest's kernel.

use anyhow::{Result, ensure};
use serde_json::Value;
use test_support::{TestEnv, describe};

use super::durability::remove;

const SET: &str = "checks-kernel-settings";

/// Prints the abilities of a user other than root, and the settings that images look at.
const DEFAULTS: &str = "
import socket
socket.socket().bind(('0.0.0.0', 80))
socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP)
def read(name): return int(open('/proc/sys/' + name).read())
for name, least in [('vm/max_map_count', 262144), ('fs/inotify/max_user_watches', 524288),
                    ('fs/inotify/max_user_instances', 1024), ('fs/file-max', 1 << 20), ('kernel/pid_max', 32768)]:
    assert read(name) >= least, (name, read(name))
assert read('vm/overcommit_memory') == 0
print('all there')
";

/// Checks the settings of every sandbox, and those that the user asks for.
pub(super) fn settings(env: &TestEnv) -> Result<()> {
    let output = env.run(&["-u", "1234"], &["python3", "-c", DEFAULTS])?;
    ensure!(output.stdout == b"all there\n", "{}", describe(&output));
    let options = [
        "--name",
        SET,
        "--sysctl",
        "net.core.somaxconn=1024",
        "--sysctl",
        "kernel/sem=250 32000 100 128",
        "--sysctl",
        "vm.overcommit_memory=1",
    ];
    let look = "cd /proc/sys; cat net/core/somaxconn kernel/sem vm/overcommit_memory";
    let start = || {
        let _ = remove(env, SET);
        env.run_command(&options, &["sh", "-c", look])
    };
    let expected = b"1024\n250\t32000\t100\t128\n1\n";
    let output = env.retried(start, &[])?;
    ensure!(output.stdout == expected, "{}", describe(&output));
    let restart = || {
        let mut line = env.machine_command("start");
        line.args(["--attach", SET]);
        line
    };
    let output = env.retried(restart, &[])?;
    ensure!(output.stdout == expected, "{}", describe(&output));
    let inspected = env.msb().args(["inspect", SET]).output()?;
    let report: Value = serde_json::from_slice(&inspected.stdout)?;
    ensure!(
        report[0]["sysctls"]["kernel.sem"] == "250 32000 100 128",
        "{}",
        report[0]["sysctls"]
    );
    remove(env, SET)?;
    refusals(env)
}

/// Checks that a setting that does not exist is refused by name.
fn refusals(env: &TestEnv) -> Result<()> {
    for (setting, expected) in [
        ("net.core.no_such=1", "has no setting net.core.no_such"),
        (
            "vm.overcommit_memory=7",
            "--sysctl gives vm.overcommit_memory",
        ),
        (
            "vm.drop_caches=3",
            "vm.drop_caches cannot be set with --sysctl",
        ),
        ("somaxconn", "write NAME=VALUE"),
    ] {
        let output = env.run(&["--sysctl", setting], &["true"])?;
        ensure!(
            !output.status.success() && describe(&output).contains(expected),
            "{setting}: {}",
            describe(&output)
        );
    }
    Ok(())
}
