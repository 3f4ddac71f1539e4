use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::{ArgMatches, Command};
use test_fixtures::command::shown;
use test_fixtures::{build, images, kernel, tools};

use crate::{
    bench_boot, demo, figures, fuzz, layers, lint, nightly, programs, sdk, system_tests, test,
};

/// A recipe: its command line and its function.
struct Recipe {
    command: fn() -> Command,
    run: fn(&ArgMatches) -> Result<ExitCode>,
}

const RECIPES: &[Recipe] = &[
    Recipe {
        command: || recipe("tools", "Install the others' Debian packages, as root"),
        run: |_| done(tools::install()),
    },
    Recipe {
        command: || recipe("kernel", "Fetch libkrunfw's kernel and print its path"),
        run: |_| printed(&kernel::libkrunfw()?),
    },
    Recipe {
        command: || programs::passing_on(recipe("kernel-build", "Build msb's own guest kernel")),
        run: |arguments| programs::package("kernel-build", arguments),
    },
    Recipe {
        command: || programs::passing_on(recipe("dist", "Make the release, or install it")),
        run: |arguments| programs::package("msb-dist", arguments),
    },
    Recipe {
        command: || programs::passing_on(recipe("arm64", "Try msb for arm64 under emulation")),
        run: |arguments| programs::package("msb-arm64", arguments),
    },
    Recipe {
        command: || recipe("build", "Build target/release/msb"),
        run: |_| printed(&build::release()?),
    },
    Recipe {
        command: || recipe("image", "Build the test image and print its path"),
        run: |_| printed(&images::demo()?),
    },
    Recipe {
        command: || recipe("bench-image", "Build the image of msb bench fs"),
        run: |_| printed(&images::bench()?),
    },
    Recipe {
        command: || recipe("demo", "Build msb, pull an image, run python3 in a microVM"),
        run: |_| demo::run(),
    },
    Recipe {
        command: test::command,
        run: |arguments| done(test::run(arguments)),
    },
    Recipe {
        command: || {
            recipe(
                "lint",
                "Format, clippy, dependency direction, sizes of files and crates, the figures of STYLE.md",
            )
        },
        run: |_| done(lint::run()),
    },
    Recipe {
        command: || recipe("layers", "Prove that dependencies point one way"),
        run: |_| done(layers::check()),
    },
    Recipe {
        command: || {
            recipe(
                "figures",
                "Print the figures that STYLE.md limits, and the circles of imports",
            )
        },
        run: |_| done(figures::run()),
    },
    Recipe {
        command: || recipe("deny", "Check dependencies' licences, sources, duplicates"),
        run: |_| done(lint::deny()),
    },
    Recipe {
        command: sdk::command,
        run: |arguments| done(sdk::run(arguments)),
    },
    Recipe {
        command: || recipe("adapters", "Test the SDK's adapters for evaluations"),
        run: |_| done(sdk::adapters::run()),
    },
    Recipe {
        command: || recipe("long-guides", "Run the guides that fetch packages of npm"),
        run: |_| {
            done(shown(
                test::product::tests("boot").args(["--", "--ignored"]),
            ))
        },
    },
    Recipe {
        command: fuzz::command,
        run: |arguments| done(fuzz::run(arguments)),
    },
    Recipe {
        command: || recipe("nightly", "Run every check that is too long for .ci/run"),
        run: |_| done(nightly::run()),
    },
    Recipe {
        command: || {
            let about = "Run each recipe that a document names, as from a clone with nothing built";
            programs::passing_on(recipe("documented", about))
        },
        run: |arguments| programs::package("guides", arguments),
    },
    Recipe {
        command: bench_boot::command,
        run: bench_boot::run,
    },
    Recipe {
        command: || {
            let about =
                "Run a command in the KVM lab: a guest with (emulated) AMD-V, where libkrun works";
            programs::passing_on(recipe("lab", about))
        },
        run: |arguments| programs::lab(arguments),
    },
    Recipe {
        command: || {
            let about = "Judge the JSON on standard input, as a command prints it, by a schema of docs/schemas";
            programs::passing_on(recipe("schema", about))
        },
        run: |arguments| programs::schema(arguments),
    },
    Recipe {
        command: || {
            let about = "Print the system calls that msb's own threads make once they are confined";
            system_tests::with_guest_options(recipe("seccomp-list", about))
        },
        run: |arguments| system_tests::seccomp_list(arguments),
    },
];

/// Returns the command line of all recipes.
pub(crate) fn line() -> Command {
    Command::new("cargo xtask")
        .about("The project's recipes")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands(RECIPES.iter().map(|recipe| (recipe.command)()))
        .subcommands(system_tests::commands())
}

/// Runs the recipe that the command line names.
pub(crate) fn run() -> Result<ExitCode> {
    let matches = line().get_matches();
    let (name, arguments) = matches.subcommand().context("a recipe is required")?;
    let found = RECIPES
        .iter()
        .find(|recipe| (recipe.command)().get_name() == name);
    match found {
        Some(recipe) => (recipe.run)(arguments),
        None => system_tests::run(name, arguments),
    }
}

/// Returns a recipe without arguments.
fn recipe(name: &'static str, about: &'static str) -> Command {
    Command::new(name).about(about)
}

fn done(outcome: Result<()>) -> Result<ExitCode> {
    outcome.map(|()| ExitCode::SUCCESS)
}

fn printed(path: &Path) -> Result<ExitCode> {
    println!("{}", path.display());
    Ok(ExitCode::SUCCESS)
}
