use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};

use super::bed::{Bed, describe, expect_code};

const CHANGES: &str = "set -e; echo kept > /root/kept; echo more >> /etc/passwd; \
    mv /etc/skel /etc/skel-renamed; chmod 0600 /etc/issue; rm /etc/debian_version; \
    ln /etc/hostname /etc/hostname-linked 2>/dev/null || true; sync; cat /root/kept";
const LOOK: &str = "set -e; cat /root/kept; tail -n 1 /etc/passwd; test -d /etc/skel-renamed; \
    test ! -e /etc/skel; stat -c %a /etc/issue; test ! -e /etc/debian_version; echo all there";
const SEEN: &str = "kept\nmore\n600\nall there\n";

/// The first start makes the changes, the next looks at them.
fn script(after: &str) -> String {
    format!("if test -e /root/kept; then {LOOK}; else {CHANGES}; {after}; fi")
}

pub(super) fn stop_and_start(bed: &Bed) -> Result<()> {
    let kept = Kept::create(bed, "checks-stopped", &script("true"))?;
    check_upper(&kept.upper(bed)?)?;
    kept.look(bed)?;
    check_upper(&kept.upper(bed)?)
}

pub(super) fn kill_and_start(bed: &Bed) -> Result<()> {
    let name = "checks-killed";
    let script = script("sleep 600");
    let speaking = bed.speaking("kept", || {
        remove(bed, name)?;
        Ok(bed.run_command(&["--name", name], &["sh", "-c", &script]))
    })?;
    let kept = Kept { name };
    kill_machine(&kept.directory(bed)?)?;
    expect_code(&speaking.end()?, 125)?;
    kept.look(bed)
}

/// No sandbox, no directory of one, no process.
pub(super) fn no_left_overs(bed: &Bed) -> Result<()> {
    for name in ["checks-stopped", "checks-killed"] {
        remove(bed, name)?;
    }
    let listed = Command::new(&bed.msb)
        .args(["ls", "--format", "json"])
        .output()?;
    ensure!(listed.stdout.trim_ascii() == b"[]", "{}", describe(&listed));
    let home = PathBuf::from(std::env::var_os("MSB_HOME").context("MSB_HOME is not set")?);
    let sandboxes: Vec<_> = std::fs::read_dir(home.join("sandboxes"))?.collect();
    ensure!(sandboxes.is_empty(), "{sandboxes:?}");
    let directory = home.join("sandboxes").display().to_string();
    let found = Command::new("pgrep").args(["-f", &directory]).output()?;
    ensure!(
        found.stdout.is_empty(),
        "processes {}",
        String::from_utf8_lossy(&found.stdout)
    );
    Ok(())
}

/// A sandbox that is kept when it stops.
struct Kept {
    name: &'static str,
}

impl Kept {
    fn create(bed: &Bed, name: &'static str, script: &str) -> Result<Self> {
        let line = || {
            // A start that stayed silent leaves its sandbox.
            let _ = remove(bed, name);
            bed.run_command(&["--name", name], &["sh", "-c", script])
        };
        expect_code(&bed.retried(line, &[])?, 0)?;
        Ok(Self { name })
    }

    fn look(&self, bed: &Bed) -> Result<()> {
        let line = || {
            let mut line = bed.machine_command("start");
            line.args(["--attach", self.name]);
            line
        };
        let output = bed.retried(line, &[])?;
        expect_code(&output, 0)?;
        ensure!(output.stdout == SEEN.as_bytes(), "{}", describe(&output));
        Ok(())
    }

    fn directory(&self, bed: &Bed) -> Result<PathBuf> {
        let listed = Command::new(&bed.msb)
            .args(["ls", "--format", "json"])
            .output()?;
        let rows: serde_json::Value = serde_json::from_slice(&listed.stdout)?;
        let rows = rows.as_array().context("no array of sandboxes")?;
        let row = rows.iter().find(|row| row["name"] == self.name);
        let id = row
            .and_then(|row| row["id"].as_str())
            .context("the sandbox is not listed")?;
        let home = std::env::var_os("MSB_HOME").context("MSB_HOME is not set")?;
        Ok(Path::new(&home).join("sandboxes").join(id))
    }

    fn upper(&self, bed: &Bed) -> Result<PathBuf> {
        Ok(self.directory(bed)?.join("upper.ext4"))
    }
}

/// Removes a sandbox that may be there.
pub(super) fn remove(bed: &Bed, name: &str) -> Result<()> {
    let listed = Command::new(&bed.msb)
        .args(["ls", "--format", "json"])
        .output()?;
    if String::from_utf8_lossy(&listed.stdout).contains(&format!("\"{name}\"")) {
        let output = Command::new(&bed.msb).args(["rm", name]).output()?;
        ensure!(output.status.success(), "{}", describe(&output));
    }
    Ok(())
}

/// A stopped upper is clean: its journal is empty and nothing in it needs mending.
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

/// Kills the machine's processes as a power cut would, and waits until they are gone.
fn kill_machine(directory: &Path) -> Result<()> {
    let pattern = directory.display().to_string();
    for _ in 0..100 {
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
