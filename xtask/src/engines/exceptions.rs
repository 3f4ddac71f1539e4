//! Where msb stands alone, and why. `docs/layer-semantics.md` has every choice.

/// A case, or all that begin so when it ends with `*`, and the reason.
const REASONS: &[(&str, &str)] = &[];

/// Why msb may stand alone in a case.
pub(super) fn reason(case: &str) -> Option<&'static str> {
    let is_meant = |pattern: &str| match pattern.strip_suffix('*') {
        Some(beginning) => case.starts_with(beginning),
        None => case == pattern,
    };
    let found = REASONS.iter().find(|(pattern, _)| is_meant(pattern));
    found.map(|(_, reason)| *reason)
}
