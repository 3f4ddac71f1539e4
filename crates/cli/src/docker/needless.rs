use clap::{Arg, ArgAction, ArgMatches, Command};

use docker_words::needless::{NeedlessOption, all};

use msb_terminal::output;

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

/// Returns the hidden argument of the grammar.
fn argument(needless: &NeedlessOption) -> Arg {
    let argument = Arg::new(needless.name).long(needless.name);
    let argument = argument.action(ArgAction::Append).hide(true);
    let argument = if needless.takes_value {
        argument
    } else {
        // Docker's flags accept `=true`.
        argument
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true")
    };
    match needless.short {
        Some(letter) => argument.short(letter),
        None => argument,
    }
}

impl clap::Args for NeedlessOptions {
    fn augment_args(command: Command) -> Command {
        let name = command.get_name().to_owned();
        all()
            .filter(|needless| needless.commands.contains(&name.as_str()))
            .fold(command, |command, needless| {
                command.arg(argument(&needless))
            })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl clap::FromArgMatches for NeedlessOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let is_typed = |needless: &NeedlessOption| matches.ids().any(|id| id == needless.name);
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
