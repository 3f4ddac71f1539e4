//! The output of `--help`, and of a command line that cannot be parsed.

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::docker;
use msb_terminal::failure::printable;
use msb_terminal::output;

/// Prints clap's result for this grammar in place of arguments. Returns true if the user asked for it, as with
/// `--help`, and it was printed.
pub(crate) fn print(error: clap::Error, grammar: &Command) -> bool {
    let words: Vec<String> = std::env::args_os()
        .skip(1)
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let asked = !error.use_stderr();
    let (path, command) = typed_command(grammar.clone(), &words);
    if let Some(line) = docker::answer(&error, &path, &words) {
        output::answer(&printable(&line));
        return false;
    }
    let in_order = || grammar.clone().try_get_matches().err();
    let printed = match error.kind() {
        ErrorKind::DisplayHelp => in_order().unwrap_or(error).print(),
        ErrorKind::MissingSubcommand => command.clone().print_help(),
        ErrorKind::MissingRequiredArgument => with_plain_usage(error, command).print(),
        ErrorKind::UnknownArgument => without_dashes(error).print(),
        ErrorKind::InvalidSubcommand => without_hidden(error, &command).print(),
        _ => error.print(),
    };
    asked && printed.is_ok()
}

/// Returns the command that was typed, as far as it exists, and its words. The command is built.
pub(crate) fn typed_command(grammar: Command, words: &[String]) -> (String, Command) {
    let mut command = grammar;
    command.build();
    let mut path = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word == "--home" {
            words.next();
        } else if let Some(subcommand) = command.find_subcommand(word) {
            path.push(subcommand.get_name().to_owned());
            command = subcommand.clone();
        } else if !word.starts_with('-') {
            break;
        }
    }
    (path.join(" "), command)
}

/// Gives the error a usage line without the options that the environment sets. The user did not
/// type them.
fn with_plain_usage(mut error: clap::Error, mut command: Command) -> clap::Error {
    let usage = ContextValue::StyledStr(command.render_usage());
    error.insert(ContextKind::Usage, usage);
    error
}

/// Removes the advice to write `--` before an unknown option. Such an option is a mistake for one
/// of msb's, or belongs to the command behind the image.
fn without_dashes(mut error: clap::Error) -> clap::Error {
    if let Some(ContextValue::StyledStrs(mut advice)) = error.remove(ContextKind::Suggested) {
        advice.retain(|line| !line.to_string().starts_with("to pass "));
        if !advice.is_empty() {
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(advice));
        }
    }
    error
}

/// Removes the advice to type a hidden command.
fn without_hidden(mut error: clap::Error, command: &Command) -> clap::Error {
    let kind = ContextKind::SuggestedSubcommand;
    if let Some(ContextValue::Strings(mut similar)) = error.remove(kind) {
        similar.retain(|name| {
            let found = command.find_subcommand(name);
            found.is_some_and(|found| !found.is_hide_set())
        });
        if similar.is_empty() {
            // The rest of clap's advice is an empty list.
            error.remove(ContextKind::Suggested);
        } else {
            error.insert(kind, ContextValue::Strings(similar));
        }
    }
    error
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::args::ordered;
    use crate::args::{Arguments, GLOBAL_HEADING};

    /// Phrases that read badly or say nothing.
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
        "left-over",
        "so many",
        "what is in",
        "that do not run",
        "is no error",
        "docker's sake",
        "as docker groups",
        "began with",
        "in any case",
        "of its own",
        "beside",
        "what is left",
        "as it is",
        "as they are",
        "a further name",
        "found out",
        "any more",
        "nobody",
        "by itself",
        "there is none",
    ];

    /// Calls `look` for each visible command below this one, with the command's words.
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

    /// Returns the first line of prose that ends within a sentence. Examples are commands, not prose.
    fn broken_line(help: &str) -> Option<&str> {
        let prose = help.split("Examples:").next().unwrap_or(help);
        let lines: Vec<&str> = prose.lines().collect();
        let is_broken = |pair: &&[&str]| {
            let (line, next) = (pair[0], pair[1]);
            let indent = |line: &str| line.len() - line.trim_start().len();
            // An entry of a list has its description behind a gap.
            let is_prose = |line: &str| !line.trim().is_empty() && !line.trim().contains("  ");
            is_prose(line)
                && is_prose(next)
                && indent(line) == indent(next)
                && next.trim_start().starts_with(char::is_lowercase)
                // A further line of the usage.
                && !next.trim_start().starts_with("msb ")
        };
        lines.windows(2).find(is_broken).map(|pair| pair[0])
    }

    #[test]
    fn help_leaves_the_breaking_of_lines_to_the_terminal() {
        assert_eq!(broken_line("The host\ntimes nothing."), Some("The host"));
        let mut command = ordered().term_width(10_000);
        command.build();
        each(&command, "msb", &mut |words, command| {
            let help = command.clone().render_long_help().to_string();
            assert_eq!(broken_line(&help), None, "{words}: {help}");
        });
    }

    #[test]
    fn options_of_run_and_create_have_a_line_each() {
        for name in ["run", "create"] {
            let words = ["msb", name, "--help"];
            let asked = ordered().term_width(100).try_get_matches_from(words);
            let help = asked.expect_err("help").render().to_string();
            let lines = help.lines().count();
            assert!(lines <= 130, "{name} has {lines} lines\n{help}");
            assert!(
                help.contains("\nExamples:\n") && help.contains("docs/cli.md"),
                "{help}"
            );
            let is_long = |line: &&str| line.chars().count() > 100;
            assert_eq!(help.lines().find(is_long), None);
            // msb help has the rest.
            let words = ["msb", "help", name];
            let asked = ordered().term_width(100).try_get_matches_from(words);
            let long = asked.expect_err("help").render().to_string();
            let long: Vec<&str> = long.split_whitespace().collect();
            assert!(long.join(" ").contains("The limit is 64 mounts with QEMU"));
        }
    }

    #[test]
    fn global_options_stand_last_and_words_stand_under_arguments() {
        let command = all();
        let container = command.find_subcommand("container").cloned();
        let container = container.expect("it is there");
        let mut look = |words: &str, command: &Command| {
            let help = command.clone().after_help(None).render_help().to_string();
            let headings: Vec<&str> = (help.lines())
                .filter(|line| line.ends_with(':') && !line.starts_with(' '))
                .collect();
            let global = format!("{GLOBAL_HEADING}:");
            assert_eq!(headings.last(), Some(&global.as_str()), "{words}: {help}");
        };
        each(&command, "msb", &mut look);
        each(&container, "msb container", &mut look);
        let run = all().find_subcommand("run").cloned();
        let help = run.expect("it is there").render_help().to_string();
        let (before, _) = help.split_once("\nOptions:").expect("a heading");
        assert!(
            before.contains("Arguments:\n  [IMAGE [COMMAND] [ARG]]..."),
            "{help}"
        );
    }

    #[test]
    fn advice_names_no_hidden_command_and_no_dashes() {
        let refused = |words: &[&str]| {
            let error = Arguments::command().try_get_matches_from(words);
            error.expect_err("a mistake")
        };
        for (word, similar) in [
            ("netwrok", Some("'network'")),
            ("__vm", None),
            ("imags", Some("'images'")),
        ] {
            let error = without_hidden(refused(&["msb", word]), &all());
            let text = error.render().to_string();
            assert!(
                !text.contains("__network") && !text.contains("\n\n\n"),
                "{text}"
            );
            assert_eq!(text.contains("tip:"), similar.is_some(), "{text}");
            assert!(text.contains(similar.unwrap_or_default()), "{text}");
        }
        let error = refused(&["msb", "run", "--bogus", "x"]);
        assert!(error.render().to_string().contains("'-- --bogus'"));
        assert!(!without_dashes(error).render().to_string().contains("tip:"));
        let similar = without_dashes(refused(&["msb", "run", "--memori", "1g", "x"]));
        assert!(similar.render().to_string().contains("'--memory'"));
    }

    #[test]
    fn a_usage_line_names_what_is_missing_and_nothing_of_the_environment() {
        let words = ["msb", "--home", "/somewhere", "rm"];
        let error = Arguments::command().try_get_matches_from(words);
        let error = error.expect_err("the sandbox is missing");
        let words = words.map(str::to_owned);
        let error = with_plain_usage(error, typed_command(ordered(), &words[1..]).1);
        let text = error.render().to_string();
        assert!(
            text.contains("\nUsage: msb rm [OPTIONS] <SANDBOX>...\n"),
            "{text}"
        );
    }
}
