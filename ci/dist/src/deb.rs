//! The Debian package: an `ar` archive of two tar archives (deb(5)).

use anyhow::Result;

use crate::archive::{gzip, tar};
use crate::release::{DESCRIPTION, GLIBC, HOMEPAGE, MAINTAINER, Release, SUMMARY};
use crate::tree::{DATA, Tree};

/// The version of the package's format.
const FORMAT: &[u8] = b"2.0\n";

/// Returns the name of the package's file.
pub(crate) fn file_name(release: &Release) -> String {
    format!("msb_{}_amd64.deb", release.version)
}

/// Returns the package that installs `files`, whose paths begin with `usr/`.
///
/// # Errors
/// If a path is too long for an archive.
pub(crate) fn package(release: &Release, files: &Tree) -> Result<Vec<u8>> {
    let mut control = Tree::default();
    control.insert("control", DATA, control_file(release, files));
    let packed = |tree: &Tree| gzip(&tar(tree, release.epoch_s)?);
    let members = [
        ("debian-binary", FORMAT.to_vec()),
        // gzip, because the dpkg of Debian 11 does not know zstd.
        ("control.tar.gz", packed(&control)?),
        ("data.tar.gz", packed(files)?),
    ];
    let mut package = ar::Builder::new(Vec::new());
    for (name, bytes) in members {
        let mut header = ar::Header::new(name.as_bytes().to_vec(), bytes.len() as u64);
        header.set_mode(0o100_644);
        header.set_mtime(release.epoch_s);
        package.append(&header, bytes.as_slice())?;
    }
    Ok(package.into_inner()?)
}

/// Returns the control file (deb-control(5)).
fn control_file(release: &Release, files: &Tree) -> String {
    let size_kib = files.size_bytes().div_ceil(1024);
    let version = &release.version;
    // An empty line of the description is a dot, and each line is indented.
    let description = DESCRIPTION.replace('\n', "\n ").replace("\n \n", "\n .\n");
    format!(
        "Package: msb\n\
         Version: {version}\n\
         Architecture: amd64\n\
         Maintainer: {MAINTAINER}\n\
         Installed-Size: {size_kib}\n\
         Depends: libc6 (>= {GLIBC})\n\
         Recommends: qemu-system-x86\n\
         Section: admin\n\
         Priority: optional\n\
         Homepage: {HOMEPAGE}\n\
         Description: {SUMMARY}\n {description}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_control_file_has_no_empty_line() {
        let text = control_file(&Release::of_tests(), &Tree::default());
        assert!(!text.contains("\n\n") && text.ends_with('\n'), "{text}");
        assert!(text.contains("\nRecommends: qemu-system-x86\n"), "{text}");
    }

    #[test]
    fn oracle_dpkg_deb_reads_the_package() {
        let mut files = Tree::default();
        files.insert("usr/bin/msb", crate::tree::PROGRAM, "program");
        let release = Release::of_tests();
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join(file_name(&release));
        fs_err::write(&path, package(&release, &files).expect("packed")).expect("written");
        let read = |option: &str| {
            let mut command = std::process::Command::new("dpkg-deb");
            let output = test_fixtures::command::quiet(command.arg(option).arg(&path));
            String::from_utf8(output.expect("dpkg-deb reads it").stdout).expect("text")
        };
        assert!(read("--info").contains("Package: msb"));
        let contents = read("--contents");
        assert!(
            contents.contains("-rwxr-xr-x root/root") && contents.contains("usr/bin/msb"),
            "{contents}"
        );
    }
}
