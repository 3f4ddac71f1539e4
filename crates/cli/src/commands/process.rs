use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use msb_runtime::{Overrides, Ulimit};

use crate::failure::Failure;
use crate::terminal;

// How a command is run in a sandbox.
#[derive(Debug, clap::Args)]
pub(crate) struct ProcessArguments {
    /// Set an environment variable; NAME alone passes on the value it has here
    #[arg(short, long, value_name = "NAME[=VALUE]")]
    env: Vec<String>,
    /// Read environment variables from a file, one per line; lines that begin with # are comments
    #[arg(long, value_name = "FILE")]
    env_file: Vec<PathBuf>,
    /// Working directory of the command
    #[arg(short, long, value_name = "DIR")]
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
    /// Resource limit of the command and what it starts, as nofile=1024:4096; -1 is no limit
    #[arg(long, value_name = "NAME=SOFT[:HARD]")]
    ulimit: Vec<Ulimit>,
}

impl ProcessArguments {
    /// Whether standard input is passed on.
    pub(crate) const fn stdin(&self) -> bool {
        self.interactive
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

    /// Ctrl-C and the like are typed at a terminal, or there is no use in asking for one.
    pub(crate) fn check_terminal(&self) -> Result<(), Failure> {
        if self.tty && self.interactive && !terminal::stdin_is_terminal() {
            return Err(anyhow!("-it: standard input is not a terminal").into());
        }
        Ok(())
    }

    /// What was typed, over the image's config.
    pub(crate) fn overrides(
        &self,
        entrypoint: Option<&str>,
        command: &[String],
    ) -> Result<Overrides, Failure> {
        Ok(Overrides {
            entrypoint: entrypoint.map(str::to_owned),
            command: command.to_vec(),
            env: self.environment()?,
            working_directory: self.workdir.clone(),
            user: self.user.clone(),
            terminal: self.tty.then(terminal::size),
            stdin: self.interactive,
            groups: Vec::new(),
            ulimits: self.ulimit.clone(),
        })
    }
}

/// The settings in a file, as docker reads it: no quotes, no expansion.
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
            _ => Err(anyhow!("{}: '{line}' is not NAME=VALUE", path.display()).into()),
        })
        .collect()
}

/// `NAME` alone takes its value from here, and is nothing where it is not set here.
fn passed_on(setting: &str) -> Option<String> {
    if setting.contains('=') {
        return Some(setting.to_owned());
    }
    std::env::var(setting)
        .ok()
        .map(|value| format!("{setting}={value}"))
}
