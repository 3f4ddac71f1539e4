use anyhow::{Context as _, Result, ensure};
use fs_err as fs;
use test_fixtures::kernel;

use test_support::{TestEnv, describe, expect_code};

use crate::kernel_check;

/// The end of the release of msb's own kernel (`CONFIG_LOCALVERSION` of `base.config`).
const OWN_RELEASE: &str = "-msb";

/// Sets the access list `u::rw-,u:1234:r--,g::r--,m::r--,o::---` on new files, and reads them as a
/// user whom it names and as another.
const LISTS: &str = "
import os, struct
entries = [(1, 6, -1), (2, 4, 1234), (4, 4, -1), (16, 4, -1), (32, 0, -1)]
access = struct.pack('<I', 2) + b''.join(struct.pack('<HHi', *entry) for entry in entries)
def reads(path, user):
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)
        os._exit(0 if os.access(path, os.R_OK) else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
for path in ['/listed', '/volume/listed']:
    os.mknod(path)
    os.setxattr(path, 'system.posix_acl_access', access)
    print(path, reads(path, 1234), reads(path, 1235))
";

/// The probes of the kernel's options that need nothing of the lab's machine, and the modules that
/// they import.
const PROBES: [(&str, &str); 8] = [
    (
        "__main__.py",
        include_str!("../../../../kernel-config/probe/__main__.py"),
    ),
    (
        "devices.py",
        include_str!("../../../../kernel-config/probe/devices.py"),
    ),
    (
        "filesystems.py",
        include_str!("../../../../kernel-config/probe/filesystems.py"),
    ),
    (
        "guest.py",
        include_str!("../../../../kernel-config/probe/guest.py"),
    ),
    (
        "networks.py",
        include_str!("../../../../kernel-config/probe/networks.py"),
    ),
    (
        "processes.py",
        include_str!("../../../../kernel-config/probe/processes.py"),
    ),
    (
        "registry.py",
        include_str!("../../../../kernel-config/probe/registry.py"),
    ),
    (
        "system_calls.py",
        include_str!("../../../../kernel-config/probe/system_calls.py"),
    ),
];

/// The options of the kernel work in a sandbox, under the VMM in use.
pub(super) fn options(env: &TestEnv) -> Result<()> {
    let probe = env.work.join("probe");
    if !probe.exists() {
        fs::create_dir(&probe)?;
    }
    for (name, text) in PROBES {
        fs::write(probe.join(name), text)?;
    }
    let probe = format!("{}:/probe:ro", probe.display());
    let options = [
        "-v",
        &probe,
        "-v",
        "kernels-options:/volume",
        "--workdir",
        "/volume",
    ];
    let modules = ["guest", "networks", "processes", "system_calls"];
    let command = [&["python3", "-B", "/probe"][..], &modules].concat();
    let output = env.run(&options, &command)?;
    removed(env, "kernels-options")?;
    expect_code(&output, 0)?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    kernel_check::judge_known(&String::from_utf8_lossy(&output.stdout))
        .with_context(|| format!("the probes wrote:\n{stderr}"))
}

/// A kernel that msb does not build runs commands, if it is named.
pub(super) fn libkrunfw(env: &TestEnv) -> Result<()> {
    let library = kernel::libkrunfw()?;
    let line = || {
        let mut line = env.run_command(&["--rm"], &["uname", "-r"]);
        line.env("MSB_KERNEL", &library);
        line
    };
    let output = env.retried(line, b"")?;
    expect_code(&output, 0)?;
    let release = String::from_utf8_lossy(&output.stdout);
    ensure!(
        !release.trim_end().is_empty() && !release.trim_end().ends_with(OWN_RELEASE),
        "{}",
        describe(&output)
    );
    Ok(())
}

pub(super) fn access_lists(env: &TestEnv) -> Result<()> {
    let options = ["--volume", "kernels-lists:/volume"];
    let output = env.run(&options, &["python3", "-c", LISTS])?;
    removed(env, "kernels-lists")?;
    expect_code(&output, 0)?;
    let shown = String::from_utf8_lossy(&output.stdout);
    let expected = "/listed True False\n/volume/listed True False\n";
    ensure!(shown == expected, "{}", describe(&output));
    Ok(())
}

fn removed(env: &TestEnv, volume: &str) -> Result<()> {
    expect_code(&env.msb().args(["volume", "rm", volume]).output()?, 0)
}
