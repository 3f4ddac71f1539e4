use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use fs_err as fs;
use serde::Deserialize;
use serde_json::json;

use super::corpus::Case;
use super::tree::Tree;
use test_fixtures::command::{quiet, shown, step};
use test_fixtures::{lock, paths};

/// The Go program around the other engines.
pub(crate) struct Program {
    path: PathBuf,
    /// Tells the scratch directory from those of other tests of this process.
    name: &'static str,
    /// The engines to run; all if the list is empty.
    engines: &'static [&'static str],
}

/// The results of the engines in one case.
pub(crate) struct Verdicts {
    /// The engines, each with its tree or its error.
    pub(crate) engines: Vec<(String, Result<Tree, String>)>,
    /// Digests of the decompressed layers.
    pub(crate) diff_ids: Vec<String>,
}

#[derive(Deserialize)]
struct Line {
    case: String,
    #[serde(default)]
    engine: String,
    #[serde(default)]
    error: String,
    #[serde(default)]
    tree: String,
    #[serde(default)]
    diff_ids: Vec<String>,
}

impl Program {
    /// Builds the program; Go fetches its dependencies through its module proxy.
    pub(crate) fn build(name: &'static str, engines: &'static [&'static str]) -> Result<Self> {
        step("build the engines");
        // Tests of two processes may build it at once.
        let _lock = lock::hold("engines")?;
        let path = paths::kept("engines")?.join("engines");
        shown(
            Command::new("go")
                .args(["build", "-o"])
                .arg(&path)
                .arg(".")
                .current_dir(paths::root().join("ci/engines")),
        )
        .context("Go 1.26 is needed, newer than Debian's package: https://go.dev/dl")?;
        Ok(Self {
            path,
            name,
            engines,
        })
    }

    /// Returns the layer that makes a directory of an older one, as a project's own writer makes it.
    pub(crate) fn pack(&self, writer: &str, older: &Path, directory: &Path) -> Result<Vec<u8>> {
        let mut pack = Command::new(&self.path);
        let output = quiet(pack.args(["pack", writer]).arg(older).arg(directory))?;
        Ok(output.stdout)
    }

    /// Applies every case with every engine.
    pub(crate) fn judge(&self, cases: &[Case]) -> Result<Vec<Verdicts>> {
        let scratch = Scratch::mount(self.name)?;
        let mut input = Vec::new();
        for (number, case) in cases.iter().enumerate() {
            let directory = scratch.path.join("cases").join(number.to_string());
            fs::create_dir_all(&directory)?;
            let mut paths = Vec::new();
            for (index, layer) in case.layers.iter().enumerate() {
                let path = directory.join(index.to_string());
                fs::write(&path, layer)?;
                paths.push(path);
            }
            writeln!(
                input,
                "{}",
                json!({"case": number.to_string(), "layers": paths})
            )?;
        }
        let stdout = self.answer(&scratch, input)?;
        let mut verdicts: Vec<Verdicts> = Vec::new();
        for line in stdout
            .split(|&byte| byte == b'\n')
            .filter(|line| !line.is_empty())
        {
            let line: Line = serde_json::from_slice(line)?;
            let number: usize = line.case.parse()?;
            if number == verdicts.len() {
                verdicts.push(Verdicts {
                    engines: Vec::new(),
                    diff_ids: Vec::new(),
                });
            }
            let verdict = verdicts.get_mut(number).context("cases come in order")?;
            if line.engine.is_empty() {
                verdict.diff_ids = line.diff_ids;
            } else if line.error.is_empty() {
                verdict
                    .engines
                    .push((line.engine, Ok(Tree::parse(&line.tree))));
            } else {
                verdict.engines.push((line.engine, Err(line.error)));
            }
        }
        ensure!(
            verdicts.len() == cases.len(),
            "the engines judged {} of {} cases",
            verdicts.len(),
            cases.len()
        );
        Ok(verdicts)
    }

    fn answer(&self, scratch: &Scratch, input: Vec<u8>) -> Result<Vec<u8>> {
        let mut child = Command::new(&self.path)
            .arg(scratch.path.join("work"))
            .args(self.engines)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut stdin = child.stdin.take().context("no pipe")?;
        let feeder = std::thread::spawn(move || stdin.write_all(&input));
        let output = child.wait_with_output()?;
        feeder.join().expect("the feeder does not panic")?;
        ensure!(
            output.status.success(),
            "the engines gave {}",
            output.status
        );
        Ok(output.stdout)
    }
}

/// A filesystem in memory for thousands of small trees.
pub(crate) struct Scratch {
    pub(crate) path: PathBuf,
}

impl Scratch {
    /// Mounts it. `name` tells it from those of other tests of this process.
    pub(crate) fn mount(name: &str) -> Result<Self> {
        let path = paths::scratch(&format!("tmpfs-{name}-{}", std::process::id()))?;
        quiet(
            Command::new("mount")
                .args(["-t", "tmpfs", "-o", "mode=0755", "tmpfs"])
                .arg(&path),
        )?;
        Ok(Self { path })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // If it stays mounted, the next run fails to empty the directory.
        let _ = Command::new("umount")
            .arg("--lazy")
            .arg(&self.path)
            .status();
        let _ = fs::remove_dir(&self.path);
    }
}
