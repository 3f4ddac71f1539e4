use std::collections::BTreeMap;
use std::fmt;

use super::case::Case;

/// Numbers of trees and names that were read, and of the known faults of other readers.
#[derive(Default)]
pub(super) struct Tally {
    trees: u64,
    layered: u64,
    names: u64,
    quirks: BTreeMap<(&'static str, &'static str), u64>,
}

impl Tally {
    pub(super) fn enter(&mut self, case: &Case) {
        self.trees += 1;
        self.layered += u64::from(!case.devices.is_empty());
        self.names += u64::try_from(case.tree.walk().count()).unwrap();
    }

    /// Counts a name or a tree that a known fault of a reader affects.
    pub(super) fn quirk(&mut self, reader: &'static str, what: &'static str) {
        *self.quirks.entry((reader, what)).or_default() += 1;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (trees, layered, names) = (self.trees, self.layered, self.names);
        writeln!(f, "{trees} trees ({layered} in layers), {names} names")?;
        for ((reader, what), times) in &self.quirks {
            writeln!(f, "known, not compared on {times} names: {reader}: {what}")?;
        }
        Ok(())
    }
}
