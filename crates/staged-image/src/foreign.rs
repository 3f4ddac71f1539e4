//! Images that another host wrote, of which every byte may be hostile.

use std::fs::File;

use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use erofs_writer::{Image, OpenError, ReadError};

/// A file is no image of staged directories.
#[derive(Debug, thiserror::Error)]
pub enum ForeignImageError {
    /// It is not an EROFS image that msb reads.
    #[error("cannot open it")]
    Open(#[source] OpenError),
    /// Its metadata is corrupt, or too large.
    #[error("cannot read its files")]
    Read(#[source] ReadError),
    /// It lacks a directory.
    #[error("it lacks the directory '{number}'")]
    NoDirectory {
        /// The number of the staged directory.
        number: usize,
    },
}

impl Diagnose for ForeignImageError {
    fn diagnosis(&self) -> Diagnosis {
        let invalid = Diagnosis::new(ErrorKind::InvalidArgument);
        match self {
            Self::Open(OpenError::Io { source, .. }) | Self::Read(ReadError::Io { source, .. }) => {
                source.diagnosis()
            }
            Self::Read(ReadError::Memory { .. }) => invalid.hint(
                "if you trust the archive, raise the limit with MSB_LIMITS=disk-metadata=VALUE",
            ),
            Self::Open(_) | Self::Read(_) | Self::NoDirectory { .. } => invalid,
        }
    }
}

/// Checks that a file is an image of this number of staged directories, whose metadata has about
/// `metadata_bytes` at most. The files' content is not read.
///
/// # Errors
/// If it is something else, or cannot be read.
pub fn check_foreign(
    image: &File,
    directories: usize,
    metadata_bytes: u64,
) -> Result<(), ForeignImageError> {
    let image = Image::open_within(image, metadata_bytes).map_err(ForeignImageError::Open)?;
    let tree = image.read_tree().map_err(ForeignImageError::Read)?;
    for number in 0..directories {
        let found = tree.find(number.to_string().as_bytes());
        if found.is_none_or(|id| tree.directory(id).is_none()) {
            return Err(ForeignImageError::NoDirectory { number });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use path_rules::Rules;

    use super::*;
    use crate::{Source, list};

    #[test]
    fn an_image_without_a_directory_or_with_too_much_metadata_is_refused() {
        let directory = tempfile::tempdir().expect("a directory");
        for number in 0..100 {
            fs_err::write(directory.path().join(number.to_string()), "text").expect("written");
        }
        let source = Source {
            directory: directory.path(),
            rules: &Rules::new(),
        };
        let mut listing = list(&[source]).expect("listed");
        let image = tempfile::tempfile().expect("a file");
        let output = image.try_clone().expect("the same file");
        listing.write_to(output).expect("written");
        check_foreign(&image, 1, 1 << 20).expect("an image");
        let refused = check_foreign(&image, 2, 1 << 20);
        assert!(matches!(
            refused,
            Err(ForeignImageError::NoDirectory { number: 1 })
        ));
        let refused = check_foreign(&image, 1, 1000);
        assert!(matches!(
            refused,
            Err(ForeignImageError::Read(ReadError::Memory { .. }))
        ));
        let other = tempfile::tempfile().expect("a file");
        let refused = check_foreign(&other, 1, 1 << 20);
        assert!(matches!(refused, Err(ForeignImageError::Open(_))));
    }
}
