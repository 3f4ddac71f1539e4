use std::fs::{self, File, Permissions};
use std::os::unix::fs::{FileExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Output;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::durability::{check_upper, remove};
use super::host_directory::HostDirectory;
use test_support::{TestEnv, describe, expect_code, upper_disk};

const NAME: &str = "checks-patched";
/// Size of a sparse file with data at both ends.
const SPARSE_BYTES: u64 = 3 << 30;

/// Prints the files as the guest sees them, and changes them as overlayfs must allow.
const LOOK: &str = "set -e
test ! -e /etc/skel; test ! -e /etc/debian_version
stat -c '%n %a %u:%g' /srv/made /srv/made/below /usr/lib/copied /opt/tree
stat -c '%h %s' /opt/tree/again
cat /opt/tree/sub/deep /etc/issue; readlink /opt/tree/link
stat -c %s /var/sparse; test $(stat -c %b /var/sparse) -lt 1000; tail -c 4 /var/sparse
grep -c -e '^10.1.2.3.db$' -e '^::7.six seven$' /etc/hosts
same() { test \"$(stat -c \"$1\" $2)\" = \"$(stat -c \"$1\" /run/msb/image$2)\"; }
for directory in / /etc; do same '%a %u %g' $directory; done
for directory in /usr /usr/lib /var /opt; do same '%a %u %g %Y' $directory; done
mkdir /etc/skel; ls -A /etc/skel; touch /etc/new; chmod 0700 /opt/tree/sub; rm /usr/lib/copied
mv /opt/tree/sub /opt/moved; cat /opt/moved/deep; rm -r /opt/tree; sync; echo done";
const SEEN: &str = "/srv/made 755 0:0
/srv/made/below 1777 0:0
/usr/lib/copied 4755 65534:7
/opt/tree 750 0:0
2 5
deep
instead
sub/deep
3221225472
end
2
deep
done
";

/// Checks files that are copied, removed and made before a sandbox has booted.
pub(super) fn before_first_boot(env: &TestEnv) -> Result<()> {
    let host = HostDirectory::new(env)?;
    sample(&host.0)?;
    let copies = [
        format!("{}:/lib/copied:65534:7", host.path("program")),
        format!("{}:/opt", host.path("tree")),
        format!("{}:/etc/issue", host.path("issue")),
        format!("{}:/var/", host.path("sparse")),
    ];
    let hosts = host.path("hosts");
    let mut options = vec![
        "--rm-path",
        "/etc/skel",
        "--rm-path",
        "/etc/debian_version",
        "--mkdir",
        "/srv/made/below:1777",
        "--add-host",
        "db:10.1.2.3",
        "--hosts",
        &hosts,
    ];
    for copy in &copies {
        options.extend(["--copy", copy]);
    }
    remove(env, NAME)?;
    expect_code(&create(env, &options, &["sh", "-c", LOOK])?, 0)?;
    check_upper(&upper(env)?)?;
    let line = || {
        let mut line = env.machine_command("start");
        line.args(["--attach", NAME]);
        line
    };
    let output = env.retried(line, &[])?;
    ensure!(output.stdout == SEEN.as_bytes(), "{}", describe(&output));
    expect_code(&output, 0)?;
    check_upper(&upper(env)?)?;
    remove(env, NAME)?;
    refusals(env, &host)
}

fn sample(host: &Path) -> Result<()> {
    fs::create_dir_all(host.join("tree/sub"))?;
    fs::set_permissions(host.join("tree"), Permissions::from_mode(0o750))?;
    fs::write(host.join("tree/sub/deep"), "deep\n")?;
    fs::hard_link(host.join("tree/sub/deep"), host.join("tree/again"))?;
    symlink("sub/deep", host.join("tree/link"))?;
    fs::write(host.join("program"), "#!/bin/sh\n")?;
    fs::set_permissions(host.join("program"), Permissions::from_mode(0o4755))?;
    fs::write(host.join("issue"), "instead\n")?;
    fs::write(host.join("hosts"), "# names\n::7 six seven # two\n\n")?;
    let sparse = File::create(host.join("sparse"))?;
    sparse.write_all_at(b"start", 0)?;
    sparse.write_all_at(b"end\n", SPARSE_BYTES - 4)?;
    Ok(())
}

/// Checks that refused changes are reported before a sandbox is made.
fn refusals(env: &TestEnv, host: &HostDirectory) -> Result<()> {
    let big = File::create(host.0.join("big"))?;
    big.write_all_at(&vec![7; 24 << 20], 0)?;
    let copy = |name: &str, to: &str| format!("{}:{to}", host.path(name));
    let cases = [
        (vec!["--copy".to_owned(), copy("none", "/x")], "none"),
        (
            vec!["--copy".to_owned(), copy("issue", "/none/x")],
            "cannot copy into the directory '/none/'",
        ),
        (
            vec!["--copy".to_owned(), copy("tree", "/etc/passwd")],
            "onto '/etc/passwd'",
        ),
        (
            vec!["--copy".to_owned(), copy("issue", "/run/msb")],
            "which would hide it",
        ),
        (
            vec!["--rm-path".to_owned(), "/none".to_owned()],
            "no '/none' to remove",
        ),
        (
            vec!["--mkdir".to_owned(), "/etc/passwd/x".to_owned()],
            "not a directory",
        ),
        (
            vec![
                "--upper-size".to_owned(),
                "16M".to_owned(),
                "--copy".to_owned(),
                copy("big", "/x"),
            ],
            "need 25165824 bytes, the writable disk has 16777216",
        ),
    ];
    for (options, expected) in cases {
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        let output = create(env, &options, &["true"])?;
        expect_code(&output, 125)?;
        ensure!(
            String::from_utf8_lossy(&output.stderr).contains(expected),
            "{options:?}: {}",
            describe(&output)
        );
    }
    Ok(())
}

fn create(env: &TestEnv, options: &[&str], command: &[&str]) -> Result<Output> {
    let memory = format!("{}M", env.memory_mib());
    let mut line = env.msb();
    line.args(["create", "--cpus", "1", "--pull", "never"]);
    line.args(["--memory", &memory, "--name", NAME]);
    line.args(options).arg(env.image()).args(command);
    Ok(line.output()?)
}

fn upper(env: &TestEnv) -> Result<std::path::PathBuf> {
    let output = env.msb().args(["inspect", NAME]).output()?;
    let report: Value = serde_json::from_slice(&output.stdout)?;
    let directory = report[0]["directory"].as_str().context("no directory")?;
    upper_disk::only_file(Path::new(directory))
}
