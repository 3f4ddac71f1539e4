/// The most entries of a call's metadata.
pub(crate) const METADATA_MAX: usize = 128;

/// Names and values beside a call's request, such as the namespace of the caller.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Metadata(Vec<(String, String)>);

impl Metadata {
    /// Adds an entry after the others. Several entries can have the same name.
    pub fn insert(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.0.push((name.into(), value.into()));
    }

    /// Returns the first value of a name; `None` if it has no value.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        let mut entries = self.0.iter();
        let entry = entries.find(|(known, _)| known == name);
        entry.map(|(_, value)| value.as_str())
    }

    /// Returns all entries.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let entries = self.0.iter();
        entries.map(|(name, value)| (name.as_str(), value.as_str()))
    }
}
