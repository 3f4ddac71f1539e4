//! Staged directories: what the guest gets of the host's files, and what comes back.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Output;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use test_support::{TestEnv, expect_code, finish, schema, spawn};

use super::durability::remove;
use super::host_directory::HostDirectory;

const NAME: &str = "checks-staged";
const FORK: &str = "checks-staged-fork";
const CHANGE: &str = include_str!("staged.sh");
/// Content that must never reach the guest.
const SECRET: &str = "the-secret-of-the-host";
/// The changes that the script makes, as `msb diff` lists them.
const CHANGES: &str = "\
A /work/.envrc
C /work/LICENSE
A /work/deep
A /work/deep/er
A /work/deep/er/file
A /work/deep/hard
A /work/deep/link
D /work/docs
A /work/handbook
A /work/handbook/LICENSE
A /work/handbook/one.md
D /work/old.txt
C /work/run.sh
C /work/src/main.rs
A /work/src/two.rs
";

/// Checks a staged directory from its creation to the changes that are applied.
pub(super) fn applied(env: &TestEnv) -> Result<()> {
    let host = HostDirectory::new(env)?;
    let project = host.0.join("project");
    make(&project)?;
    let before = host.dump("project")?;
    let mount = format!("{}:/work:staged", project.display());
    let start = || {
        let _ = (remove(env, FORK), remove(env, NAME));
        let own = ["-d", "--name", NAME, "--network", "none", "-v", &mount];
        let rules = ["--rule", "/work/LICENSE=read-only", "--rule", "sealed=deny"];
        env.run_command(&[&own[..], &rules].concat(), &["sleep", "1000"])
    };
    expect_code(&env.retried(start, &[])?, 0)?;
    seen(env)?;
    output(env, &["snapshot", "create", &format!("{NAME}@begun")])?;
    feed(env, CHANGE)?;
    ensure!(diff(env, NAME)? == CHANGES, "{}", diff(env, NAME)?);
    forked_and_rolled_back(env)?;
    ensure!(
        before == host.dump("project")?,
        "the host's files were changed"
    );
    conflicts(env, &project)?;
    comes_home(env, &project)?;
    taken_back(env, &project)?;
    restaged(env, &project)?;
    output(env, &["rm", "-f", NAME])?;
    prunable(env)
}

/// Makes the project that is staged.
fn make(project: &Path) -> Result<()> {
    for directory in ["src", "docs", "target", "sealed"] {
        fs::create_dir_all(project.join(directory))?;
    }
    for (name, content) in [
        ("src/main.rs", "fn main() {}\n"),
        ("docs/one.md", "# One\n"),
        ("old.txt", "old\n"),
        ("run.sh", "#!/bin/sh\n"),
        ("LICENSE", "Apache-2.0\n"),
        (".env", SECRET),
        ("key.pem", SECRET),
        ("sealed/inner", SECRET),
    ] {
        fs::write(project.join(name), content)?;
    }
    fs::set_permissions(project.join("run.sh"), fs::Permissions::from_mode(0o644))?;
    symlink("/etc/hostname", project.join("outside"))?;
    fs::hard_link(project.join("LICENSE"), project.join("docs/LICENSE"))?;
    Ok(())
}

/// Checks that the guest has the files that no rule keeps out, and its root cannot find the others on the disk.
fn seen(env: &TestEnv) -> Result<()> {
    let script = "cd /work && find . | sort && stat -c %a sealed && ! cat sealed/inner 2>/dev/null && \
        cat src/main.rs && test docs/LICENSE -ef LICENSE && for disk in /dev/vd?; do \
        ! grep -q the-secret-of-the-host $disk || echo leaked; done";
    let found = output(env, &["exec", NAME, "sh", "-c", script])?;
    let expected = ".\n./LICENSE\n./docs\n./docs/LICENSE\n./docs/one.md\n./old.txt\n./outside\n./run.sh\n\
        ./sealed\n./src\n./src/main.rs\n./target\n0\nfn main() {}\n";
    ensure!(found == expected, "{found}");
    schema::judge("inspect", &output(env, &["inspect", NAME])?)
}

/// Checks that a fork has the changes, and that a rollback takes them back and again.
fn forked_and_rolled_back(env: &TestEnv) -> Result<()> {
    output(env, &["fork", NAME, FORK])?;
    ensure!(diff(env, FORK)? == CHANGES, "{}", diff(env, FORK)?);
    remove(env, FORK)?;
    let undone = output(env, &["rollback", &format!("{NAME}@begun")])?;
    ensure!(diff(env, NAME)?.is_empty(), "{}", diff(env, NAME)?);
    output(env, &["rollback", undone.trim()])?;
    ensure!(diff(env, NAME)? == CHANGES, "{}", diff(env, NAME)?);
    Ok(())
}

/// Checks that a file that the host changed, too, is a conflict, and nothing is written.
fn conflicts(env: &TestEnv, project: &Path) -> Result<()> {
    fs::write(project.join("src/main.rs"), "fn main() { host() }\n")?;
    let refused = msb(env, &["apply", NAME])?;
    expect_code(&refused, 125)?;
    let message = String::from_utf8_lossy(&refused.stderr);
    ensure!(message.contains("src/main.rs"), "{message}");
    ensure!(!project.join("src/two.rs").exists(), "a part was applied");
    fs::write(project.join("src/main.rs"), "fn main() {}\n")?;
    Ok(())
}

/// Checks that the changes are applied, except for those that a rule keeps back.
fn comes_home(env: &TestEnv, project: &Path) -> Result<()> {
    fs::write(project.join("beside.txt"), "the host's\n")?;
    let printed = output(env, &["apply", "--format", "json", NAME])?;
    schema::judge("apply-staged", &printed)?;
    let json: Value = serde_json::from_str(&printed)?;
    let refused = json["directories"][0]["refused"].as_array();
    let refused: Vec<_> = refused.context("no list")?.iter().collect();
    let names: Vec<_> = refused.iter().map(|one| one["path"].as_str()).collect();
    ensure!(names == [Some(".envrc"), Some("LICENSE")], "{names:?}");
    ensure!(refused[1]["rule"] == "/LICENSE=read-only", "{refused:?}");
    let read = |name: &str| fs::read_to_string(project.join(name));
    ensure!(
        read("src/main.rs")?.contains("println"),
        "it was not applied"
    );
    ensure!(
        read("LICENSE")? == "Apache-2.0\n",
        "the rule was not followed"
    );
    ensure!(
        !project.join(".envrc").exists(),
        "it makes direnv run commands"
    );
    ensure!(
        read("beside.txt")? == "the host's\n" && read(".env")? == SECRET,
        "lost"
    );
    ensure!(
        !project.join("old.txt").exists() && read("handbook/one.md")? == "# One\n",
        "moved"
    );
    let mode = fs::metadata(project.join("run.sh"))?.permissions().mode();
    ensure!(mode & 0o777 == 0o755, "{mode:o}");
    output(env, &["apply", "--accept", "/work/.envrc", NAME])?;
    ensure!(
        read(".envrc")? == "echo owned\n",
        "the accepted file was not applied"
    );
    let again = output(env, &["apply", NAME])?;
    ensure!(again == refused_line(project), "{again}");
    Ok(())
}

/// Checks that the files of the stopped sandbox are read as its guest had them.
fn read_at_rest(env: &TestEnv) -> Result<()> {
    let read = output(env, &["fs", "cat", NAME, "/work/src/main.rs"])?;
    ensure!(read.contains("println"), "{read}");
    let listed = output(env, &["fs", "ls", NAME, "/work/handbook"])?;
    ensure!(
        listed.contains("one.md") && listed.contains("LICENSE"),
        "{listed}"
    );
    expect_code(&msb(env, &["fs", "cat", NAME, "/work/old.txt"])?, 125)?;
    let archive = msb(env, &["cp", &format!("{NAME}:/work/deep"), "-"])?;
    expect_code(&archive, 0)?;
    let archive = String::from_utf8_lossy(&archive.stdout);
    ensure!(archive.contains("deep/er/file"), "it is not in the archive");
    Ok(())
}

fn refused_line(project: &Path) -> String {
    let path = |name: &str| project.join(name).display().to_string();
    format!(
        "R {} (direnv runs commands that it names)\nR {} (/LICENSE=read-only)\n",
        path(".envrc"),
        path("LICENSE")
    )
}

/// Checks that changes of a stopped sandbox are taken back to the staged files.
fn taken_back(env: &TestEnv, project: &Path) -> Result<()> {
    output(env, &["stop", "-t", "0", NAME])?;
    read_at_rest(env)?;
    output(env, &["discard", NAME, "--", "/work/src"])?;
    let left = diff(env, NAME)?;
    ensure!(
        left.contains("/work/deep/er/file") && !left.contains("/work/src"),
        "{left}"
    );
    output(env, &["discard", NAME, "/"])?;
    ensure!(diff(env, NAME)?.is_empty(), "{}", diff(env, NAME)?);
    output(env, &["start", NAME])?;
    let found = output(
        env,
        &["exec", NAME, "cat", "/work/src/main.rs", "/work/old.txt"],
    )?;
    ensure!(found == "fn main() {}\nold\n", "{found}");
    ensure!(
        project.join("src/two.rs").exists(),
        "the host's file went, too"
    );
    Ok(())
}

/// Checks that the host's newer files come below the sandbox's own changes, or that what collides is named.
fn restaged(env: &TestEnv, project: &Path) -> Result<()> {
    let own = "echo mine > /work/own.txt";
    output(env, &["exec", "--snapshot", NAME, "sh", "-c", own])?;
    output(env, &["stop", "-t", "0", NAME])?;
    let planned = output(env, &["restage", "-n", NAME])?;
    let made = output(env, &["restage", NAME])?;
    ensure!(
        made == planned && made.contains("A /work/beside.txt\n"),
        "{made}"
    );
    ensure!(
        made.contains("C /work/src/main.rs\n") && !made.contains("own.txt"),
        "{made}"
    );
    ensure!(
        diff(env, NAME)? == "A /work/own.txt\n",
        "{}",
        diff(env, NAME)?
    );
    output(env, &["start", NAME])?;
    back_and_forth(env)?;
    let script = "cd /work && cat own.txt beside.txt src/two.rs && echo x >> beside.txt";
    let found = output(env, &["exec", NAME, "sh", "-c", script])?;
    ensure!(found.starts_with("mine\nthe host's\npub fn two"), "{found}");
    output(env, &["stop", "-t", "0", NAME])?;
    fs::write(project.join("beside.txt"), "the host's again\n")?;
    let refused = msb(env, &["restage", NAME])?;
    expect_code(&refused, 125)?;
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    ensure!(told.contains("/work/beside.txt"), "{told}");
    Ok(())
}

/// Checks that an undo and a rollback of the running sandbox bring the files back that were staged first, and that
/// rolling those back brings the files that were staged anew.
fn back_and_forth(env: &TestEnv) -> Result<()> {
    let begun = format!("{NAME}@begun");
    for words in [["undo", NAME], ["rollback", &begun]] {
        let kept = output(env, &words)?;
        let script =
            "cd /work && test ! -e own.txt && test ! -e beside.txt && cat src/main.rs old.txt";
        let found = output(env, &["exec", NAME, "sh", "-c", script])?;
        ensure!(found == "fn main() {}\nold\n", "{words:?}: {found}");
        ensure!(diff(env, NAME)?.is_empty(), "{}", diff(env, NAME)?);
        let read = output(env, &["fs", "cat", kept.trim(), "/work/beside.txt"])?;
        ensure!(read == "the host's\n", "{words:?}: {read}");
        output(env, &["rollback", kept.trim()])?;
        let script = "cd /work && test ! -e old.txt && cat own.txt beside.txt";
        let found = output(env, &["exec", NAME, "sh", "-c", script])?;
        ensure!(found == "mine\nthe host's\n", "{words:?}: {found}");
        ensure!(
            diff(env, NAME)? == "A /work/own.txt\n",
            "{}",
            diff(env, NAME)?
        );
    }
    Ok(())
}

/// Checks that the image can be pruned once no sandbox has it.
fn prunable(env: &TestEnv) -> Result<()> {
    let words = ["prune", "--dry-run", "--format", "json"];
    let json: Value = serde_json::from_str(&output(env, &words)?)?;
    ensure!(json["staged_directories"].as_u64() >= Some(1), "{json}");
    Ok(())
}

fn diff(env: &TestEnv, name: &str) -> Result<String> {
    output(env, &["diff", name, "--", "/work"])
}

fn feed(env: &TestEnv, script: &str) -> Result<()> {
    let line = spawn(env.msb().args(["exec", "-i", NAME, "sh"]))?;
    expect_code(&finish(line, script.as_bytes())?, 0)
}

fn output(env: &TestEnv, words: &[&str]) -> Result<String> {
    let output = msb(env, words)?;
    expect_code(&output, 0)?;
    Ok(String::from_utf8(output.stdout)?)
}

fn msb(env: &TestEnv, words: &[&str]) -> Result<Output> {
    Ok(env.msb().args(words).output()?)
}
