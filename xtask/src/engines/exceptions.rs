//! Where msb stands alone, and why. `docs/layer-semantics.md` has every choice.

/// A case, or all that begin so when it ends with `*`, and the reason.
const REASONS: &[(&str, &str)] = &[
    (
        "link/later/*",
        "a hard link to a later entry is resolved at the layer's end: nothing about it is ambiguous",
    ),
    (
        "fidelity/link-later",
        "a hard link to a later entry is resolved at the layer's end: nothing about it is ambiguous",
    ),
    (
        "whiteout/opaque-implied-after",
        "an opaque marker acts on the layers below alone, wherever it stands",
    ),
    (
        "whiteout/whiteout-implied-after",
        "a whiteout acts on the layers below alone, wherever it stands",
    ),
    (
        "sparse/gnu/*",
        "GNU sparse files are read as GNU tar reads them: nothing about them is ambiguous",
    ),
    (
        "fidelity/sparse-gnu",
        "GNU sparse files are read as GNU tar reads them: nothing about them is ambiguous",
    ),
    (
        "compression/gzip/zeros-after",
        "zeros behind the last gzip member are padding, to gzip as to msb",
    ),
    (
        "fidelity/gzip",
        "zeros behind the last gzip member are padding, to gzip as to msb",
    ),
];

/// Why msb may stand alone in a case.
pub(super) fn reason(case: &str) -> Option<&'static str> {
    let is_meant = |pattern: &str| match pattern.strip_suffix('*') {
        Some(beginning) => case.starts_with(beginning),
        None => case == pattern,
    };
    let found = REASONS.iter().find(|(pattern, _)| is_meant(pattern));
    found.map(|(_, reason)| *reason)
}
