use fstree::Name;

use crate::error::{InvalidPath, LongPath};

/// The longest path in an archive, in bytes. It is the limit of a reader of archives.
pub const PATH_MAX_BYTES: usize = 16 << 10;
/// Bytes that an error shows of a path that is too long.
const SHOWN_BYTES: usize = 100;

/// Checks that an archive can have a file at `path`.
///
/// # Errors
/// The path is too long, with the slash that ends a directory's path.
pub fn check_path(path: &[u8]) -> Result<(), LongPath> {
    if path.len() < PATH_MAX_BYTES {
        Ok(())
    } else {
        Err(LongPath {
            start: path[..SHOWN_BYTES].into(),
            limit_bytes: PATH_MAX_BYTES,
        })
    }
}

/// Returns the components of a path in an archive. Leading slashes are ignored, so every path is
/// below the destination.
pub(crate) fn components(path: &[u8]) -> Result<Vec<Name>, InvalidPath> {
    path.split(|&byte| byte == b'/')
        .filter(|component| !matches!(*component, b"" | b"."))
        .map(|component| match component {
            b".." => Err(InvalidPath::Upwards),
            _ => Ok(Name::new(component)?),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_path_is_what_readers_take() {
        let limit_bytes = tar_stream::Limits::default().path_bytes;
        assert_eq!(u64::try_from(PATH_MAX_BYTES), Ok(limit_bytes));
        assert_eq!(check_path(&[b'x'; PATH_MAX_BYTES - 1]), Ok(()));
        assert!(check_path(&[b'x'; PATH_MAX_BYTES]).is_err());
    }

    #[test]
    fn paths_go_down() {
        let shown = |path: &[u8]| {
            components(path).map(|names| names.iter().map(Name::to_string).collect::<Vec<_>>())
        };
        assert_eq!(shown(b"./a//b/."), Ok(vec!["a".into(), "b".into()]));
        assert_eq!(shown(b"/etc"), Ok(vec!["etc".into()]));
        assert_eq!(shown(b"./"), Ok(vec![]));
        assert_eq!(shown(b"a/../b"), Err(InvalidPath::Upwards));
        assert!(shown(b"a\0b").is_err() && shown(&[b'x'; 256]).is_err());
    }
}
