//! Many mounts of one sandbox, several staged directories, and mounts of single files of the host.

use std::fs;
use std::path::PathBuf;
use std::process::Output;

use anyhow::{Context as _, Result, ensure};

use test_support::{TestEnv, describe, expect_code};

use super::durability::remove;

const NAME: &str = "checks-mounts";
const VOLUMES: [&str; 6] = [
    "checks-mounts-0",
    "checks-mounts-1",
    "checks-mounts-2",
    "checks-mounts-3",
    "checks-mounts-4",
    "checks-mounts-5",
];
const DIRECTORIES: usize = 5;

/// Reads the host's file in each directory, and keeps a file in each volume. The second run reads
/// it.
const USE: &str = "
cat /d?/name
for d in /d0 /d1 /d2; do echo guest > $d/guest || exit 3; done
for d in /d3 /d4; do echo guest 2>&- > $d/guest && exit 4; done
for v in /v? /anonymous; do test -e $v/kept && cat $v/kept || echo $v > $v/kept || exit 5; done
sync
df / /d0 /v5 > /dev/null || exit 6
";

/// Checks twelve volumes and host directories, if the VMM has room for them. If it has not, they
/// are refused with its limit, and no volume is made.
pub(super) fn dozen(env: &TestEnv) -> Result<()> {
    clean_up(env)?;
    let host = Host::new(env)?;
    let mut mounts = vec!["-v".to_owned(), "/anonymous".to_owned()];
    for index in 0..DIRECTORIES {
        let access = if index < 3 { "rw" } else { "ro" };
        let directory = host.path(&format!("d{index}"));
        let mount = format!("{}:/d{index}:{access}", directory.display());
        mounts.extend(["-v".to_owned(), mount]);
    }
    for (index, volume) in VOLUMES.iter().enumerate() {
        mounts.extend(["-v".to_owned(), format!("{volume}:/v{index}")]);
    }
    let mounts: Vec<_> = mounts.iter().map(String::as_str).collect();
    if env.vmm() == "krun" {
        let refused = create(env, &mounts)?;
        expect_refusal(
            &refused,
            "12 volumes and host directories are too many: with krun",
        )?;
        let listed = msb(env, &["volume", "ls", "--format", "json"])?;
        let is_made = String::from_utf8_lossy(&listed.stdout).contains(VOLUMES[0]);
        ensure!(!is_made, "a refused command made {}", describe(&listed));
        return Ok(());
    }
    let line = || {
        let _ = remove(env, NAME);
        let options = [&["--name", NAME][..], &mounts].concat();
        env.run_command(&options, &["sh", "-c", USE])
    };
    let names: String = (0..DIRECTORIES).map(|index| format!("{index}\n")).collect();
    let first = env.retried(line, &[])?;
    expect_code(&first, 0)?;
    ensure!(first.stdout == names.as_bytes(), "{}", describe(&first));
    for index in 0..DIRECTORIES {
        let is_written = host.path(&format!("d{index}/guest")).exists();
        ensure!(is_written == (index < 3), "directory {index}: {is_written}");
    }
    let again = || {
        let mut line = env.machine_command("start");
        line.args(["--attach", NAME]);
        line
    };
    let second = env.retried(again, &[])?;
    expect_code(&second, 0)?;
    let kept: String = (0..VOLUMES.len())
        .map(|index| format!("/v{index}\n"))
        .collect();
    let expected = format!("{names}{kept}/anonymous\n");
    ensure!(
        second.stdout == expected.as_bytes(),
        "{}",
        describe(&second)
    );
    remove(env, NAME)?;
    // Another sandbox sees the same data in a volume that was not a device of its own.
    let last = format!("{}:/v:ro", VOLUMES[5]);
    let alone = env.run(&["--network", "none", "-v", &last], &["cat", "/v/kept"])?;
    expect_code(&alone, 0)?;
    ensure!(alone.stdout == b"/v5\n", "{}", describe(&alone));
    clean_up(env)
}

/// Tries, as root in the guest, to change a read-only file and to reach the files beside it. Each
/// line names an action that succeeded.
const ATTACK: &str = "
mount -o remount,rw /etc/read.conf && echo remounted
try() { \"$@\" >/dev/null 2>&1 && echo \"done: $*\"; }
try sh -c 'echo x > /etc/read.conf'
try truncate -s 0 /etc/read.conf
try chmod 777 /etc/read.conf
try touch -d 2001-01-01 /etc/read.conf
try rm /etc/read.conf
try mv /etc/read.conf /etc/moved
try ln /etc/read.conf /etc/linked
mkdir /again
for tag in msb-ro msb-rw; do
    mount -t virtiofs $tag /again && echo $tag
    ls -A /again
    for name in secret read.conf write.conf .. 0/.. 0/../secret 1/../secret; do try cat /again/$name; done
    umount /again
done
cat /etc/read.conf
";

/// Checks a file of the host: it is read and written, nothing else is reachable, and it stays the
/// file that had the name when the sandbox was started.
pub(super) fn files(env: &TestEnv) -> Result<()> {
    clean_up(env)?;
    let host = Host::new(env)?;
    let read = format!(
        "{}:/etc/read.conf:ro",
        host.path("files/read.conf").display()
    );
    let write = format!(
        "type=bind,src={},dst=/new/dir/write.conf",
        host.path("files/write.conf").display()
    );
    let mounts = ["-v", read.as_str(), "--mount", write.as_str()];
    if env.vmm() == "krun" {
        return expect_refusal(&create(env, &mounts)?, "krun can mount only directories");
    }
    let attacked = env.run(&mounts, &["sh", "-c", ATTACK])?;
    expect_code(&attacked, 0)?;
    let expected = "remounted\nmsb-ro\nmsb-rw\nread\n";
    ensure!(
        attacked.stdout == expected.as_bytes(),
        "the guest did what it must not: {}",
        describe(&attacked)
    );
    host.is_unchanged()?;

    let line = || {
        let _ = remove(env, NAME);
        let options = [&["-d", "--name", NAME][..], &mounts].concat();
        env.run_command(&options, &["sleep", "600"])
    };
    expect_code(&env.retried(line, &[])?, 0)?;
    let path = host.path("files/write.conf");
    let opened = host.path("files/opened");
    fs::hard_link(&path, &opened)?;
    fs::write(host.path("files/other"), "other\n")?;
    fs::rename(host.path("files/other"), &path)?;
    let script =
        "cat /new/dir/write.conf; echo guest >> /new/dir/write.conf; sync /new/dir/write.conf";
    let wrote = msb(env, &["exec", "--timeout", "60s", NAME, "sh", "-c", script])?;
    expect_code(&wrote, 0)?;
    ensure!(wrote.stdout == b"write\n", "{}", describe(&wrote));
    ensure!(fs::read(&opened)? == b"write\nguest\n" && fs::read(&path)? == b"other\n");
    expect_code(&msb(env, &["rm", "-f", NAME])?, 0)
}

/// Uses three staged directories, of which one is read-only, beside a volume and the network. The second run reads
/// what the first one wrote.
const USE_STAGED: &str = "
cat /one/name /srv/two/name /srv/three/name || exit 3
for d in /one /srv/three; do echo guest > $d/name && echo new > $d/new || exit 4; done
echo guest 2>&- > /srv/two/name && exit 5
touch /srv/two/new 2>&- && exit 6
echo kept > /v0/kept || exit 7
test -e /sys/class/net/eth0 || exit 8
grep -c -E ' (/one|/srv/two|/srv/three) overlay ' /proc/mounts
sync
";

/// Checks that several staged directories have their own files and changes on one disk, and are applied together.
pub(super) fn staged(env: &TestEnv) -> Result<()> {
    clean_up(env)?;
    let host = Host::new(env)?;
    let path = |name: &str| host.path(name).display().to_string();
    let mounts = [
        format!("{}:/one:staged", path("d0")),
        format!("{}:/v0", VOLUMES[0]),
        format!("{}:/srv/two:staged,ro", path("d1")),
        format!("{}:/srv/three:staged", path("d2")),
    ];
    let mounts = mounts.iter().flat_map(|mount| ["-v", mount.as_str()]);
    let options: Vec<&str> = ["--name", NAME].into_iter().chain(mounts).collect();
    let line = || {
        let _ = remove(env, NAME);
        env.run_command(&options, &["sh", "-c", USE_STAGED])
    };
    let first = env.retried(line, &[])?;
    expect_code(&first, 0)?;
    ensure!(first.stdout == b"0\n1\n2\n3\n", "{}", describe(&first));
    let again = || {
        let mut line = env.machine_command("start");
        line.args(["--attach", NAME]);
        line
    };
    let second = env.retried(again, &[])?;
    expect_code(&second, 0)?;
    let expected = b"guest\n1\nguest\n3\n";
    ensure!(second.stdout == expected, "{}", describe(&second));
    let diff = ["diff", NAME, "--", "/one", "/srv/two", "/srv/three"];
    let changes = msb(env, &diff)?;
    expect_code(&changes, 0)?;
    let expected = "C /one/name\nA /one/new\nC /srv/three/name\nA /srv/three/new\n";
    ensure!(
        changes.stdout == expected.as_bytes(),
        "{}",
        describe(&changes)
    );
    let applied = msb(env, &["apply", NAME])?;
    expect_code(&applied, 0)?;
    let (one, three) = (path("d0"), path("d2"));
    let expected = format!("C {one}/name\nA {one}/new\nC {three}/name\nA {three}/new\n");
    ensure!(
        applied.stdout == expected.as_bytes(),
        "{}",
        describe(&applied)
    );
    let names = ["d0/name", "d1/name", "d2/name"].map(|name| fs::read(host.path(name)).ok());
    let expected = [&b"guest\n"[..], b"1\n", b"guest\n"].map(|text| Some(text.to_vec()));
    ensure!(
        names == expected && !host.path("d1/new").exists(),
        "{names:?}"
    );
    clean_up(env)
}

/// Directories, and files beside one that is not shared.
struct Host(PathBuf);

impl Host {
    fn new(env: &TestEnv) -> Result<Self> {
        let host = Self(env.work.join("host"));
        for index in 0..DIRECTORIES {
            let directory = host.path(&format!("d{index}"));
            fs::create_dir_all(&directory)?;
            fs::write(directory.join("name"), format!("{index}\n"))?;
        }
        fs::create_dir_all(host.path("files"))?;
        for name in ["read", "write"] {
            fs::write(
                host.path(&format!("files/{name}.conf")),
                format!("{name}\n"),
            )?;
        }
        fs::write(host.path("files/secret"), "secret\n")?;
        Ok(host)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn is_unchanged(&self) -> Result<()> {
        let names: Vec<_> = fs::read_dir(self.path("files"))?.flatten().collect();
        ensure!(names.len() == 3, "{names:?}");
        let path = self.path("files/read.conf");
        let metadata = fs::metadata(&path)?;
        ensure!(
            fs::read(&path)? == b"read\n" && metadata.modified()?.elapsed()?.as_secs() < 100_000,
            "the read-only file was changed: {metadata:?}"
        );
        Ok(())
    }
}

/// Creates a sandbox with these mounts for the VMM under test.
fn create(env: &TestEnv, mounts: &[&str]) -> Result<Output> {
    let mut line = env.msb();
    line.args(["create", "--pull", "never", "--name", NAME])
        .args(mounts)
        .args([env.image(), "true"])
        .env("MSB_VMM", env.vmm());
    line.output().context("cannot run msb")
}

fn expect_refusal(output: &Output, reason: &str) -> Result<()> {
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.code() == Some(125) && said.contains(reason),
        "expected a refusal with {reason:?}, got {}",
        describe(output)
    );
    Ok(())
}

fn clean_up(env: &TestEnv) -> Result<()> {
    remove(env, NAME)?;
    let command = [&["volume", "rm", "-f"][..], &VOLUMES].concat();
    msb(env, &command).map(drop)
}

fn msb(env: &TestEnv, arguments: &[&str]) -> Result<Output> {
    Ok(env.msb().args(arguments).output()?)
}
