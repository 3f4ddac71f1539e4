//! OpenSSH's client at the server, compared with the same client at OpenSSH's server.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

/// OpenSSH's server, of Debian's package openssh-sftp-server.
const OPENSSH: &str = "/usr/lib/openssh/sftp-server";
/// The server of this crate.
const OWN: &str = env!("CARGO_BIN_EXE_sftp-stdio");

/// A session with everything that the client can ask for. A hyphen lets a command fail.
const BATCH: &str = "\
pwd
mkdir made
chmod 700 made
cd made
put local copied
chmod 640 copied
put -p local kept
ln -s copied soft
ln copied hard
rename copied moved
-rename -l moved kept
-get missing
-rmdir ..
get moved back
get -p kept back-kept
-reput local moved
ln -s nowhere dangling
-get dangling
ls -1
mkdir deep
put large deep/large
get deep/large back-large
rm hard
mkdir empty
rmdir empty
-chown 0 moved
-chmod 600 missing
df .
cd ..
-mkdir made
put -R tree made
get -R made/tree back-tree
";

/// Runs the batch with a server in a new directory. Returns what the client printed, and the files.
fn session(server: &str) -> (String, Vec<String>) {
    let directory = tempfile::tempdir().expect("a directory");
    let root = directory.path().join("root");
    fs::create_dir_all(root.join("tree/inner")).expect("made");
    fs::write(root.join("local"), "some text\n").expect("written");
    fs::write(root.join("tree/inner/file"), "inner\n").expect("written");
    symlink("inner/file", root.join("tree/link")).expect("linked");
    let large: Vec<u8> = (0..3_000_001_u32)
        .map(|number| number.to_le_bytes()[1])
        .collect();
    fs::write(root.join("large"), large).expect("written");
    for name in ["local", "large"] {
        let touched = Command::new("touch")
            .args(["-d", "2001-02-03 04:05:06", name])
            .current_dir(&root)
            .status();
        assert!(touched.expect("touch of coreutils").success());
    }
    let mut client = Command::new("sftp")
        .args(["-D", server, "-b", "-", "-q"])
        .current_dir(&root)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("sftp of openssh-client");
    let mut stdin = client.stdin.take().expect("a pipe");
    stdin.write_all(BATCH.as_bytes()).expect("written");
    drop(stdin);
    let output = client.wait_with_output().expect("ended");
    let text = [&output.stdout[..], &output.stderr].concat();
    let text = String::from_utf8_lossy(&text).replace(&root.display().to_string(), "ROOT");
    assert!(output.status.success(), "{server}: {text}");
    let mut files = Vec::new();
    list(&root, Path::new(""), &mut files);
    (without_df(&text), files)
}

/// Removes the numbers of df, which change from one moment to the next.
fn without_df(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.trim_end().ends_with('%'));
    lines.collect::<Vec<_>>().join("\n")
}

/// Lists files with what a client can set.
fn list(root: &Path, path: &Path, files: &mut Vec<String>) {
    let mut names: Vec<_> = fs::read_dir(root.join(path))
        .expect("a directory")
        .map(|entry| path.join(entry.expect("an entry").file_name()))
        .collect();
    names.sort();
    for name in names {
        let full = root.join(&name);
        let data = fs::symlink_metadata(&full).expect("there");
        let content = if data.is_symlink() {
            fs::read_link(&full).expect("a link").display().to_string()
        } else if data.is_file() {
            let bytes = fs::read(&full).expect("read");
            let sum = bytes.iter().fold(0_u64, |sum, &byte| {
                sum.wrapping_mul(31).wrapping_add(byte.into())
            });
            // Times that nobody has set are those of the session.
            let is_old = data.mtime() < 1_000_000_000;
            format!("{} {sum} {is_old}", bytes.len())
        } else {
            String::new()
        };
        files.push(format!(
            "{} {:o} {} {content}",
            name.display(),
            data.mode(),
            data.nlink()
        ));
        if data.is_dir() {
            list(root, &name, files);
        }
    }
}

#[test]
fn oracle_openssh_finds_no_difference_to_its_own_server() {
    let (own_text, own_files) = session(OWN);
    let (text, files) = session(OPENSSH);
    assert_eq!(own_text, text);
    assert_eq!(own_files, files);
    let (moved, dangling) = ("made/moved ", "made/dangling ");
    for name in [moved, dangling] {
        assert!(files.iter().any(|file| file.starts_with(name)), "{files:?}");
    }
}
