use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, ensure};

use super::durability::remove;
use test_support::{TestEnv, describe, expect_code, succeed};

const NAME: &str = "checks-volumes";
const OTHER: &str = "checks-volumes-other";
const VOLUME: &str = "checks-volume";

/// Attacks a read-only directory as root. The guest's own kernel was made to let writes through
/// before. Each line names an action that succeeded.
const ATTACK: &str = "
mount -o remount,rw /ro && echo remounted
try() { \"$@\" 2>/dev/null && echo \"done: $*\"; }
try sh -c 'echo x > /ro/hello'
try sh -c 'echo x > /ro/new'
try rm /ro/hello
try mv /ro/hello /ro/moved
try chmod 777 /ro/hello
try chown 7:7 /ro/hello
try touch -d 2001-01-01 /ro/hello
try ln /ro/hello /ro/linked
try ln -s x /ro/symlink
try mkdir /ro/made
try truncate -s 0 /ro/hello
try python3 -c 'import os; os.setxattr(\"/ro/hello\", \"user.a\", b\"b\")'
cat /ro/hello
";

/// Checks host directories: root in the guest can write to one, and in no way to a read-only one.
pub(super) fn host_directories(env: &TestEnv) -> Result<()> {
    let shared = Shared::new(env)?;
    let (rw, ro) = (shared.mount("rw", "/rw"), shared.mount("ro", "/ro:ro"));
    let options = ["--network", "none", "-v", &rw, "--mount", &ro];
    let script = format!(
        "set -e; echo one > /rw/a; mkdir /rw/d; mv /rw/a /rw/d/b; ln -s /etc/passwd /rw/link; \
         chmod 600 /rw/d/b; ln /rw/there /rw/linked || echo no link >&2; cat /rw/there; stat -f -c %T /rw >&2; set +e; {ATTACK}"
    );
    let output = env.run(&options, &["sh", "-c", &script])?;
    expect_code(&output, 0)?;
    ensure!(
        output.stdout == b"there\nremounted\nhello\n",
        "the guest did what it must not: {}",
        describe(&output)
    );
    let made = shared.0.join("rw/d/b");
    ensure!(
        fs::read(&made)? == b"one\n",
        "what was written is not there"
    );
    ensure!(fs::metadata(&made)?.permissions().mode() & 0o777 == 0o600);
    let link = fs::read_link(shared.0.join("rw/link"))?;
    ensure!(link == Path::new("/etc/passwd"), "{}", link.display());
    shared.linked(&output)?;
    shared.is_unchanged("ro")
}

/// Reads files and holds one open, reports that, and reads them again after the host's changes.
const BESIDE: &str = "
import os, time
held = open('/rw/same')
held.read(), open('/rw/both').read()
os.mkdir('/rw/ready')
for _ in range(600):
    if os.path.exists('/rw/changed'):
        break
    time.sleep(0.1)
with open('/rw/both', 'a') as both:
    both.write('guest\\n')
time.sleep(1.5)
print(open('/rw/same').read(), open('/rw/both').read(), sep='', end='')
held.seek(0)
print(held.read(), end='')
";

/// Checks that a guest sees the host's changes in a directory, and that both can append. If msb
/// itself serves the directory, another user than the host's sees them too, also through a file
/// that was open before.
pub(super) fn beside_the_host(env: &TestEnv) -> Result<()> {
    let shared = Shared::new(env)?;
    let directory = shared.0.join("rw");
    for (name, text, mode) in [("same", "old\n", 0o644), ("both", "first\n", 0o666)] {
        fs::write(directory.join(name), text)?;
        fs::set_permissions(directory.join(name), fs::Permissions::from_mode(mode))?;
    }
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o777))?;
    let mount = shared.mount("rw", "/rw");
    let mut options = vec!["--network", "none", "-v", &mount];
    let is_ours = env.vmm() == "qemu";
    if is_ours {
        options.extend(["-u", "1000:1000"]);
    }
    let is_over = AtomicBool::new(false);
    let output = std::thread::scope(|scope| {
        let host = scope.spawn(|| change_beside(&directory, &is_over));
        let output = env.run(&options, &["python3", "-c", BESIDE]);
        is_over.store(true, Ordering::Relaxed);
        host.join()
            .map_err(|_| anyhow!("the host's side panicked"))??;
        output
    })?;
    expect_code(&output, 0)?;
    let said = String::from_utf8_lossy(&output.stdout);
    let seen = said.strip_prefix("new\nfirst\nhost\nguest\n");
    ensure!(
        seen == Some("new\n") || (!is_ours && seen.is_some()),
        "{}",
        describe(&output)
    );
    let made = fs::metadata(directory.join("ready"))?;
    ensure!(
        made.uid() == fs::metadata(&directory)?.uid(),
        "what the guest made is {}'s",
        made.uid()
    );
    Ok(())
}

/// Rewrites one file in the same length and appends to another, once the guest has read both.
fn change_beside(directory: &Path, is_over: &AtomicBool) -> Result<()> {
    while !directory.join("ready").exists() {
        if is_over.load(Ordering::Relaxed) {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let mut file = fs::File::options()
        .write(true)
        .open(directory.join("same"))?;
    file.write_all(b"new\n")?;
    let mut file = fs::File::options()
        .append(true)
        .open(directory.join("both"))?;
    file.write_all(b"host\n")?;
    Ok(fs::create_dir(directory.join("changed"))?)
}

/// A directory of the host with a writable and a read-only directory.
struct Shared(PathBuf);

impl Shared {
    fn new(env: &TestEnv) -> Result<Self> {
        let shared = Self(env.work.join("shared"));
        for (directory, file) in [("rw", "there"), ("ro", "hello")] {
            let directory = shared.0.join(directory);
            fs::create_dir_all(&directory)?;
            fs::write(directory.join(file), format!("{file}\n"))?;
        }
        Ok(shared)
    }

    /// Returns the option's value: for `-v` if it is writable, for `--mount` if it is read-only.
    fn mount(&self, name: &str, target: &str) -> String {
        let directory = self.0.join(name);
        match target.split_once(':') {
            None => format!("{}:{target}", directory.display()),
            Some((target, _)) => format!(
                "type=bind,source={},target={target},readonly",
                directory.display()
            ),
        }
    }

    /// Checks that the guest's `ln` linked the file, or was refused: hosts before Linux 6.10.
    fn linked(&self, output: &Output) -> Result<()> {
        let number = |name: &str| fs::metadata(self.0.join("rw").join(name)).map(|file| file.ino());
        let is_refused = String::from_utf8_lossy(&output.stderr).lines().any(|line| {
            line.starts_with("ln:")
                && line.contains("/rw/linked")
                && line.ends_with("Operation not permitted")
        });
        ensure!(
            number("linked").is_ok_and(|linked| number("there").is_ok_and(|there| linked == there))
                || is_refused,
            "no link: {}",
            describe(output)
        );
        Ok(())
    }

    fn is_unchanged(&self, name: &str) -> Result<()> {
        let directory = self.0.join(name);
        let names: Vec<_> = fs::read_dir(&directory)?.flatten().collect();
        let hello = directory.join("hello");
        let metadata = fs::metadata(&hello)?;
        ensure!(
            names.len() == 1
                && fs::read(&hello)? == b"hello\n"
                && metadata.permissions().mode() & 0o777 == 0o644
                && metadata.modified()?.elapsed()?.as_secs() < 100_000,
            "the read-only directory was changed: {names:?}, {metadata:?}"
        );
        Ok(())
    }
}

/// Checks that a volume gets the image's files and belongs to one sandbox at a time. It outlives
/// two of them and a stop, and is read-only if it is mounted so; memory has the size that was asked
/// for.
pub(super) fn volumes(env: &TestEnv) -> Result<()> {
    clean_up(env)?;
    let of = |env: &TestEnv, arguments: &[&str]| msb(env, arguments);
    expect_code(&of(env, &["volume", "create", "--size", "64M", VOLUME])?, 0)?;
    let mount = format!("{VOLUME}:/etc/skel");
    let script = "ls -A /etc/skel; echo kept > /etc/skel/kept; exec sleep 600";
    let line = || {
        let _ = remove(env, NAME);
        env.run_command(&["-d", "--name", NAME, "-v", &mount], &["sh", "-c", script])
    };
    expect_code(&env.retried(line, &[])?, 0)?;
    until_kept(env)?;
    let said = of(env, &["logs", NAME])?;
    ensure!(
        String::from_utf8_lossy(&said.stdout).contains(".profile"),
        "the image's files are not in the volume: {}",
        describe(&said)
    );
    let second = env
        .run_command(&["--rm", "--name", OTHER, "-v", &mount], &["true"])
        .output()?;
    refused(&second, &format!("in use by sandbox {NAME}"))?;
    refused(&of(env, &["volume", "rm", VOLUME])?, NAME)?;
    expect_code(&of(env, &["stop", "-t", "1", NAME])?, 0)?;
    let hidden = of(env, &["fs", "cat", NAME, "/etc/skel/.profile"])?;
    refused(&hidden, "the mount at /etc/skel")?;
    read_only_and_memory(env)?;
    refused(&of(env, &["volume", "rm", VOLUME])?, NAME)?;
    remove(env, NAME)?;
    let listed = of(env, &["volume", "ls", "--format", "json"])?;
    let listed: serde_json::Value = serde_json::from_slice(&listed.stdout)?;
    let all = listed.as_array().context("no list")?;
    ensure!(
        all.iter()
            .any(|one| one["name"] == VOLUME && one["size_bytes"] == 64 << 20),
        "{listed}"
    );
    expect_code(&of(env, &["volume", "rm", VOLUME])?, 0)
}

/// Checks that another sandbox reads the first one's data, and that root in it cannot write.
fn read_only_and_memory(env: &TestEnv) -> Result<()> {
    let script = "
cat /v/kept
mount -o remount,rw /v 2>/dev/null && echo remounted
echo x > /v/kept && echo written
head -c 2M /dev/zero > /m/full 2>/dev/null || echo full
stat -c '%a %s' /m /m/full
";
    let (volume, memory) = (format!("{VOLUME}:/v:ro"), "/m:size=1M,mode=700");
    let options = ["-v", &volume, "--tmpfs", memory];
    let output = env.run(&options, &["sh", "-c", script])?;
    expect_code(&output, 0)?;
    let said = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<_> = said.lines().collect();
    ensure!(
        lines.len() == 4
            && lines[..2] == ["kept", "full"]
            && lines[2].starts_with("700 ")
            && lines[3].ends_with(" 1048576"),
        "{}",
        describe(&output)
    );
    Ok(())
}

/// Checks that refused mounts give an error and leave no sandbox. A missing directory is named.
pub(super) fn refusals(env: &TestEnv) -> Result<()> {
    clean_up(env)?;
    let shared = Shared::new(env)?;
    let path = |name: &str| shared.0.join(name).display().to_string();
    succeed(Command::new("mkfifo").arg(path("fifo")))?;
    let fifo = format!("{}:/x", path("fifo"));
    let missing = format!("{}:/x", path("missing"));
    let root = format!("{}:/", path("ro"));
    let home = env.home().display();
    let own = format!("{home}:/x:ro");
    let disks = format!("{home}/.:/x");
    for (mounts, expected) in [
        (vec!["-v", &fifo], "neither a directory nor a regular file"),
        (vec!["-v", &missing], "No such file"),
        (vec!["-v", &root], "root"),
        (vec!["-v", "/proc:/proc"], "/proc"),
        (vec!["-v", &own], "in MSB_HOME"),
        (vec!["-v", &disks], "in MSB_HOME"),
        (vec!["-v", "/:/x:ro"], "MSB_HOME"),
        (vec!["-v", "a/b:/x"], "is not a volume name"),
        (vec!["-v", "data:x"], "does not begin with '/'"),
        (vec!["--tmpfs", "/x", "-v", "/x/"], "/x has two mounts"),
        (vec!["--tmpfs", "/x:size=lots"], "lots"),
        (vec!["--mount", "type=nfs,target=/x"], "nfs"),
    ] {
        let output = create(env, &mounts)?;
        refused(&output, expected)?;
        ensure!(!is_listed(env)?, "{mounts:?} left a sandbox");
    }
    let mount = format!("{}:/x", path("rw"));
    expect_code(&create(env, &["-v", &mount])?, 0)?;
    fs::remove_dir_all(path("rw"))?;
    let started = env.machine_command("start").arg(NAME).output()?;
    refused(&started, &path("rw"))?;
    ensure!(is_listed(env)?, "the sandbox is gone");
    remove(env, NAME)
}

/// Creates a sandbox with these mounts for the VMM under test.
fn create(env: &TestEnv, mounts: &[&str]) -> Result<Output> {
    let mut line = env.msb();
    line.args(["create", "--pull", "never", "--name", NAME])
        .args(mounts)
        .args([env.image(), "true"])
        .env("MSB_VMM", env.vmm());
    Ok(line.output()?)
}

fn is_listed(env: &TestEnv) -> Result<bool> {
    let filter = format!("name={NAME}");
    let listed = msb(env, &["ls", "--format", "json", "--filter", &filter])?;
    let listed: serde_json::Value = serde_json::from_slice(&listed.stdout)?;
    Ok(listed.as_array().is_some_and(|rows| !rows.is_empty()))
}

/// Waits until the first sandbox has written to its volume.
fn until_kept(env: &TestEnv) -> Result<()> {
    let script = "until test -s /etc/skel/kept; do sleep 0.1; done";
    let line = ["exec", "--timeout", "60s", NAME, "sh", "-c", script];
    expect_code(&msb(env, &line)?, 0)
}

fn clean_up(env: &TestEnv) -> Result<()> {
    for name in [NAME, OTHER] {
        remove(env, name)?;
    }
    msb(env, &["volume", "rm", "-f", VOLUME]).map(drop)
}

fn msb(env: &TestEnv, arguments: &[&str]) -> Result<Output> {
    Ok(env.msb().args(arguments).output()?)
}

fn refused(output: &Output, reason: &str) -> Result<()> {
    ensure!(
        !output.status.success() && String::from_utf8_lossy(&output.stderr).contains(reason),
        "expected a refusal with {reason:?}, got {}",
        describe(output)
    );
    Ok(())
}
