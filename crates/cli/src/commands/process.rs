use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use msb_runtime::{Overrides, Ulimit};

use crate::failure::Failure;
use crate::terminal;

// The options for a command that runs in a sandbox.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct ProcessArguments {
    /// Set an environment variable; NAME alone passes on the host's
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

    fn environment(&self) -> Result<Vec<String>, Failure> {
        let mut all = Vec::new();
        for path in &self.env_file {
            all.extend(settings(path)?);
        }
        all.extend(self.env.iter().cloned());
        Ok(all
            .iter()
            .filter_map(|setting| passed_on(setting))
            .collect())
    }

    /// Checks that standard input is a terminal if one is asked for with `-it`: Ctrl-C and other
    /// keys are typed there.
    pub(crate) fn check_terminal(&self) -> Result<(), Failure> {
        if self.tty && self.interactive && !terminal::stdin_is_terminal() {
            return Err(anyhow!("-it: standard input is not a terminal").into());
        }
        Ok(())
    }

    /// Returns the settings that replace those of the image's config.
    pub(crate) fn overrides(
        &self,
        entrypoint: Option<&str>,
        command: &[String],
    ) -> Result<Overrides, Failure> {
        Ok(Overrides {
            entrypoint: entrypoint.map(str::to_owned),
            command: command.to_vec(),
            env: self.environment()?,
            env_defaults: Vec::new(),
            working_directory: self.workdir.clone(),
            user: self.user.clone(),
            terminal: self.tty.then(terminal::size),
            stdin: self.interactive,
            groups: Vec::new(),
            ulimits: self.ulimit.clone(),
        })
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
        assert_eq!(process.environment().expect("read"), ["A=b=c", "B="]);
        for nameless in ["=x", "=", ""] {
            let refusal = parsed(&["-e", nameless]).expect_err("no name");
            let expected = format!("invalid environment variable '{nameless}'");
            assert!(refusal.contains(&expected), "{refusal}");
        }
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
