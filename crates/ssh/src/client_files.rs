use std::io;
use std::path::{Path, PathBuf};

use msb_runtime::is_plain_name;
use thiserror::Error;

use crate::host_key::{DIRECTORY, HostKey};
use crate::{SUFFIX, sandbox_name};

/// The longest name of a host in a configuration, in bytes.
const NAME_MAX: usize = 255;

/// The files that an OpenSSH client of a home's sandboxes reads.
#[derive(Debug, Clone, Copy)]
pub struct ClientFiles<'a> {
    /// The program msb, an absolute path.
    pub program: &'a Path,
    /// The home, an absolute path.
    pub home: &'a Path,
}

/// The reason for which there are no files for a client.
#[derive(Debug, Error)]
pub enum ClientFilesError {
    /// The name is not that of a sandbox.
    #[error("'{}' is not the name of a sandbox", name.escape_debug())]
    Name {
        /// The name.
        name: String,
    },
    /// A path cannot be written in a file of OpenSSH.
    #[error("the path {path:?} cannot be written in a configuration of OpenSSH")]
    Path {
        /// The path.
        path: PathBuf,
    },
    /// A file cannot be written.
    #[error("cannot write {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The key cannot be written as text.
    #[error("cannot write the key of the server as text")]
    Key(#[source] russh::keys::ssh_key::Error),
}

impl ClientFiles<'_> {
    /// Returns the file with the key of the server.
    pub fn known_hosts(&self) -> PathBuf {
        self.home.join(DIRECTORY).join("known_hosts")
    }

    /// Returns the file with the configuration of all sandboxes, which [`install`](Self::install) writes.
    pub fn config_file(&self) -> PathBuf {
        self.home.join(DIRECTORY).join("config")
    }

    /// Returns the configuration of one sandbox, or of all without a name.
    ///
    /// # Errors
    /// If the name is not one, or a path has characters that OpenSSH or the shell would not read as they are.
    pub fn config(&self, name: Option<&str>) -> Result<String, ClientFilesError> {
        let host = match name {
            Some(name) => checked(sandbox_name(name))?,
            None => "*",
        };
        let program = shell_word(self.program)?;
        let home = shell_word(self.home)?;
        let known_hosts = self.known_hosts();
        let known_hosts = written(&known_hosts)?;
        // Clients before OpenSSH 9.6 pass any name to the shell, such as that of a repository's submodule.
        Ok(format!(
            "Host {host}{SUFFIX}\n    \
             User root\n    \
             ProxyCommand {program} --home {home} ssh-proxy '%n'\n    \
             UserKnownHostsFile \"{known_hosts}\"\n    \
             StrictHostKeyChecking yes\n"
        ))
    }

    /// Writes the key of the server where clients read it, unless it is there.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write_known_hosts(&self, key: &HostKey) -> Result<(), ClientFilesError> {
        let text = key.public().to_openssh().map_err(ClientFilesError::Key)?;
        // The fields are the type and the key; a comment would follow them.
        let fields: Vec<&str> = text.split_whitespace().take(2).collect();
        let line = format!("*{SUFFIX} {}\n", fields.join(" "));
        publish(self.known_hosts(), line.as_bytes())
    }

    /// Writes the configuration of all sandboxes, and the key of the server. Returns the configuration's file.
    ///
    /// # Errors
    /// As [`config`](Self::config), or if a file cannot be written.
    pub fn install(&self, key: &HostKey) -> Result<PathBuf, ClientFilesError> {
        let config = self.config(None)?;
        self.write_known_hosts(key)?;
        publish(self.config_file(), config.as_bytes())?;
        Ok(self.config_file())
    }
}

fn publish(path: PathBuf, bytes: &[u8]) -> Result<(), ClientFilesError> {
    durable_files::publish_once(&path, bytes)
        .map_err(|source| ClientFilesError::Io { path, source })
}

/// Returns a name that is neither a pattern nor more than one word or line.
fn checked(name: &str) -> Result<&str, ClientFilesError> {
    let refused = || ClientFilesError::Name {
        name: name.to_owned(),
    };
    is_plain_name(name, NAME_MAX)
        .then_some(name)
        .ok_or_else(refused)
}

/// Returns a path as a configuration has it within double quotes: `%` begins a token, and `${` a variable.
fn written(path: &Path) -> Result<String, ClientFilesError> {
    let text = path.to_str().filter(|text| {
        !text.contains(|character: char| character == '"' || character.is_control())
            && !text.contains("${")
    });
    let refused = || ClientFilesError::Path {
        path: path.to_owned(),
    };
    Ok(text.ok_or_else(refused)?.replace('%', "%%"))
}

/// Returns a path as a word of the shell that runs a `ProxyCommand`.
fn shell_word(path: &Path) -> Result<String, ClientFilesError> {
    let text = written(path)?;
    let is_plain =
        |character: char| character.is_ascii_alphanumeric() || "/._-+%".contains(character);
    if text.chars().all(is_plain) {
        return Ok(text);
    }
    Ok(format!("'{}'", text.replace('\'', r"'\''")))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn files<'a>(program: &'a str, home: &'a str) -> ClientFiles<'a> {
        ClientFiles {
            program: Path::new(program),
            home: Path::new(home),
        }
    }

    #[test]
    fn a_configuration_is_for_one_sandbox_or_for_all() {
        let files = files("/usr/bin/msb", "/home/me/.msb");
        let all = files.config(None).expect("a configuration");
        assert_eq!(
            all,
            "Host *.msb\n    User root\n    \
             ProxyCommand /usr/bin/msb --home /home/me/.msb ssh-proxy '%n'\n    \
             UserKnownHostsFile \"/home/me/.msb/ssh/known_hosts\"\n    \
             StrictHostKeyChecking yes\n"
        );
        for name in ["web", "web.msb"] {
            let one = files.config(Some(name)).expect("a configuration");
            assert!(one.starts_with("Host web.msb\n"), "{one}");
        }
        for name in ["", "*", "a b", "!a", "a\n    ProxyCommand b", "-a"] {
            let refused = files.config(Some(name)).expect_err(name);
            assert!(
                matches!(refused, ClientFilesError::Name { .. }),
                "{refused}"
            );
        }
    }

    #[test]
    fn paths_reach_the_program_as_they_are_or_are_refused() {
        let config = files("/opt/it's 5%/msb", "/h").config(None);
        let config = config.expect("a configuration");
        assert!(config.contains(r"ProxyCommand '/opt/it'\''s 5%%/msb' --home /h "));
        for home in ["/a\"b", "/a\nb", "/${HOME}"] {
            files("/msb", home).config(None).expect_err(home);
        }
    }

    #[test]
    fn a_client_finds_the_key_of_the_home() {
        let home = tempfile::tempdir().expect("a directory");
        let key = HostKey::open(home.path()).expect("a key");
        let files = ClientFiles {
            program: Path::new("/msb"),
            home: home.path(),
        };
        let config = files.install(&key).expect("installed");
        assert_eq!(
            fs::read_to_string(config).expect("read"),
            files.config(None).expect("text")
        );
        let line = fs::read_to_string(files.known_hosts()).expect("read");
        assert!(line.starts_with("*.msb ssh-ed25519 AAAA") && line.ends_with('\n'));
        assert_eq!(line.split(' ').count(), 3);
    }
}
