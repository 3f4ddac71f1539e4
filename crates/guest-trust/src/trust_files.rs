use std::io;
use std::path::Path;

use durable_files::publish_bytes;
use fs_err as fs;

use crate::{AuthorityFiles, GivenBundle, GivenFile};

/// The name of the list of files in a sandbox's directory that its guest is given at each start.
pub const GIVEN: &str = "given.json";
/// The name of the description of the bundle in a sandbox's directory that its guest was given.
pub const GIVEN_BUNDLE: &str = "bundle.json";

/// The files in a sandbox's directory that what its programs trust depends on. Forks have the same ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustFiles {
    /// The sandbox's authority; `None` if it has neither secrets nor rules for requests.
    pub authority: Option<AuthorityFiles>,
    /// The files that the guest is given at each start, because its disk was there before the sandbox.
    pub given: Vec<GivenFile>,
    /// The bundle that the guest was given; `None` if it was given none.
    pub bundle: Option<GivenBundle>,
}

impl TrustFiles {
    /// Reads the files of a sandbox.
    ///
    /// # Errors
    /// If a file cannot be read, or an authority lacks its key.
    pub fn read(directory: &Path) -> io::Result<Self> {
        Ok(Self {
            authority: AuthorityFiles::read(directory)?,
            given: Self::read_given(directory)?,
            bundle: Self::read_bundle(directory)?,
        })
    }

    /// Reads the description of the bundle that the guest of a sandbox was given; `None` if it was given none.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn read_bundle(directory: &Path) -> io::Result<Option<GivenBundle>> {
        match fs::read(directory.join(GIVEN_BUNDLE)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            json => Ok(Some(serde_json::from_slice(&json?)?)),
        }
    }

    /// Reads the files that the guest of a sandbox is given.
    ///
    /// # Errors
    /// If their list cannot be read.
    pub fn read_given(directory: &Path) -> io::Result<Vec<GivenFile>> {
        match fs::read(directory.join(GIVEN)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            json => Ok(serde_json::from_slice(&json?)?),
        }
    }

    /// Writes the files durably into the directory of a new sandbox.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn write(&self, directory: &Path) -> io::Result<()> {
        if let Some(authority) = &self.authority {
            authority.write(directory)?;
        }
        if !self.given.is_empty() {
            let json = serde_json::to_vec(&self.given)?;
            publish_bytes(&directory.join(GIVEN), &json)?;
        }
        if let Some(bundle) = &self.bundle {
            let json = serde_json::to_vec(bundle)?;
            publish_bytes(&directory.join(GIVEN_BUNDLE), &json)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use msb_secrets::HostPattern;

    use super::*;

    #[test]
    fn the_files_of_a_sandbox_are_read_as_they_were_written() {
        let directory = tempfile::tempdir().expect("a directory");
        let read = || TrustFiles::read(directory.path()).expect("read");
        let nothing = TrustFiles::default();
        nothing.write(directory.path()).expect("nothing to write");
        assert_eq!(fs::read_dir(directory.path()).expect("listed").count(), 0);
        assert_eq!(read(), nothing);
        let hosts: [HostPattern; 1] = ["*.example.com".parse().expect("hosts")];
        let files = TrustFiles {
            authority: Some(AuthorityFiles::create(&hosts).expect("made")),
            given: vec![GivenFile {
                path: "/etc/msb/ca.pem".to_owned(),
                mode: 0o644,
                uid: 0,
                gid: 0,
                text: "certificates".to_owned(),
            }],
            bundle: Some(GivenBundle::of(b"certificates")),
        };
        files.write(directory.path()).expect("written");
        assert_eq!(read(), files);
        fs::write(directory.path().join(GIVEN), "[{}]").expect("written");
        assert!(TrustFiles::read(directory.path()).is_err());
    }
}
