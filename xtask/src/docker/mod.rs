//! `msb run` against what docker's documentation says of the same words.

mod image;
mod row;
mod table;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Mutex;

use anyhow::{Context as _, Result, ensure};
use fs_err as fs;
use serde_json::json;

use crate::oracle::Msb;
use crate::place;
use row::{Image, Row};
use table::ROWS;

/// How often a guest that stays silent is started afresh.
const STARTS: u32 = 5;
/// Rows at once.
const WORKERS: usize = 2;

/// What to run the table with.
pub(crate) struct Ground<'a> {
    pub(crate) program: &'a Path,
    pub(crate) kernel: &'a Path,
    pub(crate) layout: &'a Path,
    pub(crate) vmm: &'a str,
}

/// Runs every `step`th row. Fails when one is not as it should be.
pub(crate) fn run(ground: &Ground<'_>, step: usize) -> Result<String> {
    let bench = Bench::prepare(ground)?;
    let rows = Mutex::new(ROWS.iter().step_by(step));
    let next = || rows.lock().ok().and_then(|mut rows| rows.next());
    let worker = || {
        let (mut passed, mut failed) = (0_usize, 0_usize);
        while let Some(row) = next() {
            match bench.judge(row) {
                Ok(()) => passed += 1,
                Err(error) => {
                    failed += 1;
                    println!("FAILED  {}: {error:#}", row.case);
                }
            }
        }
        (passed, failed)
    };
    let counts = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(worker)).collect();
        workers
            .into_iter()
            .map(|worker| worker.join().expect("a worker does not panic"))
            .collect::<Vec<_>>()
    });
    let passed: usize = counts.iter().map(|(passed, _)| passed).sum();
    let failed: usize = counts.iter().map(|(_, failed)| failed).sum();
    bench.remove()?;
    ensure!(failed == 0, "{failed} of {} invocations", passed + failed);
    Ok(format!("{passed} of {} invocations", ROWS.len()))
}

/// A store with the two images.
struct Bench<'a> {
    msb: Msb,
    kernel: &'a Path,
    vmm: &'a str,
    work: PathBuf,
}

impl<'a> Bench<'a> {
    fn prepare(ground: &Ground<'a>) -> Result<Self> {
        let work = place::scratch("docker")?;
        let bench = Self {
            msb: Msb {
                program: ground.program.to_owned(),
                home: work.join("home"),
            },
            kernel: ground.kernel,
            vmm: ground.vmm,
            work,
        };
        let full = json!({
            "Entrypoint": ["/bin/echo", "entry"], "Cmd": ["cmd"], "User": "nobody",
            "Env": ["A=image", "SP=two words"], "WorkingDir": "/srv/work",
        });
        let plain = json!({ "Cmd": ["/bin/sh", "-c", "echo cmd"] });
        for (image, config) in [(Image::Full, full), (Image::Plain, plain)] {
            let layout = bench.work.join(format!("{image:?}"));
            image::reconfigured(ground.layout, &layout, &config)?;
            bench.msb.load(&layout, name(image))?;
        }
        fs::write(
            bench.work.join("env"),
            "# a comment\n\nA=file\nB=file\nMSB_TABLE_SET\n",
        )?;
        Ok(bench)
    }

    fn judge(&self, row: &Row) -> Result<()> {
        let output = self.output(row)?;
        let (stdout, stderr) = (
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
        let is_right = output.status.code() == Some(row.code)
            && row.stdout.is_none_or(|expected| stdout == expected)
            && stderr.contains(row.stderr);
        ensure!(
            is_right,
            "expected {}, {:?}, {:?}; got {}, {stdout:?}, {stderr:?}",
            row.code,
            row.stdout,
            row.stderr,
            output.status
        );
        Ok(())
    }

    fn output(&self, row: &Row) -> Result<Output> {
        let mut starts = 0;
        loop {
            let output = finish(self.command(row).spawn()?, row)?;
            starts += 1;
            let is_silent = String::from_utf8_lossy(&output.stderr).contains("did not answer");
            if !is_silent || starts == STARTS {
                return Ok(output);
            }
        }
    }

    fn command(&self, row: &Row) -> Command {
        let mut command = self.msb.command(&["run", "-q", "--rm", "--pull", "never"]);
        command.args(["--vmm", self.vmm, "--cpus", "1", "--memory", "512M"]);
        for option in row.options {
            match *option {
                "FILE" => command.arg(self.work.join("env")),
                option => command.arg(option),
            };
        }
        command.arg(name(row.image)).args(row.command);
        command
            .env("MSB_KERNEL", self.kernel)
            .env("MSB_TABLE_SET", "from here")
            .env_remove("MSB_TABLE_UNSET")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn remove(&self) -> Result<()> {
        Ok(fs::remove_dir_all(&self.work)?)
    }
}

const fn name(image: Image) -> &'static str {
    match image {
        Image::Full => "localhost/full:1",
        Image::Plain => "localhost/plain:1",
    }
}

/// Feeds a command, signals it once it has said its first line, and waits for its end.
fn finish(mut child: Child, row: &Row) -> Result<Output> {
    let mut stdin = child.stdin.take().context("no pipe")?;
    // The command may end before it has read anything.
    let _ = stdin.write_all(row.stdin.as_bytes());
    drop(stdin);
    let Some(signal) = row.signal else {
        return Ok(child.wait_with_output()?);
    };
    let mut stdout = BufReader::new(child.stdout.take().context("no pipe")?);
    let mut seen = String::new();
    stdout.read_line(&mut seen)?;
    let pid = child.id().to_string();
    Command::new("kill")
        .args([&format!("-{signal}"), &pid])
        .status()?;
    stdout.read_to_string(&mut seen)?;
    let mut output = child.wait_with_output()?;
    output.stdout = seen.into_bytes();
    Ok(output)
}
