//! Cases in which msb differs from all engines, with the reasons. `docs/layer-semantics.md` has
//! every choice.

/// Cases and the reason. A pattern that ends with `*` names all cases with that beginning.
const REASONS: &[(&[&str], &str)] = &[
    (
        &["link/later/*", "fidelity/link-later"],
        "a hard link to a later entry is resolved at the layer's end: nothing about it is ambiguous",
    ),
    (
        &[
            "sparse/gnu/*",
            "fidelity/sparse-*",
            "tar-rs/sparse*",
            "astral-tokio-tar/sparse*",
            "libarchive/test_read_format_gtar_sparse_*",
            "go/gnu-nil-sparse-*",
            "go/sparse-formats.tar",
        ],
        "sparse files are read as GNU tar reads them: nothing about them is ambiguous",
    ),
    (
        &["compression/gzip/zeros-after", "fidelity/gzip"],
        "zeros behind the last gzip member are padding, to gzip as to msb",
    ),
    (
        &[
            "whiteout/opaque-implied-after",
            "whiteout/whiteout-implied-after",
            "whiteout/whiteout-then-link",
        ],
        "a marker acts on the layers below alone, wherever it stands",
    ),
    (
        &["whiteout/through-lower-loop"],
        "a marker whose way leads nowhere removes nothing",
    ),
    (
        &[
            "whiteout/aufs-directory",
            "whiteout-alone/aufs-directory",
            "fidelity/aufs",
        ],
        "what AUFS left behind is no part of an image",
    ),
    (
        &[
            "whiteout/user-opaque",
            "whiteout-alone/user-opaque",
            "fidelity/instructions",
        ],
        "xattrs that instruct an overlayfs are dropped, those of user.overlay.* too",
    ),
    (
        &[
            "pax/uid-*",
            "fidelity/uid-33",
            "header/uid/base-256-*",
            "header/gid/base-256-*",
            "header/devmajor/base-256-*",
            "header/devminor/base-256-*",
        ],
        "owners past 32 bits, which wrap to another's, are refused; so are device numbers that no kernel has",
    ),
    (
        &[
            "pax/libarchive-*",
            "fidelity/libarchive",
            "libarchive/test_pax_xattr_header_libarchive.tar",
        ],
        "LIBARCHIVE.xattr.* is read, and refused where it says nothing",
    ),
    (
        &["pax/xattr-bare"],
        "an xattr without a name is dropped with a note, as others that no kernel takes",
    ),
    (
        &["fidelity/garbage-much"],
        "what stands behind an archive's end has a limit",
    ),
];

/// Returns the reason for which msb may differ in a case; `None` if there is none.
pub(super) fn reason(case: &str) -> Option<&'static str> {
    let is_meant = |pattern: &str| match pattern.strip_suffix('*') {
        Some(beginning) => case.starts_with(beginning),
        None => case == pattern,
    };
    let found = REASONS
        .iter()
        .find(|(patterns, _)| patterns.iter().any(|pattern| is_meant(pattern)));
    found.map(|(_, reason)| *reason)
}
