use testkit::{TarBuilder, TarEntry};

use crate::oci_layout::Blob;

/// A case of layer semantics with the right answer for it.
pub(super) struct Row {
    /// Its directory in the image that all rows share.
    pub(super) id: &'static str,
    /// What an image holds.
    pub(super) case: &'static str,
    /// What msb makes of it, in words.
    pub(super) right: &'static str,
    pub(super) image: fn(&At) -> Image,
    pub(super) answer: Answer,
    /// Names of the row that overlayfs hides, so that the guest lacks them.
    pub(super) hidden: &'static [&'static str],
    /// Takes minutes: judged when the table is recorded, and when asked for.
    pub(super) is_large: bool,
}

/// The layers of a row, base first.
pub(super) enum Image {
    /// Entries, to be put among those of other rows.
    Shared(Vec<Vec<u8>>),
    /// An image of its own, because it says something of the root or of the archive's form.
    Alone(Vec<Blob>),
}

/// Who says what is right.
pub(super) enum Answer {
    /// `umoci unpack` of the same layers.
    Umoci,
    /// `umoci unpack` of one plain archive that spells the answer out.
    Plain(fn(&At) -> Vec<u8>),
    /// Nobody takes the image; the error holds these words.
    Refused(&'static str),
}

impl Row {
    /// A row that umoci answers.
    pub(super) const fn umoci(
        id: &'static str,
        case: &'static str,
        right: &'static str,
        image: fn(&At) -> Image,
    ) -> Self {
        Self {
            id,
            case,
            right,
            image,
            answer: Answer::Umoci,
            hidden: &[],
            is_large: false,
        }
    }

    /// A row whose answer is spelled out.
    pub(super) const fn plain(
        id: &'static str,
        case: &'static str,
        right: &'static str,
        image: fn(&At) -> Image,
        answer: fn(&At) -> Vec<u8>,
    ) -> Self {
        Self {
            id,
            case,
            right,
            image,
            answer: Answer::Plain(answer),
            hidden: &[],
            is_large: false,
        }
    }

    /// A row that is refused with an error that holds `words`.
    pub(super) const fn refused(
        id: &'static str,
        case: &'static str,
        words: &'static str,
        image: fn(&At) -> Image,
    ) -> Self {
        Self {
            id,
            case,
            right: "refused, named",
            image,
            answer: Answer::Refused(words),
            hidden: &[],
            is_large: false,
        }
    }

    /// The same row, not judged in every run.
    pub(super) const fn large(mut self) -> Self {
        self.is_large = true;
        self
    }

    /// Where its names are.
    pub(super) fn place(&self) -> At {
        let is_alone = matches!((self.image)(&At::root()), Image::Alone(_));
        if is_alone {
            At::root()
        } else {
            At(format!("{}/", self.id))
        }
    }
}

/// Where the names of a row are: in a directory of their own, or in the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct At(String);

impl At {
    pub(super) fn root() -> Self {
        Self(String::new())
    }

    /// `path` in this place.
    pub(super) fn path(&self, path: impl AsRef<[u8]>) -> Vec<u8> {
        [self.0.as_bytes(), path.as_ref()].concat()
    }

    /// The directory itself, with a time that does not change from run to run.
    pub(super) fn own(&self) -> TarEntry {
        TarEntry::directory(self.path(".")).mtime(1_000, 0)
    }

    /// A file whose content is its path.
    pub(super) fn file(&self, path: &str) -> TarEntry {
        TarEntry::file(self.path(path), path).mtime(1_700_000_000, 5)
    }

    pub(super) fn file_of(&self, path: &str, content: impl AsRef<[u8]>) -> TarEntry {
        TarEntry::file(self.path(path), content).mtime(1_700_000_001, 0)
    }

    pub(super) fn directory(&self, path: &str) -> TarEntry {
        TarEntry::directory(self.path(path)).mtime(1_700_000_002, 0)
    }

    /// A symlink; its target is left as it is.
    pub(super) fn symlink(&self, path: &str, target: &str) -> TarEntry {
        TarEntry::symlink(self.path(path), target).mtime(1_700_000_003, 0)
    }

    /// A hard link with the attributes that [`At::file`] gives.
    pub(super) fn hardlink(&self, path: &str, target: &str) -> TarEntry {
        TarEntry::hardlink(self.path(path), self.path(target)).mtime(1_700_000_000, 5)
    }

    /// An entry of any type.
    pub(super) fn entry(&self, type_flag: u8, path: &str) -> TarEntry {
        TarEntry::new(type_flag, self.path(path)).mtime(1_700_000_004, 0)
    }
}

/// The entries of a layer, without the end.
pub(super) fn entries(of: impl IntoIterator<Item = TarEntry>) -> Vec<u8> {
    let mut builder = TarBuilder::default();
    for entry in of {
        builder.entry(&entry);
    }
    builder.unfinished()
}

/// A whole archive.
pub(super) fn finished(mut entries: Vec<u8>) -> Vec<u8> {
    entries.extend([0; 1024]);
    entries
}

/// An image of one shared layer.
pub(super) fn one(of: impl IntoIterator<Item = TarEntry>) -> Image {
    Image::Shared(vec![entries(of)])
}

/// An image of two shared layers.
pub(super) fn two(
    lower: impl IntoIterator<Item = TarEntry>,
    upper: impl IntoIterator<Item = TarEntry>,
) -> Image {
    Image::Shared(vec![entries(lower), entries(upper)])
}

/// An image of its own, of plain layers.
pub(super) fn alone(layers: impl IntoIterator<Item = Vec<u8>>) -> Image {
    let blob = |layer| Blob::plain(finished(layer));
    Image::Alone(layers.into_iter().map(blob).collect())
}
