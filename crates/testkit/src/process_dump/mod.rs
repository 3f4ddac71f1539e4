//! Everything that a process can see of its environment at its start, as sorted text.

mod descriptors;
mod files;
mod kernel;
mod mounts;
mod status;

use std::collections::BTreeMap;
use std::fmt;

/// The environment of this process, as paths of values and the values.
///
/// A path such as `descriptor.1.owner` begins with the section. Values that differ between two runs of
/// the same command, such as numbers of inodes, are left out.
#[derive(Debug, Default)]
pub struct ProcessDump {
    values: BTreeMap<String, String>,
}

impl ProcessDump {
    /// Reads the environment of this process. A value that cannot be read has the error's name as its
    /// value, because a process that sees an error sees something else than one that does not.
    #[must_use]
    pub fn of_this_process() -> Self {
        let mut dump = Self::default();
        status::read(&mut dump);
        descriptors::read(&mut dump);
        mounts::read(&mut dump);
        files::read(&mut dump);
        kernel::read(&mut dump);
        dump
    }

    /// Adds a value. A value on several lines becomes one.
    fn set(&mut self, path: impl Into<String>, value: impl fmt::Display) {
        let value = value.to_string().trim().replace('\n', "\\n");
        self.values.insert(path.into(), value);
    }

    /// Adds a value that is read, or the error's name.
    fn set_read<T: fmt::Display>(&mut self, path: impl Into<String>, value: std::io::Result<T>) {
        match value {
            Ok(value) => self.set(path, value),
            Err(error) => self.set(path, name_of(&error)),
        }
    }
}

/// Returns an error's kind, such as `PermissionDenied`. Its text would depend on the C library.
fn name_of(error: &std::io::Error) -> String {
    match error.raw_os_error() {
        Some(code) => format!("{:?} ({code})", error.kind()),
        None => format!("{:?}", error.kind()),
    }
}

/// Returns the words of a line of `/proc`, with single spaces between them.
fn words(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl fmt::Display for ProcessDump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.values
            .iter()
            .try_for_each(|(path, value)| writeln!(f, "{path} = {value}"))
    }
}
