use clap::{Arg, ArgAction, ArgMatches, Command};

use super::{Effect, OptionGroup, options};
use crate::output;

/// Options that change nothing in msb and are accepted for compatibility with Docker. The table of
/// options lists them for each command by its name; help does not show them.
#[derive(Debug, Clone, Default)]
pub(crate) struct NeedlessOptions {
    /// The notice for each option that was typed.
    notes: Vec<String>,
}

impl NeedlessOptions {
    /// Prints for each option that was typed the reason why it changes nothing.
    pub(crate) fn print(&self, is_quiet: bool) {
        if !is_quiet {
            self.notes.iter().for_each(|note| output::notice(note));
        }
    }
}

/// An option that changes nothing.
struct Needless {
    group: &'static OptionGroup,
    /// The long name, without its dashes.
    name: &'static str,
    takes_value: bool,
    why: &'static str,
}

fn all() -> impl Iterator<Item = Needless> {
    options::ALL.iter().flat_map(|group| {
        let names = group.names.iter();
        let long = names.filter_map(|name| name.strip_prefix("--"));
        long.filter_map(|name| match group.effect {
            Effect::Refused(_) => None,
            Effect::Needless { takes_value, why } => Some(Needless {
                group,
                name,
                takes_value,
                why,
            }),
        })
    })
}

impl Needless {
    fn argument(&self) -> Arg {
        let argument = Arg::new(self.name).long(self.name);
        let argument = argument.action(ArgAction::Append).hide(true);
        let argument = if self.takes_value {
            argument
        } else {
            // Docker's flags accept `=true`.
            argument
                .num_args(0..=1)
                .require_equals(true)
                .default_missing_value("true")
        };
        let short = |name: &&str| match name.as_bytes() {
            [b'-', letter] => Some(char::from(*letter)),
            _ => None,
        };
        match self.group.names.iter().find_map(short) {
            Some(letter) => argument.short(letter),
            None => argument,
        }
    }

    fn note(&self) -> String {
        format!("--{} changes nothing: {}", self.name, self.why)
    }
}

impl clap::Args for NeedlessOptions {
    fn augment_args(command: Command) -> Command {
        let name = command.get_name().to_owned();
        all()
            .filter(|needless| needless.group.commands.contains(&name.as_str()))
            .fold(command, |command, needless| {
                command.arg(needless.argument())
            })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl clap::FromArgMatches for NeedlessOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let is_typed = |needless: &Needless| matches.ids().any(|id| id == needless.name);
        Ok(Self {
            notes: all()
                .filter(is_typed)
                .map(|needless| needless.note())
                .collect(),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
