//! The recipes that documents name, run as their readers would type them, from a clone with nothing built.

mod lines;
mod recipe;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use clap::{Arg, ArgAction, ArgMatches};
use test_fixtures::command::quiet;
use test_fixtures::paths;

use crate::nightly;
use crate::test::one_after_the_other;
use recipe::Recipe;

/// Recipes that are not run, each with the reason.
const EXCEPT: &[(&str, &str)] = &[
    (
        "cargo xtask test",
        "it is the README's second command, and .ci/run",
    ),
    ("cargo xtask nightly", "its lines are recipes of their own"),
    ("cargo xtask lab", "it needs a command"),
    ("cargo xtask documented", "it would run itself"),
    (
        "cargo xtask kernel-build --update",
        "it changes the pinned kernel",
    ),
    (
        "cargo xtask fidelity --record",
        "it writes docs/fidelity.md",
    ),
    ("cargo xtask arm64 macos", "it needs Apple's SDK"),
];

/// Returns the recipe's command line.
pub(crate) fn command() -> clap::Command {
    let only = Arg::new("only")
        .long("only")
        .value_name("WORDS")
        .help("Only the recipes that hold this");
    let list = Arg::new("list")
        .long("list")
        .action(ArgAction::SetTrue)
        .help("Print the recipes instead of running them");
    let about = "Run each recipe that a document names, except those of nightly, as from a clone with nothing built";
    clap::Command::new("documented")
        .about(about)
        .args([only, list])
}

/// Runs the recipes one after the other, continues after one that fails, and fails at the end. Before each, the
/// programs that earlier ones have built are removed, and each has an empty `MSB_HOME`.
pub(crate) fn run(arguments: &ArgMatches) -> Result<()> {
    let words = arguments
        .get_one::<String>("only")
        .map_or("", String::as_str);
    let mut chosen = all()?;
    chosen.retain(|recipe| recipe.line.contains(words));
    ensure!(!chosen.is_empty(), "no document names such a recipe");
    if arguments.get_flag("list") {
        for recipe in &chosen {
            println!("{}", recipe.line);
        }
        return Ok(());
    }
    let home = paths::kept("documented")?;
    one_after_the_other(
        "documented",
        &chosen,
        |recipe| recipe.line.as_str(),
        |recipe| recipe.run(&home),
    )
}

/// Returns the recipes of all documents, each once, in the order of their lines.
fn all() -> Result<Vec<Recipe>> {
    let mut found = BTreeSet::new();
    for document in documents()? {
        let text = fs::read_to_string(&document)
            .with_context(|| format!("cannot read {}", document.display()))?;
        found.extend(lines::of(&text));
    }
    let recipes = found.into_iter().filter(|line| {
        EXCEPT.iter().all(|(except, _)| line != except)
            && !nightly::has(line.trim_start_matches("cargo xtask "))
    });
    Ok(recipes.map(|line| Recipe { line }).collect())
}

fn documents() -> Result<Vec<PathBuf>> {
    let listed = quiet(
        std::process::Command::new("git")
            .current_dir(paths::root())
            .args(["ls-files", "-z", "*.md"]),
    )?;
    let names = String::from_utf8(listed.stdout)?;
    let names = names.split_terminator('\0');
    Ok(names.map(|name| paths::root().join(name)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_recipe_of_a_document_is_one_of_xtask() {
        let lines: Vec<_> = all().expect("the documents").into_iter().collect();
        assert!(lines.len() > 100, "{} recipes", lines.len());
        let words = lines
            .iter()
            .filter(|recipe| recipe.line.starts_with("cargo xtask "))
            .map(|recipe| recipe.words());
        for words in words {
            let arguments = words.iter().skip(1).map(String::as_str);
            if let Err(error) = crate::recipes::line().try_get_matches_from(arguments) {
                panic!("{words:?}: {error}");
            }
        }
    }

    #[test]
    fn every_exception_is_named_in_a_document() {
        let mut named = BTreeSet::new();
        for document in documents().expect("the documents") {
            named.extend(lines::of(&fs::read_to_string(document).expect("text")));
        }
        for (line, _) in EXCEPT {
            assert!(named.contains(*line), "{line}");
        }
    }
}
