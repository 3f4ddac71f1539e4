use msb_agent_protocol::v1::{Exec, WindowSize};
use oci_image::ImageConfig;

use crate::{Process, Ulimit};

/// The `PATH` of a command whose image sets none, the same as docker's.
const DEFAULT_PATH: &str = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The user's settings that replace those of the image's config; empty or `None` keeps the image's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overrides {
    /// Replaces the image's Entrypoint; an empty string means no entrypoint at all.
    pub entrypoint: Option<String>,
    /// Replaces the image's Cmd.
    pub command: Vec<String>,
    /// `NAME=value` settings that override the image's Env.
    pub env: Vec<String>,
    /// `NAME=value` settings for names that neither the image's Env nor `env` sets.
    pub env_defaults: Vec<String>,
    /// Replaces the image's WorkingDir.
    pub working_directory: Option<String>,
    /// Replaces the image's User.
    pub user: Option<String>,
    /// The size of the command's terminal; `None` if the command gets no terminal.
    pub terminal: Option<WindowSize>,
    /// True if standard input is sent.
    pub stdin: bool,
    /// Supplementary groups besides the user's, as names or numbers.
    pub groups: Vec<String>,
    /// Resource limits; the later of two limits for one resource counts.
    pub ulimits: Vec<Ulimit>,
}

/// Neither the image nor the user names a command.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no command specified, and the image has neither Entrypoint nor Cmd")]
pub struct NoCommand;

/// Returns the command that `config` and `overrides` make together, by docker's rules.
/// An entrypoint given by the user also drops the image's Cmd.
///
/// # Errors
/// If the resulting command is empty.
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

/// Returns the settings that commands start from in a sandbox without a main command.
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

/// Returns a command for a running sandbox whose main command is `first`, by docker's rules.
/// It has no entrypoint, `overrides` take precedence over the settings of `first`, and a working
/// directory in `overrides` must exist.
///
/// # Errors
/// If there is no command.
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
    Ok(Exec {
        working_directory_must_exist: overrides.working_directory.is_some(),
        ..process(&config, &overrides)?.exec(window)
    })
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

/// Returns the environment. A later setting replaces an earlier one of the same name, in its place.
fn environment(config: &ImageConfig, overrides: &Overrides) -> Vec<String> {
    let terminal = overrides.terminal.map(|_| "TERM=xterm".to_owned());
    let base = [DEFAULT_PATH.to_owned()].into_iter().chain(terminal);
    let all = base
        .chain(overrides.env_defaults.iter().cloned())
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
    fn a_later_command_makes_no_directory_that_it_names_itself() {
        let first = Process {
            working_directory: "/srv".to_owned(),
            ..Process::default()
        };
        let mut overrides = Overrides {
            command: strings(&["pwd"]),
            ..Overrides::default()
        };
        let inherited = exec_in(&first, &overrides).expect("a command");
        assert_eq!(inherited.working_directory, "/srv");
        assert!(!inherited.working_directory_must_exist);
        overrides.working_directory = Some("/new".to_owned());
        let named = exec_in(&first, &overrides).expect("a command");
        assert_eq!(named.working_directory, "/new");
        assert!(named.working_directory_must_exist);
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

    #[test]
    fn a_default_gives_way_to_the_image_and_to_the_user() {
        let config = ImageConfig {
            env: Some(strings(&["OF_IMAGE=1"])),
            ..Default::default()
        };
        let overrides = Overrides {
            env: strings(&["OF_USER="]),
            env_defaults: strings(&["OF_IMAGE=0", "OF_USER=0", "OF_NOBODY=0"]),
            ..Overrides::default()
        };
        assert_eq!(
            environment(&config, &overrides),
            [DEFAULT_PATH, "OF_IMAGE=1", "OF_USER=", "OF_NOBODY=0"]
        );
    }
}
