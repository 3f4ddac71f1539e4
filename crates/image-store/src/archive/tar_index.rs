use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use oci_layers::{Limit, Limits};
use tar::{EntryType, Header, PaxExtensions};

use super::error::ArchiveError;
use super::name::normal;

const BLOCK_BYTES: u64 = 512;
/// How many links may lead from a name to a file.
const LINKS_MAX: usize = 8;

/// Where each file of a tar lies.
#[derive(Debug, Default)]
pub(super) struct TarIndex {
    entries: BTreeMap<String, Node>,
}

/// Where a file's bytes lie in the tar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) offset_bytes: u64,
    pub(super) size_bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Node {
    File(Place),
    /// The name that is meant, from the archive's root.
    Link(String),
}

/// What extended headers say of the next entry.
#[derive(Debug, Default)]
struct Extension {
    path: Option<String>,
    link: Option<String>,
    size_bytes: Option<u64>,
}

/// A tar's file and how far it has been scanned.
struct Scan<'a> {
    path: &'a Path,
    file: &'a File,
    limits: &'a Limits,
    length_bytes: u64,
    offset_bytes: u64,
}

impl TarIndex {
    /// Reads all headers. A tar that ends within an entry is an error; one without the two blocks
    /// of zeros at its end is not.
    pub(super) fn read(path: &Path, file: &File, limits: &Limits) -> Result<Self, ArchiveError> {
        let length_bytes = file.metadata().map_err(ArchiveError::Io)?.len();
        let mut scan = Scan {
            path,
            file,
            limits,
            length_bytes,
            offset_bytes: 0,
        };
        let (mut index, mut extension) = (Self::default(), Extension::default());
        while let Some(header) = scan.header()? {
            let entry_type = header.entry_type();
            let own_bytes = header.entry_size().map_err(|_| scan.unknown())?;
            match entry_type {
                EntryType::XHeader => extension.add_pax(&scan.content(own_bytes)?),
                EntryType::GNULongName => extension.path = Some(scan.text(own_bytes)?),
                EntryType::GNULongLink => extension.link = Some(scan.text(own_bytes)?),
                EntryType::XGlobalHeader => {}
                _ => {
                    let size_bytes = if entry_type.is_file() {
                        extension.size_bytes.unwrap_or(own_bytes)
                    } else {
                        own_bytes
                    };
                    let place = Place {
                        offset_bytes: scan.offset_bytes,
                        size_bytes,
                    };
                    index.add(&header, std::mem::take(&mut extension), place);
                    scan.skip(size_bytes)?;
                    scan.check(Limit::ArchiveFiles, index.entries.len())?;
                    continue;
                }
            }
            scan.skip(own_bytes)?;
        }
        Ok(index)
    }

    /// The file of this name, links followed.
    pub(super) fn find(&self, name: &str) -> Option<Place> {
        let mut name = normal(name)?;
        for _ in 0..=LINKS_MAX {
            match self.entries.get(&name)? {
                Node::File(place) => return Some(*place),
                Node::Link(target) => name.clone_from(target),
            }
        }
        None
    }

    /// Later entries replace earlier ones.
    fn add(&mut self, header: &Header, extension: Extension, place: Place) {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let path = extension.path.unwrap_or_else(|| text(&header.path_bytes()));
        let Some(path) = normal(&path) else { return };
        let link = || {
            extension
                .link
                .clone()
                .or_else(|| header.link_name_bytes().map(|name| text(&name)))
        };
        let node = match header.entry_type() {
            EntryType::Regular | EntryType::Continuous => Some(Node::File(place)),
            EntryType::Link => link().and_then(|target| normal(&target)).map(Node::Link),
            EntryType::Symlink => {
                let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
                let target = link().map(|target| match target.strip_prefix('/') {
                    Some(absolute) => absolute.to_owned(),
                    None => format!("{parent}/{target}"),
                });
                target.and_then(|target| normal(&target)).map(Node::Link)
            }
            _ => None,
        };
        if let Some(node) = node {
            self.entries.insert(path, node);
        }
    }
}

impl Extension {
    fn add_pax(&mut self, content: &[u8]) {
        for record in PaxExtensions::new(content).flatten() {
            let (Ok(key), Ok(value)) = (record.key(), record.value()) else {
                continue;
            };
            match key {
                "path" => self.path = Some(value.to_owned()),
                "linkpath" => self.link = Some(value.to_owned()),
                "size" => self.size_bytes = value.parse().ok(),
                _ => {}
            }
        }
    }
}

impl Scan<'_> {
    /// The next header; `None` at the end.
    fn header(&mut self) -> Result<Option<Header>, ArchiveError> {
        if self.offset_bytes == self.length_bytes {
            return Ok(None);
        }
        if self.length_bytes < BLOCK_BYTES {
            return Err(self.unknown());
        }
        let mut header = Header::new_old();
        self.read_at(header.as_mut_bytes())?;
        if header.as_bytes().iter().all(|&byte| byte == 0) {
            return Ok(None);
        }
        let sum = header.as_bytes().iter().enumerate();
        let sum: u32 = sum
            .map(|(index, &byte)| {
                u32::from(if (148..156).contains(&index) {
                    b' '
                } else {
                    byte
                })
            })
            .sum();
        if header.cksum().ok() != Some(sum) {
            return Err(self.unknown());
        }
        self.offset_bytes += BLOCK_BYTES;
        Ok(Some(header))
    }

    /// An extended header's content, which is next.
    fn content(&self, size_bytes: u64) -> Result<Vec<u8>, ArchiveError> {
        let size = usize::try_from(size_bytes).map_err(|_| self.unknown())?;
        self.check(Limit::EntryRecord, size)?;
        if size_bytes > self.length_bytes {
            return Err(self.truncated());
        }
        let mut content = vec![0; size];
        self.read_at(&mut content)?;
        Ok(content)
    }

    fn text(&self, size_bytes: u64) -> Result<String, ArchiveError> {
        let content = self.content(size_bytes)?;
        Ok(String::from_utf8_lossy(&content)
            .trim_end_matches('\0')
            .to_owned())
    }

    fn skip(&mut self, size_bytes: u64) -> Result<(), ArchiveError> {
        let end = self.offset_bytes.checked_add(size_bytes);
        if end.is_none_or(|end| end > self.length_bytes) {
            return Err(self.truncated());
        }
        // The padding of the last entry may be missing.
        let padded = size_bytes.next_multiple_of(BLOCK_BYTES);
        self.offset_bytes = self
            .offset_bytes
            .saturating_add(padded)
            .min(self.length_bytes);
        Ok(())
    }

    fn read_at(&self, buffer: &mut [u8]) -> Result<(), ArchiveError> {
        match self.file.read_exact_at(buffer, self.offset_bytes) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(self.truncated()),
            Err(error) => Err(ArchiveError::Io(error)),
            Ok(()) => Ok(()),
        }
    }

    fn check(&self, limit: Limit, amount: usize) -> Result<(), ArchiveError> {
        let amount = u64::try_from(amount).unwrap_or(u64::MAX);
        let checked = self.limits.check(limit, amount);
        checked.map_err(|source| ArchiveError::Limit {
            path: self.path.to_owned(),
            source,
        })
    }

    fn truncated(&self) -> ArchiveError {
        ArchiveError::Truncated {
            path: self.path.to_owned(),
            length_bytes: self.length_bytes,
        }
    }

    /// What is not a tar's header at the very start is no tar at all.
    fn unknown(&self) -> ArchiveError {
        if self.offset_bytes == 0 {
            return ArchiveError::Unknown {
                path: self.path.to_owned(),
            };
        }
        let (path, offset_bytes) = (self.path.to_owned(), self.offset_bytes);
        ArchiveError::Header { path, offset_bytes }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn entry(builder: &mut tar::Builder<Vec<u8>>, kind: EntryType, name: &str, body: &str) {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(0o644);
        if kind.is_file() {
            header.set_size(body.len() as u64);
            builder
                .append_data(&mut header, name, body.as_bytes())
                .expect("appended");
        } else {
            header.set_size(0);
            builder
                .append_link(&mut header, name, body)
                .expect("appended");
        }
    }

    fn index(bytes: &[u8]) -> Result<TarIndex, ArchiveError> {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(bytes).expect("written");
        TarIndex::read(Path::new("x.tar"), &file, &Limits::default())
    }

    fn sample() -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        entry(
            &mut builder,
            EntryType::Symlink,
            "a/layer.tar",
            "../b/layer.tar",
        );
        entry(&mut builder, EntryType::Regular, "./b/layer.tar", "content");
        entry(&mut builder, EntryType::Link, "c", "b/layer.tar");
        entry(&mut builder, EntryType::Symlink, "loop", "loop");
        entry(&mut builder, EntryType::Symlink, "out", "../../etc/passwd");
        entry(&mut builder, EntryType::Regular, &"d/".repeat(150), "");
        entry(
            &mut builder,
            EntryType::Regular,
            &format!("{}f", "e/".repeat(150)),
            "long",
        );
        builder.into_inner().expect("finished")
    }

    #[test]
    fn names_and_links_lead_to_files() {
        let index = index(&sample()).expect("an index");
        let place = index.find("b/layer.tar").expect("a file");
        assert_eq!(place.size_bytes, 7);
        assert_eq!(index.find("a/layer.tar"), Some(place));
        assert_eq!(index.find("c"), Some(place));
        assert!(index.find(&format!("{}f", "e/".repeat(150))).is_some());
        for name in ["loop", "out", "missing", "", "../b/layer.tar"] {
            assert_eq!(index.find(name), None, "{name}");
        }
    }

    #[test]
    fn cuts_and_other_files_are_told() {
        let whole = sample();
        for length in [1, 100, 511, 513, 1024, 1030] {
            let error = index(&whole[..length]).err();
            let told = match error {
                Some(ArchiveError::Truncated { .. }) => length > 512,
                Some(ArchiveError::Unknown { .. }) => length < 512,
                Some(_) => false,
                None => length % 512 == 0,
            };
            assert!(told, "{length}");
        }
        assert!(matches!(
            index(&[b'x'; 4096]),
            Err(ArchiveError::Unknown { .. })
        ));
        let mut huge = whole;
        huge[512 + 124..512 + 136].copy_from_slice(b"77777777777\0");
        assert!(index(&huge).is_err());
    }
}
