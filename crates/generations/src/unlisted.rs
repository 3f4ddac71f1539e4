use std::collections::HashSet;

use crate::GenerationId;
use crate::error::OpenError;
use crate::names;
use crate::names::Role;
use crate::open::read_record;
use crate::pool::Pool;
use crate::sealed::sync_names;
use crate::state::{DiskRecord, State};
use crate::storage::Storage;

impl<S: Storage + Sync> Pool<S> {
    /// Removes the files of generations that neither a disk of the pool nor one of `kept` lists, and
    /// leftovers of processes that ended. Returns the names of the removed files.
    ///
    /// If the record of a disk is damaged, nothing is removed: what it lists is unknown. Disks may be
    /// in use meanwhile, but no merge, fork or adoption may be under way, and `kept` must have every
    /// state that somebody keeps.
    ///
    /// # Errors
    /// If the record of a disk is damaged, or a file cannot be removed.
    pub fn remove_unlisted(&self, kept: &[State]) -> Result<Vec<String>, OpenError> {
        let storage = self.storage.as_ref();
        // The files are listed before the disks: a generation that is new since is not a candidate.
        let names = self.names()?;
        let disks = self.disks()?.into_iter();
        let records = disks.map(|disk| read_record(storage, disk));
        let records: Vec<DiskRecord> = records.collect::<Result<_, _>>()?;
        let removed = unlisted(&names, &records, kept);
        // A record that a killed process renamed is read and may not be durable: until it is, a power
        // cut brings back the one before, with what that lists.
        if !removed.is_empty() {
            sync_names(storage)?;
        }
        for name in &removed {
            crate::sealed::remove(storage, name)?;
        }
        if !removed.is_empty() {
            sync_names(storage)?;
        }
        Ok(removed)
    }
}

/// Returns the files that neither a disk nor a state needs.
fn unlisted(names: &[String], disks: &[DiskRecord], kept: &[State]) -> Vec<String> {
    let states = disks.iter().map(|record| &record.state).chain(kept);
    let sealed = states.flat_map(|state| state.generations.iter().copied());
    let sealed: HashSet<GenerationId> = sealed.collect();
    let heads = disks
        .iter()
        .flat_map(|record| record.head.into_iter().chain([record.next]));
    let heads: HashSet<GenerationId> = heads.collect();
    let is_needed = |role| match role {
        Role::Generation(id) => sealed.contains(&id) || heads.contains(&id),
        Role::Log(id) => heads.contains(&id),
        // A disk that exists may be replacing its record now, and writes over a leftover.
        Role::Disk { disk, .. } => disks.iter().any(|record| record.disk == disk),
    };
    let is_unlisted = |name: &&String| names::role(name).is_some_and(|role| !is_needed(role));
    names.iter().filter(is_unlisted).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DiskId;

    fn generation(number: u8) -> GenerationId {
        GenerationId::from_bytes([number; 16]).expect("not zero")
    }

    #[test]
    fn listed_files_stay_and_others_go() {
        let disk = DiskId::from_bytes([1; 16]).expect("not zero");
        let other = DiskId::from_bytes([2; 16]).expect("not zero");
        let state = |numbers: &[u8]| State {
            size_bytes: 0,
            generations: numbers.iter().copied().map(generation).collect(),
        };
        let record = DiskRecord {
            disk,
            state: state(&[3, 4]),
            head: Some(generation(5)),
            next: generation(6),
        };
        let stay = [
            names::data(generation(3)),
            names::blocks(generation(4)),
            names::log(generation(5)),
            names::data(generation(6)),
            names::data(generation(7)),
            names::unfinished(&names::blocks(generation(7))),
            names::disk(disk),
            names::unfinished(&names::disk(disk)),
            names::lock(disk),
            "lost+found".to_owned(),
            "notes.data".to_owned(),
        ];
        let go = [
            names::log(generation(4)),
            names::data(generation(8)),
            names::unfinished(&names::log(generation(8))),
            names::unfinished(&names::disk(other)),
        ];
        let names: Vec<String> = stay.iter().chain(&go).cloned().collect();
        assert_eq!(unlisted(&names, &[record], &[state(&[3, 7])]), go);
    }
}
