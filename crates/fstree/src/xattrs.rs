use std::collections::BTreeMap;
use std::fmt;

/// Extended attributes: values by full name (`user.note`, `security.capability`), sorted by name.
///
/// All attributes are stored in one allocation, which is little more than their names and values: a
/// tree may hold millions.
///
/// ```
/// let mut xattrs = fstree::Xattrs::from_iter([("user.b", "2"), ("user.a", "1")]);
/// assert!(!xattrs.insert(b"user.a", b"one"));
/// assert_eq!(xattrs.get(b"user.a"), Some(&b"one"[..]));
/// assert!(xattrs.names().eq([b"user.a", b"user.b"]));
/// ```
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Xattrs {
    /// The attributes in a row. Each has the length of its name and of its value in bytes, as
    /// little-endian `u32`, followed by the name and the value.
    records: Box<[u8]>,
}

/// An iterator over attributes in the order of their names.
#[derive(Debug, Clone)]
pub struct XattrsIter<'a> {
    rest: &'a [u8],
}

impl Xattrs {
    /// Returns an empty set of attributes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns true if there are no attributes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Returns the number of attributes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.iter().count()
    }

    /// Iterates over names and values, sorted by name.
    #[must_use]
    pub fn iter(&self) -> XattrsIter<'_> {
        XattrsIter {
            rest: &self.records,
        }
    }

    /// Iterates over the names, in bytewise order.
    pub fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.iter().map(|(name, _)| name)
    }

    /// Returns the value of the attribute of this name. `None` if it does not exist.
    #[must_use]
    pub fn get(&self, name: &[u8]) -> Option<&[u8]> {
        let mut pairs = self.iter();
        pairs.find_map(|(found, value)| (found == name).then_some(value))
    }

    /// Returns true if an attribute of this name exists.
    #[must_use]
    pub fn contains(&self, name: &[u8]) -> bool {
        self.get(name).is_some()
    }

    /// Sets an attribute. Returns true if no attribute of this name existed.
    ///
    /// The time grows with the size of all attributes, so many should be collected or added with
    /// `extend`.
    ///
    /// # Panics
    /// The name or the value has 4 GiB or more.
    pub fn insert(&mut self, name: &[u8], value: &[u8]) -> bool {
        let is_new = !self.contains(name);
        self.extend([(name, value)]);
        is_new
    }

    /// Removes an attribute. Returns true if it existed.
    pub fn remove(&mut self, name: &[u8]) -> bool {
        let was_there = self.contains(name);
        self.retain(|found, _| found != name);
        was_there
    }

    /// Keeps the attributes for which `keep` returns true, by name and value.
    pub fn retain(&mut self, mut keep: impl FnMut(&[u8], &[u8]) -> bool) {
        let mut records = Vec::new();
        for (name, value) in self.iter().filter(|(name, value)| keep(name, value)) {
            push(&mut records, name, value);
        }
        if records.len() < self.records.len() {
            self.records = records.into();
        }
    }
}

fn push(records: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    for part in [name, value] {
        let length = u32::try_from(part.len()).expect("an attribute is short");
        records.extend(length.to_le_bytes());
    }
    records.extend(name);
    records.extend(value);
}

impl<'a> Iterator for XattrsIter<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (name_length, rest) = self.rest.split_first_chunk()?;
        let (value_length, rest) = rest.split_first_chunk()?;
        let length = |bytes: &[u8; 4]| u32::from_le_bytes(*bytes) as usize;
        let (name, rest) = rest.split_at_checked(length(name_length))?;
        let (value, rest) = rest.split_at_checked(length(value_length))?;
        self.rest = rest;
        Some((name, value))
    }
}

impl<'a> IntoIterator for &'a Xattrs {
    type Item = (&'a [u8], &'a [u8]);
    type IntoIter = XattrsIter<'a>;

    fn into_iter(self) -> XattrsIter<'a> {
        self.iter()
    }
}

/// If a name occurs twice, its last value is kept.
impl<N: AsRef<[u8]>, V: AsRef<[u8]>> FromIterator<(N, V)> for Xattrs {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Self {
        let mut xattrs = Self::new();
        xattrs.extend(pairs);
        xattrs
    }
}

/// If a name occurs twice, its last value is kept.
impl<N: AsRef<[u8]>, V: AsRef<[u8]>> Extend<(N, V)> for Xattrs {
    fn extend<I: IntoIterator<Item = (N, V)>>(&mut self, pairs: I) {
        let pairs: Vec<(N, V)> = pairs.into_iter().collect();
        let mut by_name: BTreeMap<&[u8], &[u8]> = self.iter().collect();
        by_name.extend(
            pairs
                .iter()
                .map(|(name, value)| (name.as_ref(), value.as_ref())),
        );
        let mut records = Vec::new();
        for (name, value) in by_name {
            push(&mut records, name, value);
        }
        self.records = records.into();
    }
}

impl fmt::Debug for Xattrs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |bytes: &[u8]| bytes.escape_ascii().to_string();
        f.debug_map()
            .entries(self.iter().map(|(name, value)| (shown(name), shown(value))))
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_attributes_are_equal_in_whatever_order_they_came() {
        let one = Xattrs::from_iter([("user.b", "2"), ("user.a", ""), ("user.b", "3")]);
        let mut other = Xattrs::new();
        assert!(other.insert(b"user.b", b"3"));
        assert!(other.insert(b"user.a", b""));
        assert_eq!(one, other);
        assert_eq!(format!("{one:?}"), r#"{"user.a": "", "user.b": "3"}"#);
    }

    #[test]
    fn what_is_removed_is_gone_and_the_rest_stays() {
        let mut xattrs = Xattrs::from_iter([("a", "1"), ("b", "2"), ("c", "3")]);
        assert!(xattrs.remove(b"b"));
        assert!(!xattrs.remove(b"b"));
        xattrs.retain(|name, value| name != b"a" || value != b"1");
        assert_eq!(xattrs, Xattrs::from_iter([("c", "3")]));
        assert_eq!((xattrs.len(), xattrs.is_empty()), (1, false));
        xattrs.retain(|_, _| false);
        assert_eq!(xattrs, Xattrs::new());
    }
}
