use fstree::Name;

use crate::error::InvalidPath;

/// The components of a path in an archive. It goes down from the destination, wherever it begins:
/// leading slashes count for nothing.
pub(crate) fn components(path: &[u8]) -> Result<Vec<Name>, InvalidPath> {
    path.split(|&byte| byte == b'/')
        .filter(|component| !matches!(*component, b"" | b"."))
        .map(|component| match component {
            b".." => Err(InvalidPath::Upwards),
            _ => Ok(Name::new(component)?),
        })
        .collect()
}

/// `name` in `directory`, as archives spell it.
pub(crate) fn join(directory: &[u8], name: &[u8]) -> Vec<u8> {
    [directory, b"/", name].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

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
