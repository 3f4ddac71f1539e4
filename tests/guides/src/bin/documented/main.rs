//! Runs the recipes that documents name as their readers would type them, from a clone with nothing built.
//!
//! `cargo xtask documented [--list] [WORDS]` runs those that hold the words, one after the other, or prints them. Before
//! each, the programs that earlier ones have built are removed, and each has an empty `MSB_HOME`.

mod lines;
mod recipe;

use std::collections::BTreeSet;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use fs_err as fs;
use test_fixtures::command::{quiet, step};
use test_fixtures::paths;

use recipe::Recipe;

/// Recipes that are not run, each with the reason.
const EXCEPT: [(&str, &str); 8] = [
    (
        "cargo xtask test",
        "it is the README's second command, and .ci/run",
    ),
    ("cargo xtask nightly", "its lines are recipes too"),
    ("cargo xtask lab", "it needs a command"),
    ("cargo xtask documented", "it would run itself"),
    ("cargo xtask tools", "each recipe installs what it needs"),
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

fn main() -> Result<()> {
    let (options, words): (Vec<_>, Vec<_>) = std::env::args()
        .skip(1)
        .partition(|argument| argument.starts_with('-'));
    let words = words.join(" ");
    let mut recipes = all()?;
    recipes.retain(|recipe| recipe.line.contains(&words));
    ensure!(!recipes.is_empty(), "no document has such a recipe");
    match options.as_slice() {
        [] => run(&recipes),
        [list] if list == "--list" => {
            list_all(&recipes);
            Ok(())
        }
        _ => anyhow::bail!("usage: cargo xtask documented [--list] [WORDS]"),
    }
}

#[expect(clippy::print_stdout, reason = "the list is the program's output")]
fn list_all(recipes: &[Recipe]) {
    for recipe in recipes {
        println!("{}", recipe.line);
    }
}

/// Runs the recipes, continues after one that fails, and fails at the end.
#[expect(clippy::print_stdout, reason = "the outcomes are the program's output")]
fn run(recipes: &[Recipe]) -> Result<()> {
    let directory = paths::kept("documented")?;
    let mut failed = Vec::new();
    for (number, recipe) in (1..).zip(recipes) {
        step(&format!(
            "documented {number}/{}: {}",
            recipes.len(),
            recipe.line
        ));
        let begun = Instant::now();
        let outcome = recipe.run(&directory);
        let seconds = begun.elapsed().as_secs();
        match outcome {
            Ok(()) => println!("ok      {} ({seconds} s)", recipe.line),
            Err(error) => {
                failed.push(recipe.line.as_str());
                println!("FAILED  {}: {error:#} ({seconds} s)", recipe.line);
            }
        }
    }
    println!(
        "{} passed, {} failed",
        recipes.len() - failed.len(),
        failed.len()
    );
    ensure!(failed.is_empty(), "failed: {}", failed.join(", "));
    Ok(())
}

/// Returns the recipes of all documents, each once.
fn all() -> Result<Vec<Recipe>> {
    let found = named()?.into_iter();
    let chosen = found.filter(|line| EXCEPT.iter().all(|(except, _)| line != except));
    Ok(chosen.map(|line| Recipe { line }).collect())
}

/// Returns the recipes that documents of the repository name.
fn named() -> Result<BTreeSet<String>> {
    let root = paths::root();
    let listed = quiet(
        Command::new("git")
            .current_dir(&root)
            .args(["ls-files", "-z", "*.md"]),
    )?;
    let mut found = BTreeSet::new();
    for name in String::from_utf8(listed.stdout)?.split_terminator('\0') {
        let text = fs::read_to_string(root.join(name)).context("a document")?;
        found.extend(lines::of(&text));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_name_recipes_and_each_exception() {
        let named = named().expect("the documents");
        assert!(named.len() > 100, "{} recipes", named.len());
        for (line, _) in EXCEPT {
            assert!(named.contains(line), "{line}");
        }
    }
}
