use image_store::ImageConfig;
use msb_agent_protocol::v1::{Exec, WindowSize};

use crate::{Process, Ulimit};

/// `PATH` of a command whose image sets none, as docker has it.
const DEFAULT_PATH: &str = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// What a user says over the image's own config. Empty or `None` keeps what the image says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overrides {
    /// Instead of the image's Entrypoint; some empty string means no entrypoint at all.
    pub entrypoint: Option<String>,
    /// Instead of the image's Cmd.
    pub command: Vec<String>,
    /// `NAME=value` over the image's Env.
    pub env: Vec<String>,
    /// Instead of the image's WorkingDir.
    pub working_directory: Option<String>,
    /// Instead of the image's User.
    pub user: Option<String>,
    /// Give the command a terminal of this size.
    pub terminal: Option<WindowSize>,
    /// Whether standard input is sent.
    pub stdin: bool,
    /// Groups beside those that the user has, names or numbers.
    pub groups: Vec<String>,
    /// Limits; of two for one resource, the later counts.
    pub ulimits: Vec<Ulimit>,
}

/// The image names no command, and neither did the user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no command specified: the image has neither Entrypoint nor Cmd")]
pub struct NoCommand;

/// The command that `config` and `overrides` make together, by docker's rules: an entrypoint given
/// by the user drops the image's Cmd too.
///
/// # Errors
/// When nothing is left to run.
pub fn process(config: &ImageConfig, overrides: &Overrides) -> Result<Process, NoCommand> {
    let argv = argv(config, overrides);
    if argv.is_empty() {
        return Err(NoCommand);
    }
    Ok(Process {
        argv,
        ..process_without_command(config, overrides)
    })
}

/// What commands of a sandbox start from that has no first one.
pub fn process_without_command(config: &ImageConfig, overrides: &Overrides) -> Process {
    let either = |wanted: &Option<String>, own: &Option<String>| {
        wanted.clone().or_else(|| own.clone()).unwrap_or_default()
    };
    Process {
        argv: Vec::new(),
        env: environment(config, overrides),
        working_directory: either(&overrides.working_directory, &config.working_dir),
        user: either(&overrides.user, &config.user),
        terminal: overrides.terminal.is_some(),
        stdin: overrides.stdin,
        groups: overrides.groups.clone(),
        ulimits: overrides.ulimits.clone(),
    }
}

/// A command that joins those of a sandbox which runs, by docker's rules: no entrypoint, and what
/// the first command has below what is said now.
///
/// # Errors
/// When there is no command.
pub fn exec_in(first: &Process, overrides: &Overrides) -> Result<Exec, NoCommand> {
    let config = ImageConfig {
        env: Some(first.env.clone()),
        working_dir: Some(first.working_directory.clone()),
        user: Some(first.user.clone()),
        ..ImageConfig::default()
    };
    let mut overrides = overrides.clone();
    let ulimits = first.ulimits.iter().chain(&overrides.ulimits).cloned();
    overrides.ulimits = ulimits.collect();
    let groups = first.groups.iter().chain(&overrides.groups).cloned();
    overrides.groups = groups.collect();
    let window = overrides.terminal.map(|size| (size.rows, size.columns));
    Ok(process(&config, &overrides)?.exec(window))
}

fn argv(config: &ImageConfig, overrides: &Overrides) -> Vec<String> {
    let (mut argv, image_command) = match &overrides.entrypoint {
        Some(entrypoint) if entrypoint.is_empty() => (Vec::new(), &[][..]),
        Some(entrypoint) => (vec![entrypoint.clone()], &[][..]),
        None => (
            config.entrypoint.clone().unwrap_or_default(),
            config.cmd.as_deref().unwrap_or(&[]),
        ),
    };
    let command = if overrides.command.is_empty() {
        image_command
    } else {
        &overrides.command
    };
    argv.extend_from_slice(command);
    argv
}

/// Later settings win and stay where the first stood.
fn environment(config: &ImageConfig, overrides: &Overrides) -> Vec<String> {
    let terminal = overrides.terminal.map(|_| "TERM=xterm".to_owned());
    let base = [DEFAULT_PATH.to_owned()].into_iter().chain(terminal);
    let all = base
        .chain(config.env.iter().flatten().cloned())
        .chain(overrides.env.iter().cloned());
    let mut environment: Vec<String> = Vec::new();
    for setting in all {
        let same = environment
            .iter_mut()
            .find(|earlier| name(earlier) == name(&setting));
        match same {
            Some(earlier) => *earlier = setting,
            None => environment.push(setting),
        }
    }
    environment
}

fn name(setting: &str) -> &str {
    setting.split_once('=').map_or(setting, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(words: &[&str]) -> Vec<String> {
        words.iter().map(|&word| word.to_owned()).collect()
    }

    fn run(entrypoint: &[&str], cmd: &[&str], over: Option<&str>, args: &[&str]) -> Vec<String> {
        let config = ImageConfig {
            entrypoint: Some(strings(entrypoint)),
            cmd: Some(strings(cmd)),
            ..ImageConfig::default()
        };
        let overrides = Overrides {
            entrypoint: over.map(str::to_owned),
            command: strings(args),
            ..Overrides::default()
        };
        process(&config, &overrides)
            .map(|process| process.argv)
            .unwrap_or_default()
    }

    #[test]
    fn entrypoint_and_cmd_follow_docker() {
        assert_eq!(run(&["e"], &["c"], None, &[]), ["e", "c"]);
        assert_eq!(run(&["e"], &["c"], None, &["x", "y"]), ["e", "x", "y"]);
        assert_eq!(run(&["e"], &["c"], Some("o"), &[]), ["o"]);
        assert_eq!(run(&["e"], &["c"], Some("o"), &["x"]), ["o", "x"]);
        assert_eq!(run(&["e"], &["c"], Some(""), &["x"]), ["x"]);
        assert!(run(&[], &[], None, &[]).is_empty());
    }

    #[test]
    fn later_commands_have_the_first_ones_groups() {
        let first = Process {
            groups: strings(&["audio"]),
            ..Process::default()
        };
        let overrides = Overrides {
            command: strings(&["id"]),
            ..Overrides::default()
        };
        let exec = exec_in(&first, &overrides).expect("a command");
        assert_eq!(exec.groups, ["audio"]);
    }

    #[test]
    fn later_environment_wins_in_place() {
        let config = ImageConfig {
            env: Some(strings(&["PATH=/bin", "A=1"])),
            ..Default::default()
        };
        let overrides = Overrides {
            env: strings(&["A=2", "B=3"]),
            ..Overrides::default()
        };
        assert_eq!(
            environment(&config, &overrides),
            ["PATH=/bin", "A=2", "B=3"]
        );
    }
}
