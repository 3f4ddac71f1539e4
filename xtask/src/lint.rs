use std::process::Command;

use anyhow::Result;

use test_fixtures::build::cargo;
use test_fixtures::command::{quiet, shown, step};

use crate::{figures, layers, sizes};

/// The variable with the program that cargo starts instead of the compiler for the workspace's own crates.
const WRAPPER: &str = "RUSTC_WORKSPACE_WRAPPER";

/// Runs every check that does not run msb.
pub(crate) fn run() -> Result<()> {
    of_sources()?;
    clippy()
}

/// Runs the checks that need no compiler.
pub(crate) fn of_sources() -> Result<()> {
    step("lint: format");
    shown(cargo().args(["fmt", "--all", "--check"]))?;
    step("lint: dependency direction");
    layers::check()?;
    step("lint: sizes of files and crates");
    sizes::check()?;
    step("lint: figures of STYLE.md");
    figures::check()
}

/// Makes clippy the compiler of the workspace's own crates in a command and in what it starts; a warning is an
/// error. The variables are those that `cargo clippy` sets.
pub(crate) fn judged(command: &mut Command) -> &mut Command {
    command
        .env(WRAPPER, "clippy-driver")
        .env("CLIPPY_ARGS", "-Dwarnings")
}

/// Returns true if clippy is the compiler of what this process starts.
pub(crate) fn is_judged() -> bool {
    std::env::var_os(WRAPPER).is_some()
}

/// Lets clippy judge every target; a warning is an error.
pub(crate) fn clippy() -> Result<()> {
    step("lint: clippy");
    let clippy = [
        "clippy",
        "--quiet",
        "--workspace",
        "--all-targets",
        "--locked",
    ];
    shown(cargo().args(clippy).args(["--", "-D", "warnings"]))
}

/// Checks licences, sources and duplicates. The advisory database lies outside the package
/// registries and is used only if it can be reached.
pub(crate) fn deny() -> Result<()> {
    let installed = quiet(cargo().args(["deny", "--version"])).is_ok();
    if !installed {
        step("install cargo-deny");
        shown(cargo().args(["install", "--locked", "cargo-deny"]))?;
    }
    shown(cargo().args(["deny", "check", "bans", "licenses", "sources"]))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use test_fixtures::paths;

    use crate::sizes::sources;

    /// Phrases that no error message contains; STYLE.md has the words to write instead.
    const BAD: [&str; 16] = [
        "nobody",
        "of its own",
        "there is none",
        "is none",
        "is no ",
        "is gone",
        "any more",
        "as it is",
        "as they are",
        "so many",
        "beside",
        "by itself",
        "began with",
        "alone",
        "names no ",
        "takes no ",
    ];

    /// Returns the messages of a file's `#[error("…")]` attributes, each in one line.
    fn messages(text: &str) -> Vec<String> {
        let attributes = text.split("#[error(").skip(1);
        let messages = attributes.filter_map(|rest| {
            let rest = rest.trim_start().strip_prefix('"')?;
            rest.split_once(")]").map(|(message, _)| message)
        });
        let joined = |message: &str| {
            let words = message.split_whitespace().filter(|word| *word != "\\");
            words.collect::<Vec<_>>().join(" ")
        };
        messages.map(joined).collect()
    }

    #[test]
    fn error_messages_read_well() {
        let split = "#[error(\n    \"it is \\\n     gone\"\n)]";
        assert_eq!(messages(split), ["it is gone\""]);
        let mut faults = Vec::new();
        for file in sources(&paths::root().join("crates")).expect("the crates") {
            let text = fs::read_to_string(&file).expect("a source file");
            for message in messages(&text) {
                let bad = BAD.iter().filter(|phrase| message.contains(**phrase));
                faults.extend(bad.map(|bad| format!("{}: '{bad}': {message}", file.display())));
            }
        }
        assert!(faults.is_empty(), "{faults:#?}");
    }
}
