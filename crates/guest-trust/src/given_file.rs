use std::io;

use fstree::{Metadata, ReadAt as _, Segment};
use msb_patches::NewContent;
use serde::{Deserialize, Serialize};
use tar_stream::{ArchiveWriter, EntryHeader, EntryKind};

/// A file that msb puts into a guest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GivenFile {
    /// The path in the sandbox, an absolute one.
    pub path: String,
    /// The 12 permission bits.
    pub mode: u16,
    /// The owner's user id.
    pub uid: u32,
    /// The owner's group id.
    pub gid: u32,
    /// The content.
    pub text: String,
}

impl GivenFile {
    /// Returns the file as a change before the first boot.
    pub(crate) fn into_content(self) -> NewContent {
        NewContent {
            path: self.path,
            bytes: self.text.into_bytes(),
            mode: self.mode,
            owner: (self.uid, self.gid),
        }
    }

    /// Returns the path of the directory that the file is in.
    pub fn directory(&self) -> &str {
        match self.path.rsplit_once('/') {
            None | Some(("", _)) => "/",
            Some((directory, _)) => directory,
        }
    }

    /// Returns the file alone as a tar archive, to be unpacked in its directory.
    ///
    /// # Errors
    /// If the archive cannot be made.
    pub fn archive(&self) -> io::Result<Vec<u8>> {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        let mut metadata = Metadata::with_mode(self.mode);
        (metadata.uid, metadata.gid) = (self.uid, self.gid);
        let header = EntryHeader {
            path: name.as_bytes(),
            kind: EntryKind::Regular,
            link: b"",
            metadata: &metadata,
        };
        let text = self.text.as_bytes();
        let size_bytes = u64::try_from(text.len()).map_err(io::Error::other)?;
        let mut archive = ArchiveWriter::new(Vec::new());
        let segments = Segment::whole_file(size_bytes);
        archive.file(
            &header,
            size_bytes,
            segments,
            &mut |offset_bytes, buffer| text.read_exact_at(buffer, offset_bytes),
        )?;
        archive.finish()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use tar_stream::{ArchiveReader, Limits};

    use super::*;

    fn file(path: &str, text: &str) -> GivenFile {
        GivenFile {
            path: path.to_owned(),
            mode: 0o600,
            uid: 1000,
            gid: 100,
            text: text.to_owned(),
        }
    }

    #[test]
    fn the_archive_has_the_file_alone_with_its_owner() {
        for text in ["", "placeholder", &"x".repeat(100_000)] {
            let archive = file("/home/me/.config/token", text)
                .archive()
                .expect("made");
            let mut archive = ArchiveReader::new(&archive[..], Limits::default());
            let entry = archive.next_entry().expect("read").expect("one");
            assert_eq!(&entry.path[..], b"token");
            let metadata = &entry.metadata;
            assert_eq!(
                (metadata.mode, metadata.uid, metadata.gid),
                (0o600, 1000, 100)
            );
            let mut content = String::new();
            archive
                .content()
                .read_to_string(&mut content)
                .expect("read");
            assert_eq!(content, text);
            assert!(archive.next_entry().expect("read").is_none());
        }
    }

    #[test]
    fn the_directory_of_a_file_is_what_comes_before_its_name() {
        assert_eq!(file("/etc/msb/ca.pem", "").directory(), "/etc/msb");
        assert_eq!(file("/token", "").directory(), "/");
    }
}
