//! Questions of a guest for hidden files: their answers, and what a file that was let in is then.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Output};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use test_support::{TestEnv, expect_code, finish, schema, spawn};

use super::durability::remove;
use super::host_directory::HostDirectory;
use super::listener::Listener;
use super::terminal::Terminal;

const NAME: &str = "checks-asks";
const FORK: &str = "checks-asks-fork";
const SECRET: &str = "TOKEN=of-the-host\n";
/// A process that keeps connections to the socket open, opens more than it gets, and sends what is no question.
const FLOOD: &str = include_str!("asks.py");

/// Checks questions from the first one without a listener to the files that were let in.
pub(super) fn answered(env: &TestEnv) -> Result<()> {
    let host = HostDirectory::new(env)?;
    let project = host.0.join("project");
    for directory in ["sealed/deep", "src"] {
        fs::create_dir_all(project.join(directory))?;
    }
    for name in [".env", "id_rsa", "key.pem", "sealed/deep/inner", "src/seen"] {
        fs::write(project.join(name), SECRET)?;
    }
    let mount = format!("{}:/work:staged", project.display());
    let start = || {
        let _ = (remove(env, FORK), remove(env, NAME));
        let own = ["-d", "--name", NAME, "--network", "none", "-v", &mount];
        let rules = ["--rule", "sealed=deny"];
        env.run_command(&[&own[..], &rules].concat(), &["sleep", "1000"])
    };
    expect_code(&env.retried(start, &[])?, 0)?;
    output(env, &["snapshot", "create", &format!("{NAME}@begun")])?;
    unheard(env)?;
    heard(env)?;
    at_a_terminal(env)?;
    let_in_by_a_rule(env, &project)?;
    forked_and_rolled_back(env)?;
    comes_home(env, &project)?;
    restaged(env)?;
    recorded(env)?;
    output(env, &["rm", "-f", NAME]).map(drop)
}

/// Checks that a question is denied at once if no client listens, also for a user who is not root.
fn unheard(env: &TestEnv) -> Result<()> {
    for user in ["0", "1234"] {
        let asked = msb(
            env,
            &["exec", "--user", user, NAME, "msb-ask", "/work/.env", "why"],
        )?;
        expect_code(&asked, 1)?;
        let said = String::from_utf8_lossy(&asked.stderr).into_owned();
        ensure!(said.contains("no client listens"), "{said}");
    }
    expect_code(&msb(env, &["exec", NAME, "msb-ask"])?, 2)
}

/// Checks that an allowed file is let in and is no change, that a denied one stays hidden, and that a process
/// that floods the socket does not keep others from asking.
fn heard(env: &TestEnv) -> Result<()> {
    let mut listener = Listener::new(env, NAME)?;
    let flood = spawn(env.msb().args(["exec", "-i", NAME, "python3", "-u", "-"]))?;
    let mut flood = Flood::begin(flood)?;
    let script = "cd /work/src && msb-ask ../.env 'the tests need it' && cat ../.env";
    let asking = spawn(env.msb().args(["exec", NAME, "sh", "-c", script]))?;
    let id = listener.asked("/work/.env")?;
    output(env, &["asks", NAME, "--answer", &format!("{id}=allow")])?;
    let asked = finish(asking, &[])?;
    expect_code(&asked, 0)?;
    let found = String::from_utf8_lossy(&asked.stdout).into_owned();
    ensure!(found == format!("allowed\n{SECRET}"), "{found}");
    let again = msb(env, &["asks", NAME, "--answer", &format!("{id}=deny")])?;
    expect_code(&again, 125)?;
    let asking = spawn(env.msb().args(["exec", NAME, "msb-ask", "/work/key.pem"]))?;
    let id = listener.asked("/work/key.pem")?;
    output(env, &["asks", NAME, "--answer", &format!("{id}=deny")])?;
    expect_code(&finish(asking, &[])?, 1)?;
    let asking = spawn(env.msb().args(["exec", NAME, "msb-ask", "/etc/passwd"]))?;
    let id = listener.asked("/etc/passwd")?;
    let outside = msb(env, &["asks", NAME, "--answer", &format!("{id}=allow")])?;
    expect_code(&outside, 125)?;
    expect_code(&finish(asking, &[])?, 1)?;
    flood.end()?;
    let hidden = output(env, &["exec", NAME, "ls", "-A", "/work"])?;
    ensure!(hidden == ".env\nsealed\nsrc\n", "{hidden}");
    ensure!(diff(env)?.is_empty(), "{}", diff(env)?);
    listener.end()
}

/// Checks that a question is answered at the terminal of `msb asks`, with a rule that is kept, beside another client
/// that listens.
fn at_a_terminal(env: &TestEnv) -> Result<()> {
    // It keeps the question open until the terminal has it.
    let mut listener = Listener::new(env, NAME)?;
    let mut command = env.msb();
    command.args(["asks", NAME]);
    let mut terminal = Terminal::start(command)?;
    let asking = ["exec", NAME, "msb-ask", "/work/id_rsa", "to sign"];
    let asking = spawn(env.msb().args(asking))?;
    let id = listener.asked("/work/id_rsa")?;
    let question = "Let it in? [y/N/always]";
    ensure!(terminal.shows(question, 1)?, "it has ended");
    terminal.types("perhaps")?;
    ensure!(terminal.shows(question, 2)?, "another word is an answer");
    terminal.types("always")?;
    expect_code(&finish(asking, &[])?, 0)?;
    let ended = listener.next()?;
    let is_told = ended["event"] == "ended" && ended["id"] == id && ended["allowed"] == true;
    ensure!(is_told, "{ended}");
    let late = msb(env, &["asks", NAME, "--answer", &format!("{id}=deny")])?;
    expect_code(&late, 125)?;
    let seen = output(env, &["exec", NAME, "cat", "/work/id_rsa"])?;
    ensure!(seen == SECRET, "{seen}");
    let mounts = output(env, &["inspect", "--format", "{{json .mounts}}", NAME])?;
    ensure!(mounts.contains("id_rsa"), "{mounts}");
    ensure!(diff(env)?.is_empty(), "{}", diff(env)?);
    terminal.types_end()?;
    let ended = terminal.end()?;
    expect_code(&ended, 0)?;
    let shown = String::from_utf8_lossy(&ended.stderr).into_owned();
    ensure!(
        shown.contains("/work/id_rsa") && shown.contains(": to sign"),
        "{shown}"
    );
    listener.end()
}

/// Checks that `msb allow` lets a directory in with its attributes, and refuses a path outside by name.
fn let_in_by_a_rule(env: &TestEnv, project: &Path) -> Result<()> {
    let refused = msb(env, &["allow", NAME, "/etc/passwd"])?;
    expect_code(&refused, 125)?;
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    ensure!(
        said.contains("/etc/passwd") && said.contains("/work"),
        "{said}"
    );
    fs::write(project.join("sealed/deep/inner"), "newer\n")?;
    let printed = output(env, &["allow", NAME, "/work/sealed"])?;
    ensure!(printed == "/work/sealed\n", "{printed}");
    let script = "cd /work/sealed && cat deep/inner && stat -c %a . deep/inner";
    let seen = output(env, &["exec", NAME, "sh", "-c", script])?;
    ensure!(seen == "newer\n755\n644\n", "{seen}");
    ensure!(diff(env)?.is_empty(), "{}", diff(env)?);
    // What is there already is not let in again.
    ensure!(
        output(env, &["allow", NAME, "/work/sealed"])?.is_empty(),
        "twice"
    );
    completed_after_an_interruption(env)
}

/// Checks that files that were copied in before their image was published are let in by the next command.
fn completed_after_an_interruption(env: &TestEnv) -> Result<()> {
    let id = output(env, &["inspect", "--format", "{{.id}}", NAME])?;
    let images = env.home().join("sandboxes").join(id.trim()).join("let-in");
    let images = fs::read_dir(images)?.map(|entry| Ok(entry?.path()));
    let images = images.collect::<Result<Vec<_>>>()?;
    fs::remove_file(images.iter().max().context("no image")?)?;
    ensure!(!diff(env)?.is_empty(), "the sandbox made no files");
    let printed = output(env, &["allow", NAME, "/work/sealed"])?;
    ensure!(printed == "/work/sealed/deep/inner\n", "{printed}");
    ensure!(diff(env)?.is_empty(), "{}", diff(env)?);
    Ok(())
}

/// Checks that files that were let in are no changes of a fork, and none of a sandbox that was rolled back to before.
fn forked_and_rolled_back(env: &TestEnv) -> Result<()> {
    output(env, &["fork", NAME, FORK])?;
    let forked = output(env, &["diff", FORK, "--", "/work"])?;
    ensure!(forked.is_empty(), "{forked}");
    remove(env, FORK)?;
    let undone = output(env, &["rollback", &format!("{NAME}@begun")])?;
    ensure!(diff(env)?.is_empty(), "{}", diff(env)?);
    let seen = output(env, &["exec", NAME, "ls", "-A", "/work"])?;
    ensure!(seen == "sealed\nsrc\n", "{seen}");
    output(env, &["rollback", undone.trim()])?;
    ensure!(diff(env)?.is_empty(), "{}", diff(env)?);
    let seen = output(env, &["exec", NAME, "cat", "/work/.env"])?;
    ensure!(seen == SECRET, "{seen}");
    // The socket is another one by now.
    unheard(env)
}

/// Checks that a change of a file that was let in is taken back to what was let in, and that a restage brings the
/// host's files by the changed rules.
fn restaged(env: &TestEnv) -> Result<()> {
    output(env, &["discard", NAME, "/work/.env"])?;
    ensure!(diff(env)? == "A /work/key.pem\n", "{}", diff(env)?);
    let made = output(env, &["restage", NAME])?;
    ensure!(made.contains("C /work/.env\n"), "{made}");
    ensure!(made.contains("A /work/sealed/deep/inner\n"), "{made}");
    ensure!(diff(env)? == "A /work/key.pem\n", "{}", diff(env)?);
    Ok(())
}

/// Checks that a change of a file that was let in is compared with what was let in, and its removal is no change.
fn comes_home(env: &TestEnv, project: &Path) -> Result<()> {
    output(env, &["allow", NAME, ".env"])?;
    let script = "cd /work && echo MORE=1 >> .env && rm sealed/deep/inner && echo own > key.pem";
    output(env, &["exec", NAME, "sh", "-c", script])?;
    let changes = "C /work/.env\nA /work/key.pem\n";
    ensure!(diff(env)? == changes, "{}", diff(env)?);
    let applied = output(env, &["apply", NAME])?;
    ensure!(
        applied.contains(".env\n") && applied.contains("R "),
        "{applied}"
    );
    let read = |name: &str| fs::read_to_string(project.join(name));
    ensure!(
        read(".env")? == format!("{SECRET}MORE=1\n"),
        "it was not applied"
    );
    ensure!(read("key.pem")? == SECRET, "the rule was not followed");
    ensure!(
        read("sealed/deep/inner")? == "newer\n",
        "the host's file was removed"
    );
    output(env, &["stop", "-t", "0", NAME])?;
    ensure!(diff(env)? == changes, "{}", diff(env)?);
    Ok(())
}

/// Checks that the journal outlives the machine.
fn recorded(env: &TestEnv) -> Result<()> {
    let text = output(env, &["logs", "--source", "asks", NAME])?;
    for part in [
        "asks for /work/.env: the tests need it",
        "allowed by msb asks",
        ", and /work/id_rsa=allow",
        "denied: no client listens",
        "asks for /work/key.pem",
        "denied by msb asks",
    ] {
        ensure!(text.contains(part), "{part}: {text}");
    }
    let lines = output(env, &["logs", "--source", "asks", "--format", "json", NAME])?;
    let mut allowed = Vec::new();
    for line in lines.lines() {
        schema::judge("logs-asks", line)?;
        let record: Value = serde_json::from_str(line)?;
        if record["verdict"] == "allow" && record["subject"] == "/work/.env" {
            allowed.push(record["reason"].clone());
        }
    }
    ensure!(allowed == ["the tests need it"], "{allowed:?}");
    Ok(())
}

/// The process that floods the socket.
struct Flood(Child);

impl Flood {
    fn begin(mut child: Child) -> Result<Self> {
        let mut input = child.stdin.take().context("no pipe")?;
        std::io::Write::write_all(&mut input, FLOOD.as_bytes())?;
        drop(input);
        let output = child.stdout.as_mut().context("no pipe")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        ensure!(line == "flooding\n", "{line}");
        Ok(Self(child))
    }

    fn end(&mut self) -> Result<()> {
        self.0.kill()?;
        self.0.wait()?;
        Ok(())
    }
}

fn diff(env: &TestEnv) -> Result<String> {
    output(env, &["diff", NAME, "--", "/work"])
}

pub(super) fn output(env: &TestEnv, words: &[&str]) -> Result<String> {
    let output = msb(env, words)?;
    expect_code(&output, 0)?;
    Ok(String::from_utf8(output.stdout)?)
}

pub(super) fn msb(env: &TestEnv, words: &[&str]) -> Result<Output> {
    Ok(env.msb().args(words).output()?)
}
