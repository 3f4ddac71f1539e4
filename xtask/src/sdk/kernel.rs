//! The packages of the guest kernel.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};
use test_fixtures::command::quiet;
use test_fixtures::kernel::{DebianKernel, debian};
use test_fixtures::paths;

use super::copy_file;

/// The licences in the package, by their names in Debian.
const LICENCES: [&str; 2] = ["GPL-2", "LGPL-2.1"];

/// Adds the kernel at `library` to a package, and its licences and the offer of its sources.
pub(super) fn add_to(package: &Path, library: &Path) -> Result<()> {
    let kernel = debian()?;
    copy_file(&kernel.library, &package.join(library))?;
    for name in LICENCES {
        let licence = Path::new("/usr/share/common-licenses").join(name);
        copy_file(&licence, &package.join("LICENSES").join(name))?;
    }
    copy_file(&kernel.copyright, &package.join("LICENSES/copyright"))?;
    let template = fs::read_to_string(paths::root().join("sdk/kernel/SOURCE.md"))?;
    fs::write(package.join("SOURCE.md"), source_offer(&template, &kernel)?)?;
    Ok(())
}

/// Returns the template with the values of Debian's package.
fn source_offer(template: &str, kernel: &DebianKernel) -> Result<String> {
    let field = |name: &str| -> Result<String> {
        let output = quiet(
            Command::new("dpkg-deb")
                .arg("-f")
                .arg(&kernel.archive)
                .arg(name),
        )?;
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    };
    let digest = quiet(Command::new("sha256sum").arg(&kernel.library))?;
    let digest = String::from_utf8(digest.stdout)?;
    let (package, version, source) = (field("Package")?, field("Version")?, field("Source")?);
    // The version of the source stands behind its name if it differs: "libkrunfw (5.5.0+ds-1)".
    let (source, source_version) = source.split_once(" (").unwrap_or((&source, &version));
    let values = [
        ("@FILE@", file_name(&kernel.library)?),
        ("@SHA256@", digest.split(' ').next().unwrap_or_default()),
        (
            "@PACKAGE@",
            if package.is_empty() { source } else { &package },
        ),
        ("@VERSION@", &version),
        ("@ARCHITECTURE@", &field("Architecture")?),
        (
            "@SOURCE@",
            if source.is_empty() { &package } else { source },
        ),
        ("@SOURCE_VERSION@", source_version.trim_end_matches(')')),
        ("@REPOSITORY@", env!("CARGO_PKG_REPOSITORY")),
    ];
    let fill = |text: String, (name, value): &(&str, &str)| text.replace(name, value);
    Ok(values.iter().fold(template.to_owned(), fill))
}

fn file_name(path: &Path) -> Result<&str> {
    let name = path.file_name().and_then(|name| name.to_str());
    name.context("a kernel without a file name")
}
