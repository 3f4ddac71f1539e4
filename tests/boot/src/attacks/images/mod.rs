//! Loads and runs hostile images, and copies disks of stopped sandboxes that a guest has filled.
//! Each ends as expected, in bounded memory and time.

mod cases;
mod disks;
mod forged;
mod program;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context as _, Result, ensure};
use fs_err as fs;

use super::{Setting, Tally};
use cases::{Case, Outcome};
use test_support::oci_layout;
use test_support::{TestEnv, run_through, upper_disk};

/// The time limit of a command, in seconds: many times a guest's start under emulation.
const COMMAND_S: &str = "90";
/// The exit code of `timeout` if the limit was too short.
const TIMED_OUT: i32 = 124;
/// Memory that loading one of the images may take, in MiB.
const LOAD_MIB: u64 = 64;
const IMAGE: &str = "localhost/hostile:latest";

/// The fixture of the attacks: an msb with its own home.
struct Loader<'a> {
    env: &'a TestEnv,
}

/// A command's output, and the most memory that it used.
struct Ended {
    output: Output,
    peak_mib: u64,
}

pub(super) fn attack(setting: &Setting<'_>, tally: &mut Tally) -> Result<()> {
    let loader = Loader { env: setting.env };
    for case in cases::all() {
        tally.note(&format!("image: {}", case.name), loader.judge(&case));
        loader.clear()?;
    }
    for disk in disks::ALL {
        tally.note(&format!("stopped disk: {}", disk.name), disk.judge(&loader));
        loader.clear()?;
    }
    Ok(())
}

/// Reads disks that a guest has forged to read as gigabytes. No guest is started.
pub(super) fn attack_disks(setting: &Setting<'_>, tally: &mut Tally) -> Result<()> {
    let loader = Loader { env: setting.env };
    for forged in forged::ALL {
        tally.note(
            &format!("forged disk: {}", forged.name),
            forged.judge(&loader),
        );
        loader.clear()?;
        tally.note(
            &format!("forged staged disk: {}", forged.name),
            forged.judge_staged(&loader),
        );
        loader.clear()?;
    }
    Ok(())
}

impl Loader<'_> {
    /// Loads an image and runs it, unless the load is to be refused.
    fn judge(&self, case: &Case) -> Result<String> {
        let loaded = self.load(case)?;
        ensure!(
            loaded.peak_mib <= LOAD_MIB,
            "loading took {} MiB, {LOAD_MIB} are allowed",
            loaded.peak_mib
        );
        let figure = format!("loaded with {} MiB", loaded.peak_mib);
        if let Outcome::Refused(words) = case.outcome {
            loaded.expect(125, words)?;
            return Ok(figure);
        }
        loaded.expect(0, "")?;
        let mut line = self.env.machine_command("run");
        line.args(["--rm", "--pull", "never", "--cpus", "1"])
            .args(case.options)
            .args([IMAGE, program::PATH]);
        let ended = self.run(&line)?;
        let said = match case.outcome {
            Outcome::Fails(words) => {
                ended.expect(125, words)?;
                format!(", then: {words}")
            }
            Outcome::Runs | Outcome::Refused(_) => {
                ended.expect(0, "")?;
                String::new()
            }
        };
        let left = self.run(self.msb().args(["ps", "-a", "-q"]))?;
        ensure!(left.output.stdout.is_empty(), "a sandbox is left");
        Ok(figure + &said)
    }

    fn load(&self, case: &Case) -> Result<Ended> {
        let layout = self.env.work.join("layout");
        if layout.exists() {
            fs::remove_dir_all(&layout)?;
        }
        oci_layout::write_with(&layout, &case.layers(), &case.config);
        self.run(self.msb().args(["load", "-q", "-t", IMAGE]).arg(&layout))
    }

    fn msb(&self) -> Command {
        self.env.msb()
    }

    /// Runs a command to its end, within the time limit.
    fn run(&self, line: &Command) -> Result<Ended> {
        let report = self.env.work.join("peak");
        let mut timed = Command::new("timeout");
        timed
            .args([
                "--kill-after=5",
                COMMAND_S,
                "/usr/bin/time",
                "-f",
                "%M",
                "-o",
            ])
            .arg(&report)
            .stdin(Stdio::null());
        run_through(&mut timed, line);
        let output = timed.output()?;
        ensure!(
            output.status.code() != Some(TIMED_OUT),
            "{:?} had no end in {COMMAND_S} s",
            line.get_args().next().unwrap_or(OsStr::new(""))
        );
        let report = fs::read_to_string(&report)?;
        let kib = report
            .lines()
            .last()
            .and_then(|line| line.trim().parse().ok());
        let kib: u64 = kib.context("no peak memory was reported")?;
        Ok(Ended {
            output,
            peak_mib: kib / 1024,
        })
    }

    /// Removes the sandboxes of a failed attempt.
    fn clear(&self) -> Result<()> {
        let left = self.run(self.msb().args(["ps", "-a", "-q"]))?;
        for id in String::from_utf8_lossy(&left.output.stdout).lines() {
            self.run(self.msb().args(["rm", "-f", id]))?.expect(0, "")?;
        }
        Ok(())
    }

    /// Returns the directory of the only sandbox.
    fn sandbox(&self) -> Result<PathBuf> {
        let mut sandboxes = fs::read_dir(self.env.home().join("sandboxes"))?;
        let sandbox = sandboxes.find_map(|entry| {
            let path = entry.ok()?.path();
            path.join("sandbox.json").exists().then_some(path)
        });
        sandbox.context("there is no sandbox")
    }
}

impl Ended {
    /// Checks the exit code, the text, and that a terminal would not act on the output.
    fn expect(&self, code: i32, words: &str) -> Result<()> {
        let stderr = String::from_utf8_lossy(&self.output.stderr);
        ensure!(
            self.output.status.code() == Some(code) && stderr.contains(words),
            "{}, not {code} and '{words}': {stderr}",
            self.output.status
        );
        let is_raw = |byte: &u8| byte.is_ascii_control() && !matches!(byte, b'\n' | b'\t');
        ensure!(
            !self.output.stderr.iter().any(is_raw),
            "control characters in {stderr:?}"
        );
        Ok(())
    }
}

/// Returns the path of the file that is the writable disk of a sandbox that never ran.
fn upper(sandbox: &Path) -> Result<PathBuf> {
    upper_disk::only_file(sandbox)
}
