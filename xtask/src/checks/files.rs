use std::fs::{self, File, Permissions};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Output};

use anyhow::{Context as _, Result, ensure};
use rustix::fs::{AtFlags, CWD, FileType, Mode, Timespec, Timestamps, XattrFlags};

use super::bed::{Bed, describe, expect_code, finish, spawn};
use super::durability::remove;
use super::ground::Ground;

const NAME: &str = "checks-files";
/// Tens of MiB: emulation is slow.
const BIG_BYTES: usize = 24 << 20;

/// Trees go in and come back as they were, out of the sandbox while it runs and when it was killed.
pub(super) fn there_and_back(bed: &Bed) -> Result<()> {
    let ground = Ground::new(NAME)?;
    sample(&ground.0.join("from"))?;
    start(bed)?;
    copy(bed, &ground.path("from"), &inside("/root/tree"))?;
    copy(bed, &inside("/root/tree"), &ground.path("back"))?;
    same(&ground, "from", "back")?;
    let script = "cd /root/tree && stat -c '%a %h %s %b' again big sparse sub && \
        mv /usr/share/doc /usr/share/moved && chmod 700 /etc/passwd && \
        ln /etc/issue /etc/linked && echo more >> /etc/linked && \
        rm -r /var/cache && mkdir /var/cache && mv sub elsewhere && rm again && sync";
    let seen = exec(bed, script)?;
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
    copy_all(bed, &ground, "running", &parts)?;
    expect_code(&msb(bed, &["kill", NAME])?, 0)?;
    copy_all(bed, &ground, "stopped", &parts)?;
    same(&ground, "running", "stopped")?;
    let refused = msb(bed, &["cp", &ground.path("from"), &inside("/root/no")])?;
    said(&refused, "is stopped")?;
    said(&msb(bed, &["fs", "rm", NAME, "/etc/passwd"])?, "is stopped")?;
    remove(bed, NAME)
}

/// Archives on standard input and output, and `msb fs`.
pub(super) fn archives_and_listings(bed: &Bed) -> Result<()> {
    let ground = Ground::new(NAME)?;
    sample(&ground.0.join("from"))?;
    start(bed)?;
    let made = Command::new("tar")
        .args([
            "-c",
            "-S",
            "--format=posix",
            "-C",
            &ground.path("from"),
            ".",
        ])
        .output()?;
    expect_code(&made, 0)?;
    expect_code(&msb(bed, &["fs", "mkdir", "-p", NAME, "/srv/a/b"])?, 0)?;
    let put = spawn(Command::new(&bed.msb).args(["cp", "-", &inside("/srv/a/b")]))?;
    expect_code(&finish(put, &made.stdout)?, 0)?;
    let got = msb(bed, &["cp", &inside("/srv/a/b/."), "-"])?;
    expect_code(&got, 0)?;
    fs::create_dir(ground.path("back"))?;
    let unpacked = spawn(Command::new("tar").args(["-x", "-p", "-C", &ground.path("back")]))?;
    expect_code(&finish(unpacked, &got.stdout)?, 0)?;
    let no_xattrs = |name: &str| -> Result<String> {
        let text = ground.dump(name)?.to_string();
        Ok(text.replace("user.note=0001", "-"))
    };
    ensure!(
        no_xattrs("from")? == no_xattrs("back")?,
        "the archive that came back is another"
    );
    listing(bed)?;
    exec(bed, "sync")?;
    expect_code(&msb(bed, &["kill", NAME])?, 0)?;
    listing(bed)?;
    remove(bed, NAME)
}

/// Names of any bytes, links and modes, as programs are told of them.
fn listing(bed: &Bed) -> Result<()> {
    let listed = msb(bed, &["fs", "ls", "--format", "json", NAME, "/srv/a/b"])?;
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
    let cat = msb(bed, &["fs", "cat", NAME, "/srv/a/b/link"])?;
    ensure!(
        cat.stdout == [7; 70_000],
        "cat gave {} bytes",
        cat.stdout.len()
    );
    let stat = msb(
        bed,
        &["fs", "stat", "--format", "json", NAME, "/srv/a/b/sub"],
    )?;
    let stat: serde_json::Value = serde_json::from_slice(&stat.stdout)?;
    ensure!(
        stat[0]["type"] == "directory" && stat[0]["mtime_s"] == -1,
        "{stat}"
    );
    said(
        &msb(bed, &["fs", "cat", NAME, "/srv/nowhere"])?,
        "No such file",
    )
}

/// What cannot be is said, and leaves the sandbox as it was; single files are changed; mounts are left out.
pub(super) fn refusals(bed: &Bed) -> Result<()> {
    let ground = Ground::new(NAME)?;
    sample(&ground.0.join("from"))?;
    let share = format!("{}:/mnt/host:ro", ground.path("from"));
    start_with(bed, &["-v", &share])?;
    exec(
        bed,
        "mkdir /mnt/small && mount -t tmpfs -o size=1m none /mnt/small",
    )?;
    let from = ground.path("from");
    let big = ground.path("from/big");
    let cases: [(&[&str], &str); 12] = [
        (&["cp", &inside("/nowhere"), &from], "No such file"),
        (&["cp", &big, &inside("/no/where")], "No such file"),
        (&["cp", &big, &inside("/root/no/")], "no directory"),
        (&["cp", &from, &inside("/etc/passwd")], "which is a file"),
        (&["cp", &big, &inside("/run/msb/image/x")], "Read-only"),
        (&["cp", &big, &inside("/mnt/small")], "No space left"),
        (&["cp", "/nowhere", &inside("/root")], "No such file"),
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
        said(&msb(bed, arguments)?, reason)?;
    }
    expect_code(&msb(bed, &["fs", "rm", "-r", NAME, "/mnt/small/big"])?, 0)?;
    expect_code(&msb(bed, &["fs", "stat", NAME, "/mnt/small"])?, 0)?;
    single_files(bed)?;
    exec(bed, "touch /mnt/own && sync")?;
    let left_out = ["mnt/", "mnt/host/", "mnt/own", "mnt/small/"];
    let seen = names_in_archive(bed)?;
    ensure!(seen == left_out, "the archive has {seen:?}");
    expect_code(&msb(bed, &["kill", NAME])?, 0)?;
    let whole = msb(bed, &["cp", &inside("/mnt"), &ground.path("whole")])?;
    said(&whole, "leaves mounts out")?;
    let seen = names_in_archive(bed)?;
    ensure!(seen == left_out, "the archive has {seen:?}");
    remove(bed, NAME)
}

/// What `msb fs` writes, renames and sets is there, and nothing else.
fn single_files(bed: &Bed) -> Result<()> {
    expect_code(&msb(bed, &["fs", "mkdir", NAME, "/srv/one"])?, 0)?;
    let content = [b'x'; 200_000];
    for mode in [&["-m", "0640"][..], &[]] {
        let arguments = [&["fs", "write"], mode, &[NAME, "/srv/one/new"]].concat();
        let writing = spawn(Command::new(&bed.msb).args(arguments))?;
        expect_code(&finish(writing, &content)?, 0)?;
    }
    expect_code(&msb(bed, &["fs", "chmod", NAME, "u+x", "/srv/one/new"])?, 0)?;
    expect_code(
        &msb(bed, &["fs", "mv", NAME, "/srv/one/new", "/srv/one/moved"])?,
        0,
    )?;
    let seen = exec(bed, "cd /srv/one && ls -A && stat -c '%a %s' moved")?;
    ensure!(
        seen == b"moved\n740 200000\n",
        "it is {}",
        seen.escape_ascii()
    );
    Ok(())
}

/// The names in an archive of `/mnt` without what is mounted there.
fn names_in_archive(bed: &Bed) -> Result<Vec<String>> {
    let archive = msb(bed, &["cp", "-x", &inside("/mnt"), "-"])?;
    expect_code(&archive, 0)?;
    let listing = spawn(Command::new("tar").arg("-t"))?;
    let listing = finish(listing, &archive.stdout)?;
    expect_code(&listing, 0)?;
    let text = String::from_utf8(listing.stdout)?;
    Ok(text.lines().map(str::to_owned).collect())
}

/// A sandbox that waits.
fn start(bed: &Bed) -> Result<()> {
    start_with(bed, &[])
}

fn start_with(bed: &Bed, options: &[&str]) -> Result<()> {
    let line = || {
        let _ = remove(bed, NAME);
        // With a network, files about it are mounted over the image's, and no part of its disk.
        let own = ["-d", "--name", NAME, "--network", "none"];
        bed.run_command(&[&own, options].concat(), &["sleep", "1000"])
    };
    expect_code(&bed.retried(line, &[])?, 0)
}

fn msb(bed: &Bed, arguments: &[&str]) -> Result<Output> {
    Ok(Command::new(&bed.msb).args(arguments).output()?)
}

fn inside(path: &str) -> String {
    format!("{NAME}:{path}")
}

fn exec(bed: &Bed, script: &str) -> Result<Vec<u8>> {
    let output = msb(bed, &["exec", NAME, "sh", "-c", script])?;
    expect_code(&output, 0)?;
    Ok(output.stdout)
}

fn copy(bed: &Bed, from: &str, to: &str) -> Result<()> {
    expect_code(&msb(bed, &["cp", from, to])?, 0)
}

fn copy_all(bed: &Bed, ground: &Ground, to: &str, parts: &[&str]) -> Result<()> {
    fs::create_dir(ground.path(to))?;
    for part in parts {
        copy(bed, &inside(part), &ground.path(to))?;
    }
    // Each copy touched it.
    set_time(&ground.0.join(to), 0)
}

fn said(output: &Output, reason: &str) -> Result<()> {
    expect_code(output, 125)?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(
        stderr.contains(reason) && stderr.lines().count() == 1,
        "no '{reason}' alone in {}",
        describe(output)
    );
    Ok(())
}

/// The same, entry by entry, holes too.
fn same(ground: &Ground, one: &str, other: &str) -> Result<()> {
    let differences = ground.dump(one)?.differences(&ground.dump(other)?);
    ensure!(
        differences.is_empty(),
        "{one} and {other} differ: {:#?}",
        &differences[..differences.len().min(20)]
    );
    for path in ["sparse", "root/tree/sparse"] {
        let allocated = |root: &str| {
            let metadata = fs::metadata(ground.0.join(root).join(path));
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

/// One of each kind that goes both ways.
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
    // Not every filesystem of a host has them.
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
