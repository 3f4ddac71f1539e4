use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use msb_runtime::Ulimit;
use msb_sdk::{Environment, ExecOptions, TerminalSize, Text};

use msb_terminal::failure::Failure;
use msb_terminal::terminal;

// The options for a command that runs in a sandbox.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct ProcessArguments {
    /// Set an environment variable; NAME alone takes the host's value
    #[arg(short, long, value_name = "NAME[=VALUE]", value_parser = parse_variable)]
    env: Vec<String>,
    /// Read environment variables from a file, one per line
    ///
    /// Lines that begin with # are comments.
    #[arg(long, value_name = "FILE")]
    env_file: Vec<PathBuf>,
    /// Working directory of the command, an absolute path
    ///
    /// msb run creates it if it is missing.
    #[arg(short, long, value_name = "DIR", value_parser = parse_directory)]
    workdir: Option<String>,
    /// User and group that run the command, by name or number
    #[arg(short, long, value_name = "USER[:GROUP]")]
    user: Option<String>,
    /// Pass standard input to the command
    #[arg(short, long)]
    interactive: bool,
    /// Run the command on a terminal; with -i for an interactive one
    #[arg(short, long)]
    tty: bool,
    /// Resource limit, such as nofile=1024:4096; -1 is no limit
    ///
    /// It applies to the command and its children.
    #[arg(long, value_name = "NAME=SOFT[:HARD]")]
    ulimit: Vec<Ulimit>,
}

impl ProcessArguments {
    /// Returns true if standard input is passed on.
    pub(crate) const fn stdin(&self) -> bool {
        self.interactive
    }

    /// Returns true if the command has a terminal.
    pub(crate) const fn has_terminal(&self) -> bool {
        self.tty
    }

    /// Returns the variables, in the order in which they were given.
    pub(crate) fn environment(&self) -> Result<Environment, Failure> {
        let mut all = Vec::new();
        for path in &self.env_file {
            all.extend(settings(path)?);
        }
        all.extend(self.env.iter().cloned());
        let passed = all.iter().filter_map(|setting| passed_on(setting));
        let mut environment = Environment::default();
        for setting in passed {
            if let Some((name, value)) = setting.split_once('=') {
                environment.set(name, value);
            }
        }
        Ok(environment)
    }

    /// Returns the resource limits, by name; the later of two for one resource counts.
    pub(crate) fn ulimits(&self) -> BTreeMap<String, msb_sdk::Ulimit> {
        let limit = |limit: &Ulimit| {
            let pair = msb_sdk::Ulimit::Pair {
                soft: limit.soft,
                hard: limit.hard,
            };
            (limit.name.clone(), pair)
        };
        self.ulimit.iter().map(limit).collect()
    }

    /// Returns the working directory; `None` for the image's or the sandbox's own.
    pub(crate) fn cwd(&self) -> Option<String> {
        self.workdir.clone()
    }

    /// Returns the user; `None` for the image's or the sandbox's own.
    pub(crate) fn user(&self) -> Option<String> {
        self.user.clone()
    }

    /// Returns the size of the command's terminal; `None` if it has none.
    pub(crate) fn terminal(&self) -> Option<TerminalSize> {
        self.tty.then(terminal::size)
    }

    /// Checks that standard input is a terminal if one is asked for with `-it`: Ctrl-C and other
    /// keys are typed there.
    pub(crate) fn check_terminal(&self) -> Result<(), Failure> {
        if self.tty && self.interactive && !terminal::stdin_is_terminal() {
            return Err(anyhow!("-it: standard input is not a terminal").into());
        }
        Ok(())
    }

    /// Returns the options of a command in a running sandbox.
    pub(crate) fn exec_options(&self, command: &[String]) -> Result<ExecOptions, Failure> {
        let mut options = ExecOptions::new(command);
        options.env = self.environment()?;
        options.cwd = self.cwd().map(Text::from);
        options.user = self.user();
        options.ulimits = self.ulimits();
        options.tty = self.terminal();
        options.stdin = self.interactive;
        Ok(options)
    }
}

/// Accepts `NAME=VALUE` and `NAME`.
fn parse_variable(text: &str) -> Result<String, String> {
    match text.split('=').next() {
        Some("") | None => Err(format!(
            "invalid environment variable '{text}': it has no name; write NAME=VALUE or NAME"
        )),
        Some(_) => Ok(text.to_owned()),
    }
}

/// Accepts an absolute path: a relative one would have no directory to start from.
fn parse_directory(text: &str) -> Result<String, String> {
    if text.starts_with('/') {
        Ok(text.to_owned())
    } else {
        Err(format!("'{text}' is not an absolute path; write /{text}"))
    }
}

/// Reads the settings of an environment file as Docker does: without quotes or expansion.
fn settings(path: &Path) -> Result<Vec<String>, Failure> {
    let text =
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    // Editors on other systems begin a file with a byte order mark.
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let lines = text.lines().map(str::trim_start);
    let meant = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    meant
        .map(|line| match line.split('=').next() {
            Some(name) if !name.is_empty() && !name.contains(char::is_whitespace) => {
                Ok(line.to_owned())
            }
            _ => Err(anyhow!(
                "{}: the line '{line}' does not have the form NAME=VALUE",
                path.display()
            )
            .into()),
        })
        .collect()
}

/// Returns a setting with its value. `NAME` alone takes its value from this process; `None` if the
/// variable is not set here.
fn passed_on(setting: &str) -> Option<String> {
    if setting.contains('=') {
        return Some(setting.to_owned());
    }
    std::env::var(setting)
        .ok()
        .map(|value| format!("{setting}={value}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, clap::Parser)]
    struct Line {
        #[command(flatten)]
        process: ProcessArguments,
    }

    fn parsed(words: &[&str]) -> Result<ProcessArguments, String> {
        let line = [&["msb"], words].concat();
        let line = <Line as clap::Parser>::try_parse_from(line);
        line.map(|line| line.process)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_variable_without_a_name_is_refused() {
        let process = parsed(&["-e", "A=b=c", "-e", "B="]).expect("two variables");
        let environment = process.environment().expect("read");
        let variables: Vec<_> = environment
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        assert_eq!(variables, ["A=b=c", "B="]);
        for nameless in ["=x", "=", ""] {
            let refusal = parsed(&["-e", nameless]).expect_err("no name");
            let expected = format!("invalid environment variable '{nameless}'");
            assert!(refusal.contains(&expected), "{refusal}");
        }
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_a_variable() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("env");
        std::fs::write(&path, "\u{feff}A=1\nB=\u{feff}2\n").expect("written");
        let read = settings(&path).expect("read");
        assert_eq!(read, ["A=1", "B=\u{feff}2"]);
    }

    #[test]
    fn a_working_directory_begins_at_the_root() {
        assert!(parsed(&["-w", "/srv/a b"]).is_ok());
        for relative in ["srv", "./srv", "", "~"] {
            let refusal = parsed(&["-w", relative]).expect_err("relative");
            assert!(refusal.contains("is not an absolute path"), "{refusal}");
        }
    }
}
