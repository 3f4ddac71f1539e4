//! A repository of git in a staged directory: its index stays as the host wrote it, and the commits of the sandbox
//! come home by git itself.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, UNIX_EPOCH};

use anyhow::{Context as _, Result, ensure};
use fs_err as fs;
use fs_err::os::unix::fs::symlink;
use test_support::oci_layout::digest;
use test_support::{TestEnv, describe, expect_code, inherit_variables, succeed};

use super::durability::remove;
use super::host_directory::HostDirectory;

const NAME: &str = "checks-staged-git";
/// The number of files, and the time of the first one's last change, in seconds since the epoch.
const FILES: u64 = 200;
const FIRST_CHANGE_S: u64 = 1_600_000_000;
/// The user of the host whom the project belongs to; commands of the guest are root's.
const OWNER: &str = "1000:1000";
/// The first command of git in the guest, and the digest of the index afterwards.
const STATUS: &str = "cd /work && git status --porcelain && sha256sum .git/index";
/// The same without msb's settings, so that the stamps of the index do not fit.
const STATUS_BY_ITSELF: &str = "cd /work && env -u GIT_CONFIG_COUNT git -c safe.directory=* \
    status --porcelain && sha256sum .git/index";
/// Two commits, and a hook that is to stay in the sandbox. Prints the last commit, its tree and the host's commit.
const COMMITS: &str = "set -e; cd /work
export GIT_AUTHOR_NAME=agent GIT_AUTHOR_EMAIL=agent@localhost
export GIT_COMMITTER_NAME=agent GIT_COMMITTER_EMAIL=agent@localhost
echo two > src/two.txt
git mv src/7.txt seven.txt
git rm -q src/8.txt
git add -A && git commit -q -m 'The first of the agent'
head -c 300000 /dev/urandom > large
chmod 755 seven.txt
git add -A && git commit -q -m 'The second of the agent'
printf '#!/bin/sh\\necho owned > owned\\n' > .git/hooks/post-merge
chmod 755 .git/hooks/post-merge
git fsck --full --strict
git rev-parse HEAD 'HEAD^{tree}' HEAD~2";

/// Checks the first `git status` in the guest, and a fetch of the commits that were made there.
pub(super) fn comes_home(env: &TestEnv) -> Result<()> {
    let host = HostDirectory::new(env)?;
    let project = host.0.join("project");
    let begun = make_repository(&project)?;
    let mount = format!("{}:/work:staged", project.display());
    let start = || {
        let _ = remove(env, NAME);
        let own = ["-d", "--name", NAME, "--network", "none", "-v", &mount];
        env.run_command(&own, &["sleep", "1000"])
    };
    expect_code(&env.retried(start, &[])?, 0)?;
    index_stays(env, &project)?;
    let made = guest(env, COMMITS)?;
    let made: Vec<&str> = made.lines().collect();
    let [commit, tree, first] = made[..] else {
        anyhow::bail!("{made:?}");
    };
    ensure!(first == begun, "{first} is not {begun}");
    is_left_out(env)?;
    fetch(env, &project)?;
    for (name, expected) in [
        ("refs/remotes/sandbox/work", commit),
        ("refs/remotes/sandbox/work^{tree}", tree),
        ("HEAD", first),
    ] {
        let found = printed(git(&project).args(["rev-parse", name]))?;
        ensure!(
            found.trim() == expected,
            "{name} is {found}, not {expected}"
        );
    }
    succeed(git(&project).args(["fsck", "--full", "--strict"]))?;
    succeed(git(&project).args(["merge", "-q", "--ff-only", "sandbox/work"]))?;
    let status = printed(git(&project).args(["status", "--porcelain"]))?;
    ensure!(status.is_empty(), "{status}");
    let text = fs::read_to_string(project.join("src/two.txt"))?;
    ensure!(text == "two\n", "{text}");
    ensure!(fs::metadata(project.join("large"))?.len() == 300_000);
    let is_owned = project.join("owned").exists() || project.join(".git/hooks/post-merge").exists();
    ensure!(!is_owned, "the sandbox's hook came along");
    expect_code(&env.msb().args(["rm", "-f", NAME]).output()?, 0)
}

/// Makes a repository with a commit, whose index fits the files. Returns the commit.
fn make_repository(project: &Path) -> Result<String> {
    fs::create_dir_all(project.join("src"))?;
    for number in 0..FILES {
        let path = project.join(format!("src/{number}.txt"));
        fs::write(&path, format!("{number}\n"))?;
        // git reads a file again that was changed as late as the index.
        let changed = UNIX_EPOCH + Duration::from_secs(FIRST_CHANGE_S + number);
        let file = fs::OpenOptions::new().write(true).open(path)?;
        file.into_parts().0.set_modified(changed)?;
    }
    succeed(Command::new("chown").args(["-R", OWNER]).arg(project))?;
    for words in [
        &["init", "-q", "--initial-branch=work"][..],
        &["add", "--all"],
        &["commit", "-q", "-m", "The host's"],
        &["repack", "-adq"],
    ] {
        succeed(git(project).args(words))?;
    }
    succeed(Command::new("chown").args(["-R", OWNER]).arg(project))?;
    let commit = printed(git(project).args(["rev-parse", "HEAD"]))?;
    Ok(commit.trim().to_owned())
}

/// Checks that the first `git status` finds no changes and leaves the index unchanged, unlike one with stamps that
/// do not fit.
fn index_stays(env: &TestEnv, project: &Path) -> Result<()> {
    let index = digest(&fs::read(project.join(".git/index"))?);
    let index = index.strip_prefix("sha256:").context("no SHA-256")?;
    let found = guest(env, STATUS)?;
    ensure!(found == format!("{index}  .git/index\n"), "{found}");
    let changed = printed(env.msb().args(["diff", NAME, "--", "/work"]))?;
    ensure!(changed.is_empty(), "{changed}");
    let found = guest(env, STATUS_BY_ITSELF)?;
    let is_rewritten = found.ends_with("  .git/index\n") && !found.contains(index);
    ensure!(
        is_rewritten,
        "git does not write the index by itself: {found}"
    );
    Ok(())
}

/// Checks that an apply has the sandbox's files, and leaves the repository out.
fn is_left_out(env: &TestEnv) -> Result<()> {
    let planned = env.msb().args(["apply", "-n", NAME]).output()?;
    expect_code(&planned, 0)?;
    let files = String::from_utf8_lossy(&planned.stdout);
    let has_files = files.contains("/src/two.txt") && !files.contains(".git");
    let told = "the changes of the repository /work/.git are left out";
    let is_told = String::from_utf8_lossy(&planned.stderr).contains(told);
    ensure!(has_files && is_told, "{}", describe(&planned));
    Ok(())
}

/// Fetches the sandbox's commits with the line of docs/staged.md.
fn fetch(env: &TestEnv, project: &Path) -> Result<()> {
    let programs = env.work.join("programs");
    fs::create_dir(&programs)?;
    symlink(&env.program, programs.join("msb"))?;
    let path = std::env::var("PATH")?;
    let mut fetch = git(project);
    fetch.args(["-c", "protocol.ext.allow=always", "fetch"]);
    fetch.arg(format!("ext::msb exec -i {NAME} git upload-pack /work"));
    fetch.arg("HEAD:refs/remotes/sandbox/work");
    inherit_variables(&mut fetch, &env.msb());
    fetch.env("PATH", format!("{}:{path}", programs.display()));
    succeed(&mut fetch).map(drop)
}

/// Returns git in the project, with none of this user's settings. The project belongs to another user.
fn git(project: &Path) -> Command {
    let mut git = Command::new("git");
    git.env("GIT_CONFIG_GLOBAL", "/dev/null");
    git.env("GIT_CONFIG_NOSYSTEM", "1").arg("-C").arg(project);
    for setting in [
        "user.name=host",
        "user.email=host@localhost",
        "safe.directory=*",
        "gc.auto=0",
    ] {
        git.args(["-c", setting]);
    }
    git
}

/// Runs a script in the guest, and returns its output.
fn guest(env: &TestEnv, script: &str) -> Result<String> {
    printed(env.msb().args(["exec", NAME, "sh", "-c", script]))
}

fn printed(command: &mut Command) -> Result<String> {
    Ok(String::from_utf8(succeed(command)?.stdout)?)
}
