use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

use crate::Environment;
use crate::guide::{Guide, Step};
use crate::npm;
use crate::pattern;
use crate::shell::{Ended, Shell, quoted};

/// Most runs of one guide. Under QEMU's emulation a guest's start occasionally fails.
const ATTEMPTS: u32 = 3;
/// The directory of programs that take the places of hosts in the internet.
const STAND_INS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/stand-ins");
/// Part of msb's message if the guest has not run any command.
const LOST_START: &str = "before its agent answered";

/// Runs the guide `docs/guide/NAME.md`.
///
/// # Errors
/// If the guide cannot be read, or a command does not end as the guide shows.
pub fn run(name: &str, environment: &Environment) -> Result<()> {
    let path = guide_path(name);
    let text = fs_err::read_to_string(&path)?;
    let guide = Guide::parse(&text).with_context(|| path.display().to_string())?;
    ensure!(!guide.steps.is_empty(), "{} runs nothing", path.display());
    for attempt in 1.. {
        let outcome = run_once(name, &guide, environment);
        match outcome {
            Err(error) if attempt < ATTEMPTS && format!("{error:#}").contains(LOST_START) => {
                report_fresh_start(name, &error);
            }
            other => return other.with_context(|| path.display().to_string()),
        }
    }
    Ok(())
}

#[expect(clippy::print_stderr, reason = "a test reports what it repeats")]
fn report_fresh_start(name: &str, error: &anyhow::Error) {
    eprintln!("guide {name}: a fresh start: {error:#}");
}

fn guide_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/guide/{name}.md"))
}

fn run_once(name: &str, guide: &Guide, environment: &Environment) -> Result<()> {
    let home = Home::new(environment.home.join(name), environment)?;
    let work = tempfile::tempdir()?;
    let programs = tempfile::tempdir()?;
    std::os::unix::fs::symlink(&environment.msb, programs.path().join("msb"))?;
    let mut path = programs.path().as_os_str().to_owned();
    path.push(":");
    path.push(std::env::var_os("PATH").context("PATH is not set")?);
    let packages = match &guide.packages[..] {
        [] => None,
        packages => Some(npm::archives(packages)?),
    };
    let mut variables = vec![
        ("PATH", Path::new(&path)),
        ("HOME", work.path()),
        ("MSB_HOME", home.path.as_path()),
        ("MSB_KERNEL", environment.kernel.as_path()),
        ("MSB_VMM", Path::new(&environment.vmm)),
        ("MSB_TEST_IMAGE", environment.image.as_path()),
        ("MSB_TEST_STAND_INS", Path::new(STAND_INS)),
    ];
    if let Some(packages) = &packages {
        variables.push(("MSB_TEST_PACKAGES", packages));
    }
    let mut shell = Shell::start(work.path(), &variables)?;
    for image in &guide.images {
        let load = format!("msb load -q -t {} \"$MSB_TEST_IMAGE\"", quoted(image));
        succeeded(&load, shell.run(&load)?)?;
    }
    for (index, step) in guide.steps.iter().enumerate() {
        let shows_code = matches!(
            guide.steps.get(index + 1),
            Some(Step::Command { command, .. }) if command == "echo $?"
        );
        match step {
            Step::File { name, content } => fs_err::write(work.path().join(name), content)?,
            Step::Setup { line, script } => shell
                .run(script)
                .and_then(|ended| succeeded(script, ended))
                .with_context(|| format!("line {line}"))?,
            Step::Command {
                line,
                command,
                expected,
            } => shell
                .run(command)
                .and_then(|ended| compare(command, expected.as_deref(), shows_code, ended))
                .with_context(|| format!("line {line}"))?,
        }
    }
    Ok(())
}

fn succeeded(command: &str, ended: Ended) -> Result<()> {
    compare(command, None, false, ended)
}

fn compare(command: &str, expected: Option<&[String]>, any_code: bool, ended: Ended) -> Result<()> {
    let Ended { code, output } = ended;
    ensure!(
        code == 0 || any_code,
        "`{command}` exited with {code} and printed:\n{output}"
    );
    if let Some(expected) = expected
        && !pattern::matches(expected, &output)
    {
        bail!(
            "`{command}` printed:\n{output}\nthe guide shows:\n{}",
            expected.join("\n")
        );
    }
    Ok(())
}

/// The `MSB_HOME` of one guide, removed with its sandboxes when the guide has ended.
struct Home {
    path: PathBuf,
    msb: PathBuf,
}

impl Home {
    fn new(path: PathBuf, environment: &Environment) -> Result<Self> {
        let home = Self {
            path,
            msb: environment.msb.clone(),
        };
        home.clear();
        // msb would say that others could enter it.
        DirBuilder::new()
            .mode(0o700)
            .create(&home.path)
            .with_context(|| format!("cannot create {}", home.path.display()))?;
        Ok(home)
    }

    /// Removes the leftovers of this run, or of one that was killed.
    fn clear(&self) {
        if !self.path.exists() {
            return;
        }
        let script = "for name in $(\"$0\" ps -aq); do \"$0\" rm -f \"$name\"; done";
        let removed = Command::new("sh")
            .args(["-c", script])
            .arg(&self.msb)
            .env("MSB_HOME", &self.path)
            .output();
        drop(removed);
        // The next run reports a directory that stays, because it cannot make its own.
        let _ = fs_err::remove_dir_all(&self.path);
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns an environment in which a program that prints its arguments replaces msb.
    fn environment(directory: &Path) -> Environment {
        Environment {
            msb: "/bin/echo".into(),
            home: directory.to_owned(),
            kernel: directory.to_owned(),
            image: directory.to_owned(),
            vmm: "qemu".into(),
        }
    }

    fn outcome(text: &str) -> Result<(), String> {
        let directory = tempfile::tempdir().expect("a directory");
        let guide = Guide::parse(text).expect("a guide");
        let outcome = run_once("guide", &guide, &environment(directory.path()));
        outcome.map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn a_guide_that_shows_what_happens_passes() {
        let text = "<!-- images: debian -->\n<!-- setup\nmkdir made\n-->\n<!-- file: a.txt -->\n\
            ```text\nin a file\n```\n```console\n$ msb run debian\nrun debian\n$ cat a.txt\n\
            in a file\n$ cd made && false\n$ echo $?\n1\n$ basename \"$PWD\"\nmade\n```\n";
        assert_eq!(outcome(text), Ok(()));
    }

    #[test]
    fn a_guide_that_shows_anything_else_fails_with_its_line() {
        let cases = [
            (
                "```console\n$ msb run debian\nrun fedora\n```\n",
                "line 2: ",
            ),
            (
                "```console\n$ true\n$ false\n```\n",
                "line 3: `false` exited with 1",
            ),
            ("```console\n$ false\n$ echo $?\n0\n```\n", "line 3: "),
            (
                "```console\n$ echo more\n```\n\n<!-- setup\nfalse\n-->\n",
                "line 5: ",
            ),
        ];
        for (text, expected) in cases {
            let error = outcome(text).expect_err(text);
            assert!(error.starts_with(expected), "{text}{error}");
        }
    }
}
