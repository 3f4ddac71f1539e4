use std::fs::{self, File, Permissions};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Output};

use anyhow::{Context as _, Result, ensure};
use rustix::fs::{AtFlags, CWD, FileType, Mode, Timespec, Timestamps, XattrFlags};

use super::durability::remove;
use super::host_directory::HostDirectory;
use test_support::{TestEnv, describe, expect_code, finish, spawn};

const NAME: &str = "checks-files";
/// Size of a large file: tens of MiB, because emulation is slow.
const BIG_BYTES: usize = 24 << 20;

/// Checks that trees return unchanged from a sandbox, while it runs and after it was killed.
pub(super) fn there_and_back(env: &TestEnv) -> Result<()> {
    let host = HostDirectory::new(env)?;
    sample(&host.0.join("from"))?;
    start(env)?;
    copy(env, &host.path("from"), &inside("/root/tree"))?;
    copy(env, &inside("/root/tree"), &host.path("back"))?;
    same(&host, "from", "back")?;
    let script = "cd /root/tree && stat -c '%a %h %s %b' again big sparse sub && \
        mv /usr/share/doc /usr/share/moved && chmod 700 /etc/passwd && \
        ln /etc/issue /etc/linked && echo more >> /etc/linked && \
        rm -r /var/cache && mkdir /var/cache && mv sub elsewhere && rm again && sync";
    let seen = exec(env, script)?;
    let expected = format!(
        "644 2 70000 {0}\n640 1 {BIG_BYTES} {1}\n",
        144,
        BIG_BYTES / 512
    );
    ensure!(
        seen.starts_with(expected.as_bytes()),
        "{}",
        seen.escape_ascii()
    );
    let parts = ["/root", "/etc", "/usr/share", "/var"];
    copy_all(env, &host, "running", &parts)?;
    expect_code(&msb(env, &["kill", NAME])?, 0)?;
    copy_all(env, &host, "stopped", &parts)?;
    same(&host, "running", "stopped")?;
    let refused = msb(env, &["cp", &host.path("from"), &inside("/root/no")])?;
    said(&refused, "is stopped")?;
    said(&msb(env, &["fs", "rm", NAME, "/etc/passwd"])?, "is stopped")?;
    remove(env, NAME)
}

/// Checks archives on standard input and output, and `msb fs`.
pub(super) fn archives_and_listings(env: &TestEnv) -> Result<()> {
    let host = HostDirectory::new(env)?;
    sample(&host.0.join("from"))?;
    start(env)?;
    let made = Command::new("tar")
        .args(["-c", "-S", "--format=posix", "-C", &host.path("from"), "."])
        .output()?;
    expect_code(&made, 0)?;
    expect_code(&msb(env, &["fs", "mkdir", "-p", NAME, "/srv/a/b"])?, 0)?;
    let put = spawn(env.msb().args(["cp", "-", &inside("/srv/a/b")]))?;
    expect_code(&finish(put, &made.stdout)?, 0)?;
    let got = msb(env, &["cp", &inside("/srv/a/b/."), "-"])?;
    expect_code(&got, 0)?;
    fs::create_dir(host.path("back"))?;
    let unpacked = spawn(Command::new("tar").args(["-x", "-p", "-C", &host.path("back")]))?;
    expect_code(&finish(unpacked, &got.stdout)?, 0)?;
    let no_xattrs = |name: &str| -> Result<String> {
        let text = host.dump(name)?.to_string();
        Ok(text.replace("user.note=0001", "-"))
    };
    ensure!(
        no_xattrs("from")? == no_xattrs("back")?,
        "the archive that came back is another"
    );
    listing(env)?;
    exec(env, "sync")?;
    expect_code(&msb(env, &["kill", NAME])?, 0)?;
    listing(env)?;
    remove(env, NAME)
}

/// Checks that the JSON listing has names of any bytes, links and modes.
fn listing(env: &TestEnv) -> Result<()> {
    let listed = msb(env, &["fs", "ls", "--format", "json", NAME, "/srv/a/b"])?;
    expect_code(&listed, 0)?;
    let entries: Vec<serde_json::Value> = serde_json::from_slice(&listed.stdout)?;
    let find = |key: &str, value: &str| {
        entries
            .iter()
            .find(|entry| entry[key] == value)
            .with_context(|| format!("no {value} in {}", describe(&listed)))
    };
    ensure!(find("name", "link")?["target"] == "sub/file");
    ensure!(find("name", "big")?["mode"] == "0640");
    ensure!(find("name", "sparse")?["size_bytes"] == 8_397_992);
    ensure!(find("name_base64", "//4=")?["type"] == "file");
    let cat = msb(env, &["fs", "cat", NAME, "/srv/a/b/link"])?;
    ensure!(
        cat.stdout == [7; 70_000],
        "cat gave {} bytes",
        cat.stdout.len()
    );
    let stat = msb(
        env,
        &["fs", "stat", "--format", "json", NAME, "/srv/a/b/sub"],
    )?;
    let stat: serde_json::Value = serde_json::from_slice(&stat.stdout)?;
    ensure!(
        stat[0]["type"] == "directory" && stat[0]["mtime_s"] == -1,
        "{stat}"
    );
    said(
        &msb(env, &["fs", "cat", NAME, "/srv/nowhere"])?,
        "No such file",
    )
}

/// Checks that refused copies give an error and change nothing, and that mounts are left out. Also
/// changes single files.
pub(super) fn refusals(env: &TestEnv) -> Result<()> {
    let host = HostDirectory::new(env)?;
    sample(&host.0.join("from"))?;
    let share = format!("{}:/mnt/host:ro", host.path("from"));
    start_with(env, &["-v", &share])?;
    exec(
        env,
        "mkdir /mnt/small && mount -t tmpfs -o size=1m none /mnt/small",
    )?;
    let from = host.path("from");
    let big = host.path("from/big");
    let cases: [(&[&str], &str); 13] = [
        (
            &["cp", &inside("/nowhere"), &from],
            "in sandbox checks-files: cannot inspect '/nowhere': No such file",
        ),
        (
            &["cp", &big, &inside("/no/where")],
            "in sandbox checks-files: cannot open '/no/': No such file",
        ),
        (
            &["cp", &inside("/etc/passwd"), "/no/where"],
            "on this host: cannot open the directory /no/: No such file",
        ),
        (&["cp", &big, &inside("/root/no/")], "cannot copy into"),
        (&["cp", &from, &inside("/etc/passwd")], "which is a file"),
        (&["cp", &big, &inside("/run/msb/image/x")], "Read-only"),
        (&["cp", &big, &inside("/mnt/small")], "No space left"),
        (
            &["cp", "/nowhere", &inside("/root")],
            "on this host: cannot find /nowhere: No such file",
        ),
        (&["fs", "rm", NAME, "/etc"], "Is a directory"),
        (&["fs", "mkdir", NAME, "/etc"], "File exists"),
        (&["fs", "write", NAME, "/etc"], "Is a directory"),
        (&["fs", "chmod", NAME, "0600", "/nowhere"], "No such file"),
        (
            &["fs", "mv", NAME, "/etc/passwd", "/mnt/small"],
            "different filesystems",
        ),
    ];
    for (arguments, reason) in cases {
        said(&msb(env, arguments)?, reason)?;
    }
    expect_code(&msb(env, &["fs", "rm", "-r", NAME, "/mnt/small/big"])?, 0)?;
    expect_code(&msb(env, &["fs", "stat", NAME, "/mnt/small"])?, 0)?;
    single_files(env)?;
    exec(env, "touch /mnt/own && sync")?;
    let left_out = ["mnt/", "mnt/host/", "mnt/own", "mnt/small/"];
    let seen = names_in_archive(env)?;
    ensure!(seen == left_out, "the archive has {seen:?}");
    expect_code(&msb(env, &["kill", NAME])?, 0)?;
    let whole = msb(env, &["cp", &inside("/mnt"), &host.path("whole")])?;
    said(&whole, "leaves mounts out")?;
    let seen = names_in_archive(env)?;
    ensure!(seen == left_out, "the archive has {seen:?}");
    remove(env, NAME)
}

/// Checks that `msb fs` writes, renames and changes modes as asked, and makes nothing else.
fn single_files(env: &TestEnv) -> Result<()> {
    expect_code(&msb(env, &["fs", "mkdir", NAME, "/srv/one"])?, 0)?;
    let content = [b'x'; 200_000];
    for mode in [&["-m", "0640"][..], &[]] {
        let arguments = [&["fs", "write"], mode, &[NAME, "/srv/one/new"]].concat();
        let writing = spawn(env.msb().args(arguments))?;
        expect_code(&finish(writing, &content)?, 0)?;
    }
    expect_code(&msb(env, &["fs", "chmod", NAME, "u+x", "/srv/one/new"])?, 0)?;
    expect_code(
        &msb(env, &["fs", "mv", NAME, "/srv/one/new", "/srv/one/moved"])?,
        0,
    )?;
    let seen = exec(env, "cd /srv/one && ls -A && stat -c '%a %s' moved")?;
    ensure!(
        seen == b"moved\n740 200000\n",
        "it is {}",
        seen.escape_ascii()
    );
    Ok(())
}

/// Returns the names in an archive of `/mnt` without the mounts there.
fn names_in_archive(env: &TestEnv) -> Result<Vec<String>> {
    let archive = msb(env, &["cp", "-x", &inside("/mnt"), "-"])?;
    expect_code(&archive, 0)?;
    let listing = spawn(Command::new("tar").arg("-t"))?;
    let listing = finish(listing, &archive.stdout)?;
    expect_code(&listing, 0)?;
    let text = String::from_utf8(listing.stdout)?;
    Ok(text.lines().map(str::to_owned).collect())
}

/// Starts a sandbox that waits.
fn start(env: &TestEnv) -> Result<()> {
    start_with(env, &[])
}

fn start_with(env: &TestEnv, options: &[&str]) -> Result<()> {
    let line = || {
        let _ = remove(env, NAME);
        // With a network, files about it are mounted over the image's, and they are not on its
        // disk.
        let own = ["-d", "--name", NAME, "--network", "none"];
        env.run_command(&[&own, options].concat(), &["sleep", "1000"])
    };
    expect_code(&env.retried(line, &[])?, 0)
}

fn msb(env: &TestEnv, arguments: &[&str]) -> Result<Output> {
    Ok(env.msb().args(arguments).output()?)
}

fn inside(path: &str) -> String {
    format!("{NAME}:{path}")
}

fn exec(env: &TestEnv, script: &str) -> Result<Vec<u8>> {
    let output = msb(env, &["exec", NAME, "sh", "-c", script])?;
    expect_code(&output, 0)?;
    Ok(output.stdout)
}

fn copy(env: &TestEnv, from: &str, to: &str) -> Result<()> {
    expect_code(&msb(env, &["cp", from, to])?, 0)
}

fn copy_all(env: &TestEnv, host: &HostDirectory, to: &str, parts: &[&str]) -> Result<()> {
    fs::create_dir(host.path(to))?;
    for part in parts {
        copy(env, &inside(part), &host.path(to))?;
    }
    // Each copy changed the directory's time.
    set_time(&host.0.join(to), 0)
}

fn said(output: &Output, reason: &str) -> Result<()> {
    expect_code(output, 125)?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    let mut causes = stderr.lines().filter(|line| !line.starts_with("hint: "));
    ensure!(
        stderr.contains(reason) && causes.nth(1).is_none(),
        "no '{reason}' alone in {}",
        describe(output)
    );
    Ok(())
}

/// Checks that two trees are equal, entry by entry, including holes.
fn same(host: &HostDirectory, one: &str, other: &str) -> Result<()> {
    let differences = host.dump(one)?.differences(&host.dump(other)?);
    ensure!(
        differences.is_empty(),
        "{one} and {other} differ: {:#?}",
        &differences[..differences.len().min(20)]
    );
    for path in ["sparse", "root/tree/sparse"] {
        let allocated = |root: &str| {
            let metadata = fs::metadata(host.0.join(root).join(path));
            metadata.map(|metadata| metadata.blocks() * 512)
        };
        if let (Ok(one), Ok(other)) = (allocated(one), allocated(other)) {
            ensure!(
                one < 1 << 20 && other < 1 << 20,
                "{path} takes {one} and {other} bytes"
            );
        }
    }
    Ok(())
}

/// Makes one entry of each kind that can be copied in both directions.
fn sample(root: &Path) -> Result<()> {
    fs::create_dir_all(root.join("sub/empty"))?;
    fs::write(root.join("sub/file"), [7; 70_000])?;
    fs::hard_link(root.join("sub/file"), root.join("again"))?;
    let mut big = vec![0; BIG_BYTES];
    for (index, chunk) in big.chunks_mut(4).enumerate() {
        let number = u32::try_from(index)?.wrapping_mul(2_654_435_761);
        chunk.copy_from_slice(&number.to_le_bytes());
    }
    fs::write(root.join("big"), big)?;
    fs::set_permissions(root.join("big"), Permissions::from_mode(0o640))?;
    let sparse = File::create(root.join("sparse"))?;
    for offset_bytes in [0, 1 << 20, 8 << 20] {
        sparse.write_all_at(&[9; 4384], offset_bytes)?;
    }
    sparse.set_len(8_397_992)?;
    fs::write(root.join(std::ffi::OsStr::from_bytes(b"\xff\xfe")), "bytes")?;
    let long = root.join("n".repeat(200)).join("m".repeat(200));
    fs::create_dir_all(&long)?;
    fs::write(long.join("deep"), "deep")?;
    symlink("sub/file", root.join("link"))?;
    let pipe = root.join("pipe");
    rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o600), 0)?;
    // Some filesystems of a host have no extended attributes.
    let _ = rustix::fs::setxattr(
        root.join("again"),
        "user.note",
        b"\0\x01",
        XattrFlags::empty(),
    );
    set_time(&root.join("link"), 1 << 33)?;
    set_time(&root.join("sub"), -1)
}

fn set_time(path: &Path, seconds: i64) -> Result<()> {
    let time = Timespec {
        tv_sec: seconds,
        tv_nsec: 123_456_789,
    };
    let times = Timestamps {
        last_access: time,
        last_modification: time,
    };
    rustix::fs::utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(())
}
