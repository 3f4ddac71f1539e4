use std::collections::BTreeMap;

/// The fields of a tree dump, by path. The root itself is left out: the engines give it to
/// directories that they make themselves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tree {
    /// The further fields of the line, and its time, by path.
    names: BTreeMap<String, (String, String)>,
}

/// Index of the time among the fields of a line.
const TIME: usize = 5;
/// Index of the xattrs among a name's further fields.
const XATTRS: usize = 7;
/// A time that comes from the clock, not from the archive.
const NOW: &str = "now";

impl Tree {
    pub(crate) fn parse(dump: &str) -> Self {
        let mut names = BTreeMap::new();
        for line in dump.lines() {
            let mut fields: Vec<&str> = line.split(' ').collect();
            if fields.len() <= TIME || fields[0] == "/" {
                continue;
            }
            let time = fields.remove(TIME);
            let path = fields.remove(0);
            names.insert(path.to_owned(), (fields.join(" "), time.to_owned()));
        }
        Self { names }
    }

    /// Returns the tree with directories that have no xattrs.
    pub(crate) fn without_directory_xattrs(mut self) -> Self {
        for (fields, _) in self.names.values_mut() {
            let mut parts: Vec<&str> = fields.split(' ').collect();
            if parts.first() == Some(&"d") && parts.len() > XATTRS {
                parts[XATTRS] = "-";
            }
            *fields = parts.join(" ");
        }
        self
    }

    /// Returns true if both trees are equal. A time that comes from the clock is ignored.
    pub(crate) fn agrees(&self, other: &Self) -> bool {
        self.difference(other).is_none()
    }

    /// Returns the first name for which they differ; `None` if they are equal.
    pub(crate) fn difference(&self, other: &Self) -> Option<String> {
        let paths = self.names.keys().chain(other.names.keys());
        let mut paths: Vec<&String> = paths.collect();
        paths.sort_unstable();
        paths.dedup();
        paths.into_iter().find_map(|path| {
            let (one, two) = (self.names.get(path), other.names.get(path));
            let same = match (one, two) {
                (Some((fields, time)), Some((other_fields, other_time))) => {
                    let is_clock = time == NOW || other_time == NOW;
                    fields == other_fields && (is_clock || time == other_time)
                }
                _ => false,
            };
            (!same).then(|| format!("{path}: {} / {}", shown(one), shown(two)))
        })
    }
}

fn shown(of: Option<&(String, String)>) -> String {
    of.map_or_else(
        || "absent".to_owned(),
        |(fields, time)| format!("{fields} @{time}"),
    )
}
