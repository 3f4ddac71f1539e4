//! System tests as recipes: `cargo xtask flips --count 1000` is `MSB_TEST_COUNT=1000 cargo test -p
//! store flips::`.
//!
//! An option of a recipe is a variable of the environment, or a part of the tests' names. The tests
//! have short forms of their own, which `cargo xtask test` runs; the recipes begin with the long
//! ones.

mod table;

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::{Arg, ArgAction, ArgMatches, Command};
use test_fixtures::build::cargo;
use test_fixtures::command::step;

use crate::programs::ended;
use table::{GUEST_OPTIONS, TESTS};

/// The variable with the time limit of a test, and its value for tests in their long form: a day.
const LIMIT_S: &str = "MSB_TEST_LIMIT_S";
const LONG_LIMIT_S: &str = "86400";

/// The tests of one package whose names hold a word.
struct Tests {
    recipe: &'static str,
    about: &'static str,
    package: &'static str,
    filter: &'static str,
    /// True if tests that take long run too.
    with_long: bool,
    options: &'static [Opt],
}

/// An option of a recipe.
struct Opt {
    name: &'static str,
    help: &'static str,
    effect: Effect,
}

/// The effect of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    /// Sets a variable to the option's value, or to this value if it is not given.
    Value(&'static str, Option<&'static str>),
    /// Sets a variable to the option's value, a path, made absolute.
    Path(&'static str),
    /// Sets a variable; the option has no value.
    Flag(&'static str),
    /// Runs the tests that take long too, and sets a variable; the option has no value.
    WithLong(Option<&'static str>),
    /// Runs these tests instead; the option has no value.
    Instead(&'static str),
    /// Runs these tests instead, with the value as `MSB_TEST_COUNT`.
    CountInstead(&'static str),
    /// Runs the tests whose names have the words of the value, instead of all.
    Words,
    /// Runs the tests whose names begin with the recipe's and this value, instead of all.
    Name,
    /// Runs the tests that the option's value, one of these, stands for.
    Choice(&'static [(&'static str, &'static str)]),
    /// Runs the tests that this word, one of these, stands for. It is no option, and is needed.
    Part(&'static [(&'static str, &'static str)]),
}

impl Opt {
    const fn new(name: &'static str, help: &'static str, effect: Effect) -> Self {
        Self { name, help, effect }
    }

    fn argument(&self) -> Arg {
        let argument = Arg::new(self.name).help(self.help);
        let argument = match self.effect {
            Effect::Part(_) => argument.required(true),
            _ => argument.long(self.name),
        };
        match self.effect {
            Effect::Flag(_) | Effect::WithLong(_) | Effect::Instead(_) => {
                argument.action(ArgAction::SetTrue)
            }
            Effect::Value(_, Some(default)) => argument.default_value(default),
            Effect::Choice(choices) | Effect::Part(choices) => {
                argument.value_parser(choices.iter().map(|(value, _)| *value).collect::<Vec<_>>())
            }
            _ => argument,
        }
    }
}

/// The arguments and variables with which cargo runs the tests.
#[derive(Debug, Default, PartialEq, Eq)]
struct Call {
    filter: String,
    with_long: bool,
    variables: Vec<(&'static str, OsString)>,
}

/// Returns all recipes.
pub(crate) fn commands() -> Vec<Command> {
    TESTS.iter().map(command).collect()
}

fn command(tests: &Tests) -> Command {
    let command = Command::new(tests.recipe).about(tests.about);
    let command = command.args(tests.options.iter().map(Opt::argument));
    match tests.package {
        "boot" => with_guest_options(command),
        _ => command,
    }
}

/// Adds the options that choose the msb, the image and the VMM under test.
pub(crate) fn with_guest_options(command: Command) -> Command {
    command.args(GUEST_OPTIONS.iter().map(Opt::argument))
}

/// Returns the variables that the options of [`with_guest_options`] set.
pub(crate) fn guest_variables(arguments: &ArgMatches) -> Vec<(&'static str, OsString)> {
    let mut call = Call::default();
    for option in GUEST_OPTIONS {
        call.apply(option, arguments, "");
    }
    call.variables
}

/// Measures the system calls of msb's threads.
pub(crate) fn seccomp_list(arguments: &ArgMatches) -> Result<ExitCode> {
    let mut command = cargo();
    command
        .args(["run", "--quiet", "--locked"])
        .args(["--package", "boot", "--bin", "seccomp-list"])
        .envs(guest_variables(arguments));
    ended(&mut command)
}

/// Runs the recipe with this name.
pub(crate) fn run(name: &str, arguments: &ArgMatches) -> Result<ExitCode> {
    let tests = TESTS.iter().find(|tests| tests.recipe == name);
    let tests = tests.context("no such recipe")?;
    let call = Call::new(tests, arguments);
    step(&format!(
        "{}cargo test -p {} {}",
        call.variables
            .iter()
            .map(|(name, value)| format!("{name}={} ", value.display()))
            .collect::<String>(),
        tests.package,
        call.filter
    ));
    // The tests of a crate of the product are its unit tests.
    let target = match tests.package.strip_prefix("msb-") {
        Some(_) => "--lib".to_owned(),
        None => format!("--test={}-tests", tests.package),
    };
    let mut command = cargo();
    command
        .args(["test", "--quiet", "--locked"])
        .args(["--package", tests.package, &target, "--"])
        .arg(&call.filter)
        .args(call.with_long.then_some("--include-ignored"))
        .envs(call.variables);
    if std::env::var_os(LIMIT_S).is_none() {
        command.env(LIMIT_S, LONG_LIMIT_S);
    }
    ended(&mut command)
}

impl Call {
    fn new(tests: &Tests, arguments: &ArgMatches) -> Self {
        let mut call = Self {
            filter: tests.filter.to_owned(),
            with_long: tests.with_long,
            variables: Vec::new(),
        };
        for option in tests.options {
            call.apply(option, arguments, tests.filter);
        }
        if tests.package == "boot" {
            for option in GUEST_OPTIONS {
                call.apply(option, arguments, tests.filter);
            }
        }
        call
    }

    fn apply(&mut self, option: &Opt, arguments: &ArgMatches, filter: &str) {
        if let Effect::Flag(_) | Effect::WithLong(_) | Effect::Instead(_) = option.effect {
            if !arguments.get_flag(option.name) {
                return;
            }
            match option.effect {
                Effect::Flag(variable) => self.variables.push((variable, "1".into())),
                Effect::Instead(tests) => (self.filter, self.with_long) = (tests.to_owned(), true),
                Effect::WithLong(variable) => {
                    self.with_long = true;
                    self.variables
                        .extend(variable.map(|variable| (variable, "1".into())));
                }
                _ => {}
            }
            return;
        }
        let Some(value) = arguments.get_one::<String>(option.name) else {
            return;
        };
        match option.effect {
            Effect::Value(variable, _) => self.variables.push((variable, value.into())),
            Effect::Path(variable) => {
                let path = std::path::absolute(value).unwrap_or_else(|_| value.into());
                self.variables.push((variable, path.into()));
            }
            Effect::CountInstead(tests) => {
                self.filter = tests.to_owned();
                self.variables.push(("MSB_TEST_COUNT", value.into()));
            }
            Effect::Words => self.filter = name_of(value),
            Effect::Name => {
                self.filter = format!("{filter}{value}");
                self.with_long = true;
            }
            Effect::Choice(choices) | Effect::Part(choices) => {
                let chosen = choices.iter().find(|(choice, _)| choice == value);
                self.filter = chosen.map_or(filter, |(_, tests)| tests).to_owned();
            }
            Effect::Flag(_) | Effect::WithLong(_) | Effect::Instead(_) => {}
        }
    }
}

/// Returns words as they stand in a test's name: see `test_support::harness::name_of`.
fn name_of(words: &str) -> String {
    let words = words.to_lowercase().replace('\'', "");
    let words = words.split(|letter: char| !letter.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join("_")
}

#[cfg(test)]
mod tests;
