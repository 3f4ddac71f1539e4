use std::sync::{Arc, Mutex, PoisonError};

use crate::table::Table;

/// The most tables that a reader keeps: 144 KiB each, for 1 GiB of the plain file.
const TABLES_MAX: usize = 4;

/// The tables that were used last, the newest at the end.
#[derive(Debug, Default)]
pub(crate) struct Tables(Mutex<Vec<(usize, Arc<Table>)>>);

impl Tables {
    /// Returns the table of a section; `None` if it is not kept.
    pub(crate) fn get(&self, section: usize) -> Option<Arc<Table>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let index = kept.iter().position(|(number, _)| *number == section)?;
        if index + 1 < kept.len() {
            let used = kept.remove(index);
            kept.push(used);
        }
        kept.last().map(|(_, table)| Arc::clone(table))
    }

    /// Keeps a table, and drops the one that was not used for the longest time if there are too many.
    pub(crate) fn insert(&self, section: usize, table: &Arc<Table>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(number, _)| *number != section);
        if kept.len() >= TABLES_MAX {
            kept.remove(0);
        }
        kept.push((section, Arc::clone(table)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_that_was_used_last_is_kept() {
        let tables = Tables::default();
        for section in 0..TABLES_MAX {
            tables.insert(section, &Arc::default());
        }
        assert!(tables.get(0).is_some());
        tables.insert(TABLES_MAX, &Arc::default());
        assert!(tables.get(0).is_some());
        assert!(tables.get(1).is_none());
    }
}
