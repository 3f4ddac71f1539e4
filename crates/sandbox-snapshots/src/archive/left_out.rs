use std::fmt;

/// A part of the exported sandbox that the imported one does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LeftOut {
    /// The part, as a phrase in the singular.
    pub(super) what: String,
    remedy: &'static str,
}

impl LeftOut {
    /// Returns an option that a sandbox gets when it is created.
    pub(super) const fn option(what: String) -> Self {
        Self {
            what,
            remedy: "give it again with msb run --from",
        }
    }

    /// Returns the rules of a staged directory that let changes out.
    pub(super) fn rules(target: &str) -> Self {
        Self {
            what: format!("each rule of {target} that lets changes out"),
            remedy: "give it again with msb allow",
        }
    }
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} was left out: {}", self.what, self.remedy)
    }
}
