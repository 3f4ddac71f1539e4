//! What is printed for `--help`, and for a command line that makes no sense.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args as _, Command, CommandFactory as _};

use crate::args::Arguments;
use crate::commands::{create, ps, run};

/// Prints what came instead of arguments. Whether it was asked for, and could be printed.
pub(crate) fn print(error: clap::Error) -> bool {
    let asked = !error.use_stderr();
    let error = match error.kind() {
        ErrorKind::DisplayHelp => in_order(error),
        ErrorKind::MissingRequiredArgument => with_plain_usage(error, std::env::args_os()),
        _ => error,
    };
    let is_printed = error.print().is_ok();
    asked && is_printed
}

/// Every command, with what its help shows in order: a command that is built late has the global
/// options first, and its own headings after them.
fn ordered() -> Command {
    let at_once = |command: Command| command.defer(|command| command);
    Arguments::command()
        .mut_subcommand("run", |command| {
            run::Arguments::augment_args(at_once(command))
        })
        .mut_subcommand("create", |command| {
            create::Arguments::augment_args(at_once(command))
        })
        .mut_subcommand("ls", |command| {
            let command = ps::Arguments::augment_args(at_once(command));
            // It is taken for docker's sake; there is nothing to add.
            command.mut_arg("all", |argument| argument.hide(true))
        })
}

fn in_order(error: clap::Error) -> clap::Error {
    ordered().try_get_matches().err().unwrap_or(error)
}

/// A usage line without the options that the environment has set, which nobody typed.
fn with_plain_usage(mut error: clap::Error, words: impl Iterator<Item = OsString>) -> clap::Error {
    let mut command = ordered();
    command.build();
    for word in words.skip(1) {
        let subcommand = word.to_str().and_then(|word| command.find_subcommand(word));
        if let Some(subcommand) = subcommand {
            command = subcommand.clone();
        } else if !command.has_subcommands() {
            break;
        }
    }
    let usage = ContextValue::StyledStr(command.render_usage());
    error.insert(ContextKind::Usage, usage);
    error
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::GLOBAL_HEADING;

    /// What reads badly, or says nothing.
    const BAD: &[&str] = &[
        "How to print",
        "Mark it",
        "Say what",
        "Show those only",
        "The same, as",
        "As docker has it",
        "For symmetry",
        "to itself",
        "msb never asks",
        "that this holds for",
        "what it lacks of",
    ];

    /// Each visible command below this one, by its words.
    fn each(command: &Command, words: &str, look: &mut impl FnMut(&str, &Command)) {
        for subcommand in command.get_subcommands() {
            if subcommand.is_hide_set() || subcommand.get_name() == "help" {
                continue;
            }
            let words = format!("{words} {}", subcommand.get_name());
            look(&words, subcommand);
            each(subcommand, &words, look);
        }
    }

    fn all() -> Command {
        let mut command = ordered();
        command.build();
        command
    }

    #[test]
    fn every_command_has_an_example_and_reads_well() {
        let mut faults = Vec::new();
        each(&all(), "msb", &mut |words, command| {
            let help = command.clone().render_long_help().to_string();
            if !help.contains("\nExamples:\n") && !command.has_subcommands() {
                faults.push(format!("{words} has no example"));
            }
            let bad = BAD.iter().filter(|phrase| help.contains(**phrase));
            faults.extend(bad.map(|phrase| format!("{words} says '{phrase}'")));
        });
        assert!(faults.is_empty(), "{faults:#?}");
    }

    #[test]
    fn global_options_stand_last_and_words_stand_under_arguments() {
        each(&all(), "msb", &mut |words, command| {
            let help = command.clone().after_help(None).render_help().to_string();
            let headings: Vec<&str> = (help.lines())
                .filter(|line| line.ends_with(':') && !line.starts_with(' '))
                .collect();
            let global = format!("{GLOBAL_HEADING}:");
            assert_eq!(headings.last(), Some(&global.as_str()), "{words}: {help}");
        });
        let run = all().find_subcommand("run").cloned();
        let help = run.expect("it is there").render_help().to_string();
        let (before, _) = help.split_once("\nOptions:").expect("a heading");
        assert!(
            before.contains("Arguments:\n  <IMAGE [COMMAND] [ARG]>..."),
            "{help}"
        );
    }

    #[test]
    fn a_usage_line_names_what_is_missing_and_nothing_of_the_environment() {
        let words = ["msb", "--home", "/somewhere", "rm"];
        let error = Arguments::command().try_get_matches_from(words);
        let error = error.expect_err("the sandbox is missing");
        let error = with_plain_usage(error, words.iter().map(OsString::from));
        let text = error.render().to_string();
        assert!(
            text.contains("\nUsage: msb rm [OPTIONS] <SANDBOX>...\n"),
            "{text}"
        );
    }
}
