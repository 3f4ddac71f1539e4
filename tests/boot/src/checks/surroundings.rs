use anyhow::{Context as _, Result, ensure};

use test_support::{TestEnv, describe, expect_code};

/// A line of `/proc/mounts`.
struct Mount<'a> {
    source: &'a str,
    target: &'a str,
    kind: &'a str,
    options: &'a str,
}

fn parse(mounts: &str) -> Vec<Mount<'_>> {
    mounts
        .lines()
        .filter_map(|line| {
            let mut fields = line.split(' ');
            Some(Mount {
                source: fields.next()?,
                target: fields.next()?,
                kind: fields.next()?,
                options: fields.next()?,
            })
        })
        .collect()
}

pub(super) fn mounts(env: &TestEnv) -> Result<()> {
    let text = env.sh("cat /proc/mounts")?;
    let mounts = parse(&text);
    let root = mounts
        .iter()
        .rfind(|mount| mount.target == "/")
        .context("nothing at /")?;
    ensure!(root.kind == "overlay", "/ is {}: {text}", root.kind);
    for option in [
        "lowerdir=",
        "upperdir=",
        "workdir=",
        "redirect_dir=on",
        "index=on",
        "metacopy=on",
        "xino=on",
    ] {
        ensure!(
            root.options.contains(option),
            "no {option} in {}",
            root.options
        );
    }
    let of = |source: &str| mounts.iter().find(|mount| mount.source == source);
    let image = of("/dev/vda").with_context(|| format!("no /dev/vda: {text}"))?;
    ensure!(
        image.kind == "erofs" && image.options.starts_with("ro"),
        "{text}"
    );
    let upper = of("/dev/vdb").with_context(|| format!("no /dev/vdb: {text}"))?;
    ensure!(upper.kind == "ext4", "{text}");
    Ok(())
}

/// Checks that only the root of a sandbox with --rm is never synced.
pub(super) fn syncing(env: &TestEnv) -> Result<()> {
    let is_volatile = |options: &[&str]| -> Result<bool> {
        let script = ["sh", "-c", "cat /proc/mounts"];
        let output = env.retried(|| env.run_command(options, &script), &[])?;
        expect_code(&output, 0)?;
        let text = String::from_utf8(output.stdout)?;
        let root = parse(&text).into_iter().rfind(|mount| mount.target == "/");
        let options = root.context("nothing at /")?.options;
        // Kernel versions use different words for the option.
        let words = ["volatile", "fsync=volatile"];
        Ok(options.split(',').any(|option| words.contains(&option)))
    };
    ensure!(is_volatile(&["--rm"])?, "--rm syncs");
    let kept = ["--name", "checks-syncing"];
    let is_unsynced = is_volatile(&kept);
    let remove = ["rm", "--force", "checks-syncing"];
    let removed = env.msb().args(remove).output()?;
    ensure!(!is_unsynced?, "what is kept is not synced");
    expect_code(&removed, 0)
}

/// Checks for the features of a container: devices, links, rights, control groups.
const SURROUNDINGS: &str = r#"
set -e
cat /proc/mounts
fail() { echo "$*" >&2; exit 1; }
test -c /dev/null
echo x > /dev/null
test -w /tmp
test -w /dev/shm
for link in fd:/proc/self/fd stdin:/proc/self/fd/0 stdout:/proc/self/fd/1 stderr:/proc/self/fd/2 \
    core:/proc/kcore ptmx:pts/ptmx; do
    is=$(readlink "/dev/${link%%:*}")
    test "$is" = "${link#*:}" || fail "/dev/${link%%:*} leads to $is"
done
test -c /dev/ptmx
for device in fuse net/tun null zero full random urandom tty; do
    mode=$(stat -c %a "/dev/$device")
    test "$mode" = 666 || fail "/dev/$device has the mode $mode"
done
for controller in cpu memory pids; do
    grep -qw $controller /sys/fs/cgroup/cgroup.controllers || fail "no controller $controller"
done
mkdir /sys/fs/cgroup/made
echo $$ > /sys/fs/cgroup/made/cgroup.procs
test "$(cat /proc/self/cgroup)" = 0::/made || fail "in the group $(cat /proc/self/cgroup)"
"#;

/// Checks that a file is on its directory's device, and keeps its number when it is copied up.
const IDENTITY: &str = r#"
set -e
cd /etc
fail() { echo "$*" >&2; exit 1; }
identity() { stat -c '%d %i' "$1"; }
before=$(identity passwd)
test "${before% *}" = "$(stat -c %d .)" || fail "passwd is $before, its directory $(identity .)"
sizes() { test "$(du -sk /usr/bin)" = "$(du -xsk /usr/bin)" || fail "$(du -sk /usr/bin), -x $(du -xsk /usr/bin)"; }
sizes
echo '# changed' >> passwd
test "$(identity passwd)" = "$before" || fail "passwd was $before, is $(identity passwd)"
echo made > /usr/bin/made
test "$(stat -c %d /usr/bin/made)" = "$(stat -c %d .)" || fail "a new file is $(identity /usr/bin/made)"
sizes
umount hosts hostname resolv.conf
ls -ai | while read -r number name; do
    test "$name" = .. || test -h "$name" || test "$number" = "$(stat -c %i "$name")" ||
        fail "$name has the number $(stat -c %i "$name") and is listed as $number"
done
"#;

pub(super) fn container_mounts(env: &TestEnv) -> Result<()> {
    // The script that leaves its control group comes last.
    let text = env.sh(&format!("set -e; ({IDENTITY}); {SURROUNDINGS}"))?;
    let mounts = parse(&text);
    for (target, kind) in [
        ("/proc", "proc"),
        ("/sys", "sysfs"),
        ("/sys/fs/cgroup", "cgroup2"),
        ("/dev", "devtmpfs"),
        ("/dev/pts", "devpts"),
        ("/dev/shm", "tmpfs"),
        ("/run/msb", "tmpfs"),
    ] {
        let found = mounts
            .iter()
            .any(|mount| mount.target == target && mount.kind == kind);
        ensure!(found, "no {kind} at {target}: {text}");
    }
    Ok(())
}

pub(super) fn config(env: &TestEnv) -> Result<()> {
    let script = "echo $A $B $(pwd) $(id -u):$(id -g) $(hostname)";
    let options = [
        "-e",
        "A=1",
        "-e",
        "B=two words",
        "-w",
        "/made/here",
        "-u",
        "1234:4321",
        "--name",
        "dog",
    ];
    let output = env.run(&options, &["sh", "-c", script])?;
    expect_code(&output, 0)?;
    let stdout = String::from_utf8_lossy(&output.stdout);
    ensure!(
        stdout == "1 two words /made/here 1234:4321 dog\n",
        "{}",
        describe(&output)
    );

    let output = env.run(&["--entrypoint", "echo"], &["from", "the entrypoint"])?;
    ensure!(
        output.stdout == b"from the entrypoint\n",
        "{}",
        describe(&output)
    );
    Ok(())
}

pub(super) fn exit_codes(env: &TestEnv) -> Result<()> {
    for (script, code) in [("exit 42", 42), ("kill -9 $$", 137), ("kill -TERM $$", 143)] {
        expect_code(&env.run(&["--init"], &["sh", "-c", script])?, code)?;
    }
    expect_code(&env.run(&[], &["sh", "-c", "exit 42"])?, 42)?;
    // Of a process 1, only another process can be killed by these signals.
    expect_code(
        &env.run(&[], &["sh", "-c", "kill -9 $$; kill $$; exit 7"])?,
        7,
    )
}

/// Checks `--hostname`, `--group-add` and `--read-only` in a guest without a network.
const GIVEN: &str = r#"
set -e
fail() { echo "$*" >&2; exit 1; }
test "$(hostname) $(cat /etc/hostname)" = 'web.example.com web.example.com' || fail "$(hostname)"
grep -q '^127.0.0.1.web.example.com web$' /etc/hosts || fail "$(cat /etc/hosts)"
test "$(id -G)" = '7 29 4321' || fail "$(id)"
for path in /new /etc/new /root /var/lib/new /run/new /tmp/new; do
    ! touch "$path" 2> /dev/null || fail "$path was touched"
done
for path in /data /dev/shm; do
    touch "$path/new" || fail "nothing new in $path"
done
"#;

pub(super) fn given(env: &TestEnv) -> Result<()> {
    let options = [
        "-h",
        "web.example.com",
        "--group-add",
        "audio",
        "--group-add",
        "4321",
        "--read-only",
        "--init",
        "--network",
        "none",
        "--tmpfs",
        "/data",
        "-u",
        "0:7",
    ];
    let output = env.run(&options, &["sh", "-c", GIVEN])?;
    expect_code(&output, 0).with_context(|| describe(&output))?;
    let output = env.run(&["--group-add", "no-such-group"], &["true"])?;
    expect_code(&output, 125)?;
    for option in ["--hostname=a b", "--hostname=", "-h-a", "--group-add="] {
        let refused = env.run(&[option], &["true"])?;
        expect_code(&refused, 125).with_context(|| option.to_owned())?;
    }
    Ok(())
}
