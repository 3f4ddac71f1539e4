//! The RPM package.

use anyhow::Result;
use rpm::{
    BuildConfig, CompressionType, Dependency, FileOptions, FileOptionsBuilder, PackageBuilder,
};

use crate::release::{DESCRIPTION, GLIBC, HOMEPAGE, LICENCES, Release, SUMMARY};
use crate::tree::{File, Tree};

/// The number of the package among those of one version.
const RELEASE: &str = "1";
/// The host that the package names: the one that made it has no part in its bytes.
const BUILD_HOST: &str = "localhost";

/// Returns the name of the package's file.
pub(crate) fn file_name(release: &Release) -> String {
    format!("msb-{}-{RELEASE}.x86_64.rpm", release.version)
}

/// Returns the package that installs `files`, whose paths begin with `usr/`.
///
/// # Errors
/// If the release's time is before 1970 or after 2106, or a path is not valid.
pub(crate) fn package(release: &Release, files: &Tree) -> Result<Vec<u8>> {
    let config = BuildConfig::v4()
        .compression(CompressionType::Gzip)
        .source_date(u32::try_from(release.epoch_s)?);
    let mut package = PackageBuilder::new("msb", &release.version, LICENCES, "x86_64", SUMMARY);
    package
        .using_config(config)
        .release(RELEASE)
        .description(DESCRIPTION)
        .url(HOMEPAGE)
        .build_host(BUILD_HOST)
        .requires(Dependency::greater_eq("glibc", GLIBC))
        .recommends(Dependency::any("qemu-system-x86-core"));
    // The directories of the package alone: the others belong to the system.
    for directory in files.directories() {
        if directory.split('/').any(|name| name == "msb") {
            let options = FileOptions::dir(format!("/{directory}")).permissions(0o755);
            package.with_dir_entry(options)?;
        }
    }
    for (path, file) in files.files() {
        package.with_file_contents(file.bytes.clone(), options(path, file)?)?;
    }
    let mut bytes = Vec::new();
    package.build()?.write(&mut bytes)?;
    Ok(bytes)
}

fn options(path: &str, file: &File) -> Result<FileOptionsBuilder> {
    let options = FileOptions::new(format!("/{path}")).permissions(u16::try_from(file.mode)?);
    let is_document = path.starts_with("usr/share/doc/") || path.starts_with("usr/share/man/");
    Ok(if is_document { options.doc() } else { options })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_files_give_the_same_bytes() {
        let mut files = Tree::default();
        files.insert("usr/bin/msb", crate::tree::PROGRAM, "program");
        let make = || package(&Release::of_tests(), &files).expect("packed");
        assert_eq!(make(), make());
    }
}
