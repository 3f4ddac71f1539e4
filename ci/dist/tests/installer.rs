//! The script that installs an archive, with small archives: good ones, and every kind of bad one.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest as _, Sha256};
use test_fixtures::command::quiet;
use test_fixtures::tools;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/install.sh");

/// A program that answers what the script asks.
const PROGRAM: &str = "#!/bin/sh\ncase $1 in version) echo 'msb 1.2.3' ;; esac\n";

/// A directory with a release, and a prefix to install it to.
struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let place = Self { directory };
        place.release(&[
            ("bin/msb", PROGRAM),
            ("lib/msb/vmlinux", "kernel"),
            ("share/old", "1"),
        ]);
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Makes `msb.tar.gz` of these files, and the digests of it.
    fn release(&self, files: &[(&str, &str)]) {
        let sums: String = files
            .iter()
            .map(|(path, content)| format!("{}  {path}\n", hex::encode(Sha256::digest(content))))
            .collect();
        let mut archive = tar::Builder::new(Vec::new());
        for (path, content) in files.iter().copied().chain([("SHA256SUMS", sums.as_str())]) {
            let mut header = tar::Header::new_ustar();
            header.set_size(content.len() as u64);
            header.set_mode(if path.starts_with("bin/") {
                0o755
            } else {
                0o644
            });
            let path = format!("msb-1/{path}");
            archive
                .append_data(&mut header, path, content.as_bytes())
                .expect("packed");
        }
        let tar = archive.into_inner().expect("packed");
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        std::io::Write::write_all(&mut gzip, &tar).expect("compressed");
        self.write_archive(&gzip.finish().expect("compressed"));
    }

    /// Writes an archive together with its digest.
    fn write_archive(&self, bytes: &[u8]) {
        std::fs::write(self.path("msb.tar.gz"), bytes).expect("written");
        let sum = format!("{}  msb.tar.gz\n", hex::encode(Sha256::digest(bytes)));
        std::fs::write(self.path("SHA256SUMS"), sum).expect("written");
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new("sh");
        command
            .arg(SCRIPT)
            .args(arguments)
            .arg("--prefix")
            .arg(self.path("prefix"));
        command
            .current_dir(self.directory.path())
            .output()
            .expect("sh runs")
    }

    fn install(&self) -> Output {
        self.run(&["msb.tar.gz"])
    }

    /// Returns the error of an installation that leaves nothing behind.
    fn refused(&self) -> String {
        let output = self.install();
        assert!(!output.status.success(), "it was installed");
        assert_eq!(self.installed(), Vec::<String>::new());
        String::from_utf8(output.stderr).expect("text")
    }

    /// Returns the files below the prefix.
    fn installed(&self) -> Vec<String> {
        let mut files = Vec::new();
        let mut open = vec![self.path("prefix")];
        while let Some(directory) = open.pop() {
            for entry in std::fs::read_dir(directory).into_iter().flatten() {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    open.push(path);
                } else {
                    let path = path.strip_prefix(self.path("prefix")).map(Path::to_owned);
                    files.push(path.expect("below the prefix").display().to_string());
                }
            }
        }
        files.sort();
        files
    }
}

const FILES: [&str; 4] = [
    "bin/msb",
    "lib/msb/installed-files",
    "lib/msb/vmlinux",
    "share/old",
];

#[test]
fn an_archive_is_installed_twice_and_removed() {
    let place = Place::new();
    for _ in 0..2 {
        let output = place.install();
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).expect("text");
        assert!(
            text.contains("msb 1.2.3 is installed in") && text.contains("PATH"),
            "{text}"
        );
        assert_eq!(place.installed(), FILES);
    }
    std::fs::write(place.path("prefix/share/other"), "of the user").expect("written");
    let output = place.run(&["--uninstall"]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(place.installed(), ["share/other"]);
    assert!(!place.path("prefix/lib").exists());
    let again = place.run(&["--uninstall"]);
    assert!(String::from_utf8_lossy(&again.stderr).contains("msb is not installed in"));
}

#[test]
fn a_later_release_removes_what_it_no_longer_has() {
    let place = Place::new();
    assert!(place.install().status.success());
    place.release(&[
        ("bin/msb", PROGRAM),
        ("lib/msb/vmlinux", "newer"),
        ("share/new", "2"),
    ]);
    assert!(place.install().status.success());
    let files = [
        "bin/msb",
        "lib/msb/installed-files",
        "lib/msb/vmlinux",
        "share/new",
    ];
    assert_eq!(place.installed(), files);
    let kernel = std::fs::read_to_string(place.path("prefix/lib/msb/vmlinux"));
    assert_eq!(kernel.expect("installed"), "newer");
}

#[test]
fn an_unpacked_archive_installs_itself() {
    let place = Place::new();
    let unpack = ["-xzf", "msb.tar.gz"];
    quiet(
        Command::new("tar")
            .args(unpack)
            .current_dir(place.directory.path()),
    )
    .expect("unpacked");
    let copy = place.path("msb-1/install.sh");
    std::fs::copy(SCRIPT, &copy).expect("copied");
    let mut install = Command::new("sh");
    install.arg(&copy).arg("--prefix").arg(place.path("prefix"));
    quiet(install.current_dir("/")).expect("installed");
    assert_eq!(place.installed(), FILES);
}

#[test]
fn a_truncated_or_foreign_archive_leaves_nothing() {
    let place = Place::new();
    let whole = std::fs::read(place.path("msb.tar.gz")).expect("readable");
    std::fs::write(place.path("msb.tar.gz"), &whole[..whole.len() / 2]).expect("written");
    let error = place.refused();
    assert!(
        error.contains("msb.tar.gz has the SHA-256") && error.contains("download it again"),
        "{error}"
    );
    // A digest of the truncated archive: it cannot be unpacked.
    place.write_archive(&whole[..whole.len() / 2]);
    assert!(place.refused().contains("cannot unpack msb.tar.gz"));
    std::fs::write(place.path("SHA256SUMS"), "").expect("written");
    assert!(
        place
            .refused()
            .contains("the digests have no line for msb.tar.gz")
    );
    std::fs::remove_file(place.path("SHA256SUMS")).expect("removed");
    assert!(place.refused().contains("cannot find SHA256SUMS"));
    std::fs::remove_file(place.path("msb.tar.gz")).expect("removed");
    assert!(place.refused().contains("cannot find msb.tar.gz"));
}

#[test]
fn a_release_that_is_not_one_leaves_nothing() {
    let place = Place::new();
    place.release(&[("share/old", "1")]);
    assert!(
        place
            .refused()
            .contains("msb.tar.gz is not a release of msb")
    );
    let broken = "#!/bin/sh\necho 'GLIBC_2.28 not found' >&2; exit 1\n";
    place.release(&[("bin/msb", broken)]);
    let error = place.refused();
    assert!(
        error.contains("GLIBC_2.28 not found") && error.contains("does not run on this host"),
        "{error}"
    );
    place.release(&[("bin/msb", PROGRAM), ("share/of two words", "1")]);
    assert!(place.refused().contains("damaged"));
}

#[test]
fn a_failed_upgrade_keeps_the_earlier_release() {
    let place = Place::new();
    assert!(place.install().status.success());
    place.write_archive(b"not an archive");
    assert!(!place.install().status.success());
    assert_eq!(place.installed(), FILES);
}

#[test]
fn a_program_that_something_else_installed_is_not_replaced() {
    let place = Place::new();
    std::fs::create_dir_all(place.path("prefix/bin")).expect("made");
    std::fs::write(place.path("prefix/bin/msb"), "another").expect("written");
    let output = place.install();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        error.contains("bin/msb exists, and this script did not install it"),
        "{error}"
    );
    assert_eq!(place.installed(), ["bin/msb"]);
}

#[test]
fn an_argument_that_is_not_known_is_named() {
    let place = Place::new();
    let error = |arguments: &[&str]| {
        let output = place.run(arguments);
        assert!(!output.status.success());
        String::from_utf8(output.stderr).expect("text")
    };
    assert!(error(&["--frobnicate"]).contains("unknown option --frobnicate"));
    assert!(error(&["a", "b"]).contains("one archive"));
    assert!(error(&[]).contains("no archive is given"));
    assert!(error(&["--uninstall", "msb.tar.gz"]).contains("takes only --prefix"));
}

#[test]
fn oracle_shellcheck_finds_no_fault() {
    tools::install_for_releases().expect("shellcheck");
    quiet(Command::new("shellcheck").arg(SCRIPT)).expect("no fault");
}
