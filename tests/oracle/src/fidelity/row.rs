use testkit::{TarBuilder, TarEntry};

use test_support::oci_layout::Blob;

/// A case of layer semantics with its right answer.
pub(super) struct Row {
    /// The row's directory in the image that rows share.
    pub(super) id: &'static str,
    /// A description of the image's content.
    pub(super) case: &'static str,
    /// The right result, in words.
    pub(super) right: &'static str,
    pub(super) image: fn(&At) -> Image,
    pub(super) answer: Answer,
    /// Names of the row that overlayfs hides, so that the guest lacks them.
    pub(super) hidden: &'static [&'static str],
    /// True if the row takes minutes: it is judged when the table is recorded, and on request.
    pub(super) is_large: bool,
}

/// The layers of a row, base first.
pub(super) enum Image {
    /// Entries that are put among those of other rows.
    Shared(Vec<Vec<u8>>),
    /// An image of its own, because the case is about the root or the archive's form.
    Alone(Vec<Blob>),
}

/// The source of the right answer.
pub(super) enum Answer {
    /// The result of `umoci unpack` of the same layers.
    Umoci,
    /// The result of `umoci unpack` of one plain archive that spells the answer out.
    Plain(fn(&At) -> Vec<u8>),
    /// A refusal; the error contains this text.
    Refused(&'static str),
}

impl Row {
    /// Returns a row that umoci answers.
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

    /// Returns a row whose answer is spelled out.
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

    /// Returns a row that is refused with an error that contains `words`.
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

    /// Returns the same row, not judged in every run.
    pub(super) const fn large(mut self) -> Self {
        self.is_large = true;
        self
    }

    /// Returns the directory of the row's names.
    pub(super) fn place(&self) -> At {
        let is_alone = matches!((self.image)(&At::root()), Image::Alone(_));
        if is_alone {
            At::root()
        } else {
            At(format!("{}/", self.id))
        }
    }
}

/// The directory of a row's names: its own, or the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct At(String);

impl At {
    pub(super) fn root() -> Self {
        Self(String::new())
    }

    /// Returns `path` in this directory.
    pub(super) fn path(&self, path: impl AsRef<[u8]>) -> Vec<u8> {
        [self.0.as_bytes(), path.as_ref()].concat()
    }

    /// Returns the entry of the directory itself, with a time that is the same in every run.
    pub(super) fn own(&self) -> TarEntry {
        TarEntry::directory(self.path(".")).mtime(1_000, 0)
    }

    /// Returns a file whose content is its path.
    pub(super) fn file(&self, path: &str) -> TarEntry {
        TarEntry::file(self.path(path), path).mtime(1_700_000_000, 5)
    }

    pub(super) fn file_of(&self, path: &str, content: impl AsRef<[u8]>) -> TarEntry {
        TarEntry::file(self.path(path), content).mtime(1_700_000_001, 0)
    }

    pub(super) fn directory(&self, path: &str) -> TarEntry {
        TarEntry::directory(self.path(path)).mtime(1_700_000_002, 0)
    }

    /// Returns a symlink, with its target unchanged.
    pub(super) fn symlink(&self, path: &str, target: &str) -> TarEntry {
        TarEntry::symlink(self.path(path), target).mtime(1_700_000_003, 0)
    }

    /// Returns a hard link with the attributes that [`At::file`] gives.
    pub(super) fn hardlink(&self, path: &str, target: &str) -> TarEntry {
        TarEntry::hardlink(self.path(path), self.path(target)).mtime(1_700_000_000, 5)
    }

    /// Returns an entry of any type.
    pub(super) fn entry(&self, type_flag: u8, path: &str) -> TarEntry {
        TarEntry::new(type_flag, self.path(path)).mtime(1_700_000_004, 0)
    }
}

/// Returns the entries of a layer, without the end of the archive.
pub(super) fn entries(of: impl IntoIterator<Item = TarEntry>) -> Vec<u8> {
    let mut builder = TarBuilder::default();
    for entry in of {
        builder.entry(&entry);
    }
    builder.unfinished()
}

/// Returns a complete archive of these entries.
pub(super) fn finished(mut entries: Vec<u8>) -> Vec<u8> {
    entries.extend([0; 1024]);
    entries
}

/// Returns an image of one shared layer.
pub(super) fn one(of: impl IntoIterator<Item = TarEntry>) -> Image {
    Image::Shared(vec![entries(of)])
}

/// Returns an image of two shared layers.
pub(super) fn two(
    lower: impl IntoIterator<Item = TarEntry>,
    upper: impl IntoIterator<Item = TarEntry>,
) -> Image {
    Image::Shared(vec![entries(lower), entries(upper)])
}

/// Returns an image of its own, of plain layers.
pub(super) fn alone(layers: impl IntoIterator<Item = Vec<u8>>) -> Image {
    let blob = |layer| Blob::plain(finished(layer));
    Image::Alone(layers.into_iter().map(blob).collect())
}
