use fstree::{InodeId, Name};

use crate::error::InvalidEntry;

/// The prefix of a whiteout's name (OCI image specification, layer.md).
pub(crate) const WHITEOUT_PREFIX: &[u8] = b".wh.";
/// The prefix of AUFS's own names, except for the opaque marker.
const META_PREFIX: &[u8] = b".wh..wh.";
const OPAQUE_NAME: &[u8] = b".wh..wh..opq";

/// The object that an entry's path names.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// The root of the layer, as in `./`.
    Root,
    /// A file, with its parents and its name.
    File(Vec<Name>, Name),
    /// A whiteout `.wh.NAME`, with its parents and the name that it removes.
    Whiteout(Vec<Name>, Name),
    /// An opaque marker `.wh..wh..opq`, with the directory that it applies to.
    Opaque(Vec<Name>),
    /// A file of AUFS such as `.wh..wh.plnk`, or a file in it.
    Aufs,
}

/// The location of an entry: an existing directory and the name in it.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) parent: InodeId,
    pub(crate) name: Name,
}

/// Returns a path's components from the root. `.` and empty ones are left out, `..` removes one.
pub(crate) fn components(path: &[u8]) -> Result<Vec<&[u8]>, InvalidEntry> {
    if path.is_empty() {
        return Err(InvalidEntry::EmptyPath);
    }
    let mut components = Vec::new();
    for component in path.split(|&byte| byte == b'/') {
        match component {
            b"" | b"." => {}
            b".." => {
                components.pop().ok_or(InvalidEntry::LeavesRoot)?;
            }
            name => components.push(name),
        }
    }
    Ok(components)
}

impl Target {
    /// Parses an entry's path and recognises markers.
    pub(crate) fn parse(path: &[u8]) -> Result<Self, InvalidEntry> {
        // An entry without a name stands for the directory into which the archive is unpacked.
        let path = if path.is_empty() { b"." } else { path };
        let mut components = components(path)?;
        let Some(last) = components.pop() else {
            return Ok(Self::Root);
        };
        let is_aufs = |name: &&[u8]| name.starts_with(META_PREFIX) && *name != OPAQUE_NAME;
        if components.iter().chain([&last]).any(is_aufs) {
            return Ok(Self::Aufs);
        }
        let parents = names(&components)?;
        if last == OPAQUE_NAME {
            return Ok(Self::Opaque(parents));
        }
        match last.strip_prefix(WHITEOUT_PREFIX) {
            None => Ok(Self::File(parents, Name::new(last)?)),
            Some(b"" | b"." | b"..") => Err(InvalidEntry::Whiteout),
            Some(name) => Ok(Self::Whiteout(parents, Name::new(name)?)),
        }
    }
}

/// Converts components into names.
pub(crate) fn names(components: &[&[u8]]) -> Result<Vec<Name>, InvalidEntry> {
    let names = components.iter().map(|component| Name::new(component));
    Ok(names.collect::<Result<_, _>>()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_normalised_and_kept_inside() {
        let normalised = |path: &[u8]| components(path).map(|names| names.join(&b'/'));
        let cases: [(&[u8], &[u8]); 6] = [
            (b"a/b", b"a/b"),
            (b"/a//./b/", b"a/b"),
            (b"./", b""),
            (b"/", b""),
            (b"a/../b", b"b"),
            (b"a/..", b""),
        ];
        for (path, expected) in cases {
            assert_eq!(
                normalised(path).as_deref(),
                Ok(expected),
                "{}",
                path.escape_ascii()
            );
        }
        assert_eq!(normalised(b".."), Err(InvalidEntry::LeavesRoot));
        assert_eq!(normalised(b"a/../../b"), Err(InvalidEntry::LeavesRoot));
        assert_eq!(normalised(b""), Err(InvalidEntry::EmptyPath));
    }

    #[test]
    fn markers_are_told_from_files() {
        let parse = |path: &str| Target::parse(path.as_bytes());
        let name = |name: &str| Name::new(name.as_bytes()).expect("valid");
        assert_eq!(
            parse("a/.wh.b"),
            Ok(Target::Whiteout(vec![name("a")], name("b")))
        );
        assert_eq!(parse("a/.wh..wh..opq"), Ok(Target::Opaque(vec![name("a")])));
        assert_eq!(parse(".wh..wh.plnk/1.2"), Ok(Target::Aufs));
        assert_eq!(parse(".wh..wh.aufs"), Ok(Target::Aufs));
        assert_eq!(parse(".whx"), Ok(Target::File(vec![], name(".whx"))));
        assert_eq!(parse(".wh..wh."), Ok(Target::Aufs));
        assert_eq!(
            parse(".wh.a/b"),
            Ok(Target::File(vec![name(".wh.a")], name("b")))
        );
        for path in [".wh.", ".wh..", ".wh...", "a/.wh../"] {
            assert_eq!(parse(path), Err(InvalidEntry::Whiteout), "{path}");
        }
        let long = format!(".wh.{}", "x".repeat(255));
        assert_eq!(parse(&long), Ok(Target::Whiteout(vec![], name(&long[4..]))));
        assert!(parse(&format!("{long}x")).is_err());
    }
}
