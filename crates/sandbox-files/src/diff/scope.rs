use tree_diff::PathFilter;

/// The changes that a comparison is limited to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangeScope {
    /// The paths, with everything below them; everything if there are none.
    pub paths: Vec<Vec<u8>>,
    /// The patterns that choose among them.
    pub filter: PathFilter,
}

impl From<Vec<Vec<u8>>> for ChangeScope {
    fn from(paths: Vec<Vec<u8>>) -> Self {
        Self {
            paths,
            filter: PathFilter::default(),
        }
    }
}
