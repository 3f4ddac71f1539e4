//! The client of msb that a shim uses, and the settings of the node.

use std::io;
use std::path::{Path, PathBuf};

use fs_err as fs;
use msb_sdk::{Error, ErrorKind, Msb, Settings};

/// The settings of the node, in TOML: the fields of [`Settings`].
const FILE: &str = "/etc/msb/containerd.toml";
/// The directory of the node's images and sandboxes, unless the settings or `MSB_HOME` name another one.
const HOME: &str = "/var/lib/msb";

/// Returns the client. What the file does not set comes from the environment, which is containerd's.
///
/// # Errors
/// If the file cannot be read or has a value that cannot be used.
pub(crate) fn client() -> Result<Msb, Error> {
    let mut settings = read(Path::new(FILE))?;
    if settings.home.is_none() && std::env::var_os("MSB_HOME").is_none_or(|home| home.is_empty()) {
        settings.home = Some(PathBuf::from(HOME));
    }
    Msb::with_settings(settings)
}

/// Reads the settings; those of a file that does not exist are the defaults.
fn read(file: &Path) -> Result<Settings, Error> {
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Settings::default()),
        Err(error) => return Err(error.into()),
    };
    toml::from_str(&text).map_err(|error| {
        let (file, line) = (file.display(), error.message());
        Error::new(
            ErrorKind::InvalidArgument,
            format!("cannot use {file}: {line}"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_those_of_the_file_or_the_defaults() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("containerd.toml");
        assert_eq!(read(&file).expect("missing"), Settings::default());
        std::fs::write(&file, "home = \"/srv/msb\"\nvmm = \"qemu\"\n").expect("written");
        let settings = read(&file).expect("valid");
        assert_eq!(settings.home, Some("/srv/msb".into()));
        std::fs::write(&file, "hom = 1\n").expect("written");
        let error = read(&file).expect_err("unknown");
        assert!(error.message().contains("hom"), "{error}");
    }
}
