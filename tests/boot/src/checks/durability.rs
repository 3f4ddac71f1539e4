use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};

use test_support::{TestEnv, describe, expect_code, upper_disk};

const CHANGES: &str = "set -e; echo kept > /root/kept; echo more >> /etc/passwd; \
    mv /etc/skel /etc/skel-renamed; chmod 0600 /etc/issue; rm /etc/debian_version; \
    ln /etc/hostname /etc/hostname-linked 2>/dev/null || true; sync; cat /root/kept";
const LOOK: &str = "set -e; cat /root/kept; tail -n 1 /etc/passwd; test -d /etc/skel-renamed; \
    test ! -e /etc/skel; stat -c %a /etc/issue; test ! -e /etc/debian_version; echo all there";
const SEEN: &str = "kept\nmore\n600\nall there\n";

/// Returns a script that makes the changes at the first start and checks them at the next.
fn script(after: &str) -> String {
    format!("if test -e /root/kept; then {LOOK}; else {CHANGES}; {after}; fi")
}

pub(super) fn stop_and_start(env: &TestEnv) -> Result<()> {
    let kept = Kept::create(env, "checks-stopped", &script("true"))?;
    check_upper(&kept.upper(env)?)?;
    kept.look(env)?;
    check_upper(&kept.upper(env)?)?;
    remove(env, kept.name)
}

pub(super) fn kill_and_start(env: &TestEnv) -> Result<()> {
    let name = "checks-killed";
    let script = script("sleep 600");
    let speaking = env.speaking("kept", || {
        remove(env, name)?;
        Ok(env.run_command(&["--name", name], &["sh", "-c", &script]))
    })?;
    let kept = Kept { name };
    kill_machine(&kept.directory(env)?)?;
    expect_code(&speaking.end()?, 125)?;
    kept.look(env)?;
    remove(env, name)
}

/// A sandbox that still exists after it stops.
struct Kept {
    name: &'static str,
}

impl Kept {
    fn create(env: &TestEnv, name: &'static str, script: &str) -> Result<Self> {
        let line = || {
            // A start without an answer leaves its sandbox.
            let _ = remove(env, name);
            env.run_command(&["--name", name], &["sh", "-c", script])
        };
        expect_code(&env.retried(line, &[])?, 0)?;
        Ok(Self { name })
    }

    fn look(&self, env: &TestEnv) -> Result<()> {
        let line = || {
            let mut line = env.machine_command("start");
            line.args(["--attach", self.name]);
            line
        };
        let output = env.retried(line, &[])?;
        expect_code(&output, 0)?;
        ensure!(output.stdout == SEEN.as_bytes(), "{}", describe(&output));
        Ok(())
    }

    fn directory(&self, env: &TestEnv) -> Result<PathBuf> {
        let listed = env.msb().args(["ls", "--format", "json"]).output()?;
        let rows: serde_json::Value = serde_json::from_slice(&listed.stdout)?;
        let rows = rows.as_array().context("no array of sandboxes")?;
        let row = rows.iter().find(|row| row["name"] == self.name);
        let id = row
            .and_then(|row| row["id"].as_str())
            .context("the sandbox is not listed")?;
        Ok(env.home().join("sandboxes").join(id))
    }

    fn upper(&self, env: &TestEnv) -> Result<PathBuf> {
        upper_disk::only_file(&self.directory(env)?)
    }
}

/// Removes a sandbox if it exists.
pub(super) fn remove(env: &TestEnv, name: &str) -> Result<()> {
    let listed = env.msb().args(["ls", "--format", "json"]).output()?;
    if String::from_utf8_lossy(&listed.stdout).contains(&format!("\"{name}\"")) {
        let output = env.msb().args(["rm", name]).output()?;
        ensure!(output.status.success(), "{}", describe(&output));
    }
    Ok(())
}

/// Checks that a stopped upper disk is clean: its journal is empty and nothing needs repair.
pub(super) fn check_upper(upper: &Path) -> Result<()> {
    let output = Command::new("e2fsck")
        .arg("-fn")
        .arg(upper)
        .output()
        .context("cannot run e2fsck")?;
    let said = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.code() == Some(0), "e2fsck: {said}");
    ensure!(
        !said.contains("recovering journal"),
        "the journal was not empty: {said}"
    );
    Ok(())
}

/// Kills the processes of the machines whose files are in a directory, as a power cut would, and
/// waits until they do not exist.
pub(super) fn kill_machine(directory: &Path) -> Result<()> {
    let pattern = directory.display().to_string();
    for _ in 0..1200 {
        let found = Command::new("pkill")
            .args(["-KILL", "-f", &pattern])
            .status()?;
        if found.code() == Some(1) {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    bail!("the machine's processes do not die")
}
