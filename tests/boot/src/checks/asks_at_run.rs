//! Questions of a guest, answered at the terminal of `msb run`.

use std::fs;
use std::process::Output;

use anyhow::{Result, ensure};
use test_support::{TestEnv, describe, expect_code};

use super::durability::remove;
use super::host_directory::HostDirectory;
use super::snapshots::told;
use super::terminal::Terminal;

const NAME: &str = "checks-asks-run";
const SECRET: &str = "TOKEN=of-the-host\n";
const QUESTION: &str = "Let it in? [y/N/always]";
/// Asks for two hidden files.
const SCRIPT: &str = "cd /work/src && msb-ask ../.env 'the tests need it' && cat ../.env; \
    msb-ask ../key.pem > /dev/null 2>&1; echo \"denied: $?\"; ls -A ..";
/// The files that are asked for, and the answers.
const ANSWERS: [(&str, &str); 2] = [("/work/.env", "y"), ("/work/key.pem", "n")];

/// Checks that questions are asked and answered at the terminal of a run, and that a run whose command has the input
/// names the client that answers.
pub(super) fn answered(env: &TestEnv) -> Result<()> {
    let host = HostDirectory::new(env)?;
    let project = host.0.join("project");
    fs::create_dir_all(project.join("src"))?;
    for name in [".env", "key.pem", "src/seen"] {
        fs::write(project.join(name), SECRET)?;
    }
    let mount = format!("{}:/work:staged", project.display());
    let ended = env.repeated(|| at_a_terminal(env, &mount))?;
    expect_code(&ended, 0)?;
    let printed = format!("allowed\n{SECRET}denied: 1\n.env\nsrc\n");
    ensure!(ended.stdout == printed.as_bytes(), "{}", describe(&ended));
    let shown = String::from_utf8_lossy(&ended.stderr).into_owned();
    for part in ["/work/.env", ": the tests need it", "/work/key.pem"] {
        ensure!(shown.contains(part), "{part}: {shown}");
    }
    ensure!(shown.matches(QUESTION).count() == 2, "{shown}");
    let journal = told(env, &["logs", "--source", "asks", NAME])?;
    for part in ["allowed by msb run", "denied by msb run"] {
        ensure!(journal.contains(part), "{part}: {journal}");
    }
    remove(env, NAME)?;
    elsewhere(env, &mount)
}

/// Runs the script at a terminal, and answers what it asks.
fn at_a_terminal(env: &TestEnv, mount: &str) -> Result<Output> {
    let _ = remove(env, NAME);
    let options = ["--name", NAME, "--network", "none", "-v", mount];
    let mut terminal = Terminal::start(env.run_command(&options, &["sh", "-c", SCRIPT]))?;
    for (number, (path, answer)) in ANSWERS.iter().enumerate() {
        let is_asked = terminal.shows(path, 1)? && terminal.shows(QUESTION, number + 1)?;
        if !is_asked {
            // A guest that has not answered is started again.
            break;
        }
        terminal.types(answer)?;
    }
    terminal.end()
}

/// Checks the notice of a run whose standard input belongs to the command.
fn elsewhere(env: &TestEnv, mount: &str) -> Result<()> {
    let options = ["-i", "-v", mount, "--rule", "src=ask"];
    let ended = env.run(&options, &["true"])?;
    expect_code(&ended, 0)?;
    let told = String::from_utf8_lossy(&ended.stderr).into_owned();
    let is_named = told.contains("msb asks ") && told.contains("answers questions of the sandbox");
    ensure!(is_named, "{told}");
    Ok(())
}
