use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use fs_err as fs;
use serde::Serialize as _;
use serde_json::ser::PrettyFormatter;
use serde_json::{Map, Value, json};

use super::credentials::{Credential, CredentialsError};
use super::docker_config::{FILE, is_of, key};

/// Member of the config that has an entry for each registry.
const AUTHS: &str = "auths";

/// A docker config to change. What is not about the changed registry stays as it is.
#[derive(Debug)]
pub(super) struct DockerConfigFile {
    path: PathBuf,
}

impl DockerConfigFile {
    /// Returns the config in a directory. If it is a symlink, its target is changed, as by docker.
    pub(super) fn at(directory: &Path) -> Result<Self, CredentialsError> {
        let path = directory.join(FILE);
        match fs::canonicalize(&path) {
            Ok(path) => Ok(Self { path }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self { path }),
            Err(error) => Err(CredentialsError::Io(error)),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Sets the entry of a registry; an empty one if its credential is kept elsewhere.
    pub(super) fn keep(
        &self,
        registry: &str,
        credential: Option<&Credential>,
    ) -> Result<(), CredentialsError> {
        let _lock = self.lock()?;
        let mut config = self.read()?;
        let auths = self.auths(&mut config)?;
        // An older entry under another form of the name would be found in its place.
        auths.retain(|key, _| !is_of(key, registry));
        let entry = match credential {
            None => json!({}),
            Some(Credential::IdentityToken(token)) => json!({"identitytoken": token}),
            Some(Credential::Password { username, password }) => {
                json!({"auth": STANDARD.encode(format!("{username}:{password}"))})
            }
        };
        auths.insert(key(registry).to_owned(), entry);
        self.write(&config)
    }

    /// Removes the entries of a registry. Returns false if there are none; nothing is written then.
    pub(super) fn forget(&self, registry: &str) -> Result<bool, CredentialsError> {
        if !fs::exists(&self.path).map_err(CredentialsError::Io)? {
            return Ok(false);
        }
        let _lock = self.lock()?;
        let mut config = self.read()?;
        if !config.contains_key(AUTHS) {
            return Ok(false);
        }
        let auths = self.auths(&mut config)?;
        let before = auths.len();
        auths.retain(|key, _| !is_of(key, registry));
        if auths.len() == before {
            return Ok(false);
        }
        self.write(&config)?;
        Ok(true)
    }

    /// Waits until no other msb changes the config, and keeps others from it. Docker locks nothing,
    /// so the lock is on the directory, where it leaves no file.
    fn lock(&self) -> Result<File, CredentialsError> {
        let directory = self.path.parent().unwrap_or(Path::new("/"));
        durable_files::ensure_directory(directory).map_err(CredentialsError::Io)?;
        let file = fs::File::open(directory).map_err(CredentialsError::Io)?;
        let file = file.into_parts().0;
        // On a filesystem without locks the config is changed as docker does it.
        let _ = file.lock();
        Ok(file)
    }

    fn read(&self) -> Result<Map<String, Value>, CredentialsError> {
        match fs::read(&self.path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|source| CredentialsError::Parse {
                path: self.path.clone(),
                source,
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Map::new()),
            Err(error) => Err(CredentialsError::Io(error)),
        }
    }

    fn auths<'a>(
        &self,
        config: &'a mut Map<String, Value>,
    ) -> Result<&'a mut Map<String, Value>, CredentialsError> {
        let auths = config.entry(AUTHS).or_insert_with(|| json!({}));
        auths.as_object_mut().ok_or(CredentialsError::Member {
            path: self.path.clone(),
            member: AUTHS,
        })
    }

    /// Writes the config as docker does, with tabs. Only its owner can read it.
    fn write(&self, config: &Map<String, Value>) -> Result<(), CredentialsError> {
        let mut text = Vec::new();
        let formatter = PrettyFormatter::with_indent(b"\t");
        let mut serializer = serde_json::Serializer::with_formatter(&mut text, formatter);
        let written = config
            .serialize(&mut serializer)
            .map_err(io::Error::from)
            .and_then(|()| durable_files::publish_bytes(&self.path, &text));
        written.map_err(|source| CredentialsError::Write {
            path: self.path.clone(),
            source,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn password(word: &str) -> Credential {
        Credential::Password {
            username: "user".to_owned(),
            password: word.to_owned(),
        }
    }

    fn parsed(path: &Path) -> Value {
        serde_json::from_slice(&fs::read(path).expect("read")).expect("a config")
    }

    #[test]
    fn logins_at_the_same_instant_keep_all_passwords() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = DockerConfigFile::at(directory.path()).expect("a config");
        std::thread::scope(|scope| {
            for number in 0..16 {
                let file = &file;
                scope.spawn(move || {
                    let registry = format!("r{number}.io");
                    file.keep(&registry, Some(&password("p"))).expect("kept");
                });
            }
        });
        let config = parsed(file.path());
        assert_eq!(config["auths"].as_object().expect("entries").len(), 16);
    }

    #[test]
    fn an_entry_comes_and_goes_and_the_rest_stays() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join(FILE);
        let before = json!({
            "auths": {"https://ghcr.io/v2/": {"auth": "b2xk"}, "other.io": {"auth": "eA=="}},
            "HttpHeaders": {"X": "y"}, "plugins": [1, {"n": null}], "detachKeys": "ctrl-e,e",
        });
        fs::write(&path, before.to_string()).expect("written");
        fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).expect("set");
        let file = DockerConfigFile::at(directory.path()).expect("a config");
        file.keep("ghcr.io", Some(&password("p\u{e4}:w")))
            .expect("kept");
        let mut expected = before.clone();
        expected["auths"] =
            json!({"ghcr.io": {"auth": "dXNlcjpww6Q6dw=="}, "other.io": {"auth": "eA=="}});
        assert_eq!(parsed(&path), expected);
        let mode = fs::metadata(&path).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);

        assert!(file.forget("ghcr.io").expect("removed"));
        expected["auths"] = json!({"other.io": {"auth": "eA=="}});
        assert_eq!(parsed(&path), expected);
        assert!(!file.forget("ghcr.io").expect("nothing"));
        let names = fs::read_dir(directory.path()).expect("listed").count();
        assert_eq!(names, 1, "no unfinished file is left");
    }

    #[test]
    fn entries_for_some_repositories_of_the_registry_stay() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join(FILE);
        let team = json!({"auth": "eA=="});
        let before = json!({"auths": {"quay.io/team": team, "https://quay.io/v2/": team}});
        fs::write(&path, before.to_string()).expect("written");
        let file = DockerConfigFile::at(directory.path()).expect("a config");
        file.keep("quay.io", None).expect("kept");
        let kept = json!({"auths": {"quay.io/team": team, "quay.io": {}}});
        assert_eq!(parsed(&path), kept);
        assert!(file.forget("quay.io").expect("removed"));
        assert_eq!(parsed(&path), json!({"auths": {"quay.io/team": team}}));
        assert!(!file.forget("quay.io").expect("nothing"));
    }

    #[test]
    fn a_config_is_made_where_none_is_and_followed_where_it_leads() {
        let directory = tempfile::tempdir().expect("a directory");
        let below = directory.path().join("a/b");
        let file = DockerConfigFile::at(&below).expect("a config");
        assert!(!file.forget("docker.io").expect("nothing"));
        assert!(!below.exists());
        file.keep("docker.io", Some(&password("p"))).expect("kept");
        let key = "https://index.docker.io/v1/";
        assert!(parsed(file.path())["auths"][key]["auth"].is_string());

        let link = directory.path().join(FILE);
        fs::os::unix::fs::symlink("a/b/config.json", &link).expect("linked");
        let linked = DockerConfigFile::at(directory.path()).expect("a config");
        linked.keep("ghcr.io", None).expect("kept");
        assert!(link.is_symlink());
        assert_eq!(parsed(file.path())["auths"]["ghcr.io"], json!({}));
    }

    #[test]
    fn a_config_that_is_not_docker_s_is_left_as_it_is() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join(FILE);
        for text in ["[]", "{\"auths\":[]}", "", "{\"auths\":{}} x"] {
            fs::write(&path, text).expect("written");
            let file = DockerConfigFile::at(directory.path()).expect("a path");
            let error = file.keep("ghcr.io", None).expect_err(text);
            assert!(error.to_string().contains("config.json"), "{error}");
            assert_eq!(fs::read_to_string(&path).expect("read"), text);
        }
    }
}
