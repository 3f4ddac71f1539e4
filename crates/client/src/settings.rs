use std::ffi::OsString;
use std::path::{Path, PathBuf};

use msb_jail::Strictness as Jail;
use msb_sandbox_model::Size;
use msb_vmm::VmmChoice;
use serde::{Deserialize, Serialize};

use crate::{Error, ErrorKind, PackAfter, printable};

/// The default limit of cache files, in bytes: the blocks that starts of some tens of images read.
const PACK_CACHE_BYTES: u64 = 1 << 30;

/// The time at which snapshots are read to take their digests, and parts that no snapshot needs apart are merged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Maintenance {
    /// In the background: soon after a snapshot, a pull, a load or a start.
    #[default]
    Auto,
    /// When a snapshot is verified, or merging or packing is asked for.
    Off,
}

/// The settings of a client, as data. `None` takes the environment's value, or the default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Settings {
    /// The directory of all of msb's data (`MSB_HOME`; `~/.msb`).
    pub home: Option<PathBuf>,
    /// The program `msb` (`MSB_PROGRAM`; beside the running program, or in `PATH`).
    pub program: Option<PathBuf>,
    /// True if `program` is known to be of this build, such as the running program itself.
    /// It is then not asked for its version.
    pub is_own_program: bool,
    /// The guest kernel, a libkrunfw or a vmlinux (`MSB_KERNEL`; libkrunfw in the usual places).
    pub kernel: Option<PathBuf>,
    /// The QEMU program, a path or a name (`MSB_QEMU`).
    pub qemu: Option<PathBuf>,
    /// The directories in which programs are looked up (`PATH`).
    pub search_path: Option<PathBuf>,
    /// The virtual machine monitor (`MSB_VMM`).
    pub vmm: Option<VmmChoice>,
    /// The strictness of the confinement (`MSB_JAIL`).
    pub jail: Option<Jail>,
    /// Limits on the cost of images, as `NAME=VALUE`, separated by commas (`MSB_LIMITS`).
    pub limits: Option<String>,
    /// The limit of the space that all images take (`MSB_STORE_LIMIT`).
    pub store_limit: Option<Size>,
    /// The time of the work on snapshots and on the store of images in the background (`MSB_MAINTENANCE`).
    pub maintenance: Option<Maintenance>,
    /// The time since the last use of an image after which its layers are packed (`MSB_PACK`).
    pub pack: Option<PackAfter>,
    /// The limit of the space that the cache files of packed layers take (`MSB_PACK_CACHE`).
    pub pack_cache: Option<Size>,
    /// File in which the stages of starts are recorded, for measurements.
    pub timeline: Option<PathBuf>,
}

impl Settings {
    /// Returns the settings, completed from the environment.
    ///
    /// # Errors
    /// A variable with a value that cannot be used, or a missing home directory.
    pub fn completed(mut self, variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, Error> {
        let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
        let path = |name: &str| variable(name).map(PathBuf::from);
        let word = |name: &'static str| {
            let text = variable(name).map(|value| value.to_string_lossy().into_owned());
            text.map(|text| (name, text))
        };
        self.home = self.home.or_else(|| path("MSB_HOME"));
        self.program = self.program.or_else(|| path("MSB_PROGRAM"));
        self.kernel = self.kernel.or_else(|| path("MSB_KERNEL"));
        self.qemu = self.qemu.or_else(|| path("MSB_QEMU"));
        self.search_path = self.search_path.or_else(|| path("PATH"));
        if let (None, Some((name, text))) = (self.vmm, word("MSB_VMM")) {
            self.vmm = Some(one_of(name, &text, "auto, krun, qemu")?);
        }
        if let (None, Some((name, text))) = (self.jail, word("MSB_JAIL")) {
            let parsed = text.parse::<Jail>();
            let parsed =
                parsed.map_err(|error| Error::from(error).context(format!("cannot use {name}")))?;
            self.jail = Some(parsed);
        }
        if let (None, Some((name, text))) = (self.maintenance, word("MSB_MAINTENANCE")) {
            self.maintenance = Some(one_of(name, &text, "auto, off")?);
        }
        if let (None, Some((_, text))) = (&self.limits, word("MSB_LIMITS")) {
            self.limits = Some(text);
        }
        if let (None, Some((name, text))) = (self.store_limit, word("MSB_STORE_LIMIT")) {
            let size = text.parse::<Size>();
            let size =
                size.map_err(|error| Error::from(error).context(format!("cannot use {name}")))?;
            self.store_limit = Some(size);
        }
        if let (None, Some((name, text))) = (self.pack, word("MSB_PACK")) {
            let parsed = text.parse::<PackAfter>();
            self.pack = Some(parsed.map_err(|error| {
                Error::new(
                    ErrorKind::InvalidArgument,
                    format!("cannot use {name}: {error}"),
                )
            })?);
        }
        if let (None, Some((name, text))) = (self.pack_cache, word("MSB_PACK_CACHE")) {
            let size = text.parse::<Size>();
            let size =
                size.map_err(|error| Error::from(error).context(format!("cannot use {name}")))?;
            self.pack_cache = Some(size);
        }
        if self.home.is_none() {
            self.home = std::env::home_dir().map(|home| home.join(".msb"));
        }
        Ok(self)
    }

    /// Returns the limit of the space that the cache files of packed layers take.
    pub fn pack_cache(&self) -> Size {
        self.pack_cache.unwrap_or(Size::new(PACK_CACHE_BYTES))
    }

    /// Returns the path of the home, which is absolute.
    ///
    /// # Errors
    /// No home directory, a path that is not UTF-8, or a file in its place.
    pub(crate) fn home_path(&self) -> Result<PathBuf, Error> {
        let root = self.home.as_ref().ok_or_else(|| {
            Error::invalid("this user has no home directory; set MSB_HOME to a directory for msb")
        })?;
        // The processes that run sandboxes may have other working directories.
        let root = std::path::absolute(root).map_err(|error| {
            Error::from(error).context(format!("cannot use {} as MSB_HOME", root.display()))
        })?;
        check_home(&root)?;
        Ok(root)
    }
}

fn one_of<T: serde::de::DeserializeOwned>(
    name: &str,
    text: &str,
    expected: &str,
) -> Result<T, Error> {
    serde_json::from_value(serde_json::Value::from(text)).map_err(|_| {
        let text = printable(text);
        let message = format!("cannot use {name}: '{text}' is not one of {expected}");
        Error::new(ErrorKind::InvalidArgument, message)
    })
}

/// Checks that the path is UTF-8, and that no file is in the home's place. Launch specs are text,
/// and so are the paths that VMMs get.
fn check_home(root: &Path) -> Result<(), Error> {
    let Some(path) = root.to_str() else {
        return Err(Error::invalid(format!(
            "cannot use '{}' as MSB_HOME: the path is not UTF-8; choose another directory",
            root.as_os_str().as_encoded_bytes().escape_ascii()
        )));
    };
    // A home that cannot be inspected may be a good one: its first use says what is wrong.
    match std::fs::metadata(root) {
        Ok(found) if !found.is_dir() => Err(Error::invalid(format!(
            "cannot use {path} as MSB_HOME: it is not a directory; choose another"
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    use super::*;

    fn completed(name: &str, value: &str) -> Result<Settings, Error> {
        Settings::default().completed(|asked| (asked == name).then(|| value.into()))
    }

    #[test]
    fn the_environment_completes_what_was_not_given() {
        let settings = completed("MSB_VMM", "qemu").expect("good");
        assert_eq!(settings.vmm, Some(VmmChoice::Qemu));
        let given = Settings {
            home: Some("/given".into()),
            ..Settings::default()
        };
        let given = given.completed(|name| (name == "MSB_HOME").then(|| "/other".into()));
        assert_eq!(given.expect("good").home, Some("/given".into()));
        assert_eq!(
            completed("MSB_STORE_LIMIT", "").expect("good").store_limit,
            None
        );
    }

    #[test]
    fn a_variable_that_cannot_be_used_is_named() {
        for (name, value) in [
            ("MSB_VMM", "xen"),
            ("MSB_JAIL", "yes"),
            ("MSB_STORE_LIMIT", "lots"),
            ("MSB_PACK", "later"),
            ("MSB_PACK_CACHE", "lots"),
        ] {
            let error = completed(name, value).expect_err(name);
            let begins = format!("cannot use {name}: ");
            assert!(error.message().starts_with(&begins), "{error}");
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        }
    }

    #[test]
    fn a_home_whose_path_is_no_text_is_refused() {
        check_home(Path::new("/home/ä/.msb")).expect("text");
        let refused = check_home(Path::new(OsStr::from_bytes(b"/home/\xff")));
        let error = refused.expect_err("no text");
        assert!(error.message().contains("/home/\\xff"), "{error}");
        assert!(error.message().contains("UTF-8"), "{error}");
    }

    #[test]
    fn a_home_that_is_a_file_is_refused() {
        check_home(Path::new("/")).expect("a directory");
        check_home(Path::new("/nowhere/at/all")).expect("it can be made");
        // It cannot be inspected, which says nothing of what it is.
        check_home(Path::new("/dev/null/below")).expect("its first use tells");
        let error = check_home(Path::new("/dev/null")).expect_err("no directory");
        assert!(error.message().contains("/dev/null"), "{error}");
        assert!(error.message().contains("not a directory"), "{error}");
    }
}
