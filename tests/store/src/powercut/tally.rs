use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use super::judge::{Fault, Verdict};
use super::log::Entry;
use super::replay::{Loss, Point};

/// The result of a replay.
#[derive(Debug)]
pub(super) struct Tally {
    writes: usize,
    flushes: usize,
    commands: usize,
    recorded_in: Duration,
    replayed_in: Duration,
    points: BTreeMap<Loss, u32>,
    /// Number of points with a fault of each kind.
    faults: BTreeMap<Fault, u32>,
    faulty_points: u32,
    mended_points: u32,
}

impl Tally {
    /// Returns a tally of a recording, without points.
    pub(super) fn new(entries: &[Entry], recorded_in: Duration) -> Self {
        let count =
            |is_one: fn(&Entry) -> bool| entries.iter().filter(|entry| is_one(entry)).count();
        Self {
            writes: count(|entry| matches!(entry, Entry::Write(_))),
            flushes: count(|entry| *entry == Entry::Flush),
            commands: count(|entry| matches!(entry, Entry::Mark(mark) if mark.starts_with("end "))),
            recorded_in,
            replayed_in: Duration::ZERO,
            points: BTreeMap::new(),
            faults: BTreeMap::new(),
            faulty_points: 0,
            mended_points: 0,
        }
    }

    /// Adds a point to the tally.
    pub(super) fn count(&mut self, point: &Point, verdict: &Verdict) {
        let faults = &verdict.faults;
        *self.points.entry(point.loss).or_default() += 1;
        self.mended_points += u32::from(verdict.mended);
        self.faulty_points += u32::from(!faults.is_empty());
        for fault in Fault::ALL {
            let found = faults.iter().any(|(found, _)| *found == fault);
            *self.faults.entry(fault).or_default() += u32::from(found);
        }
    }

    pub(super) fn replayed_in(&mut self, replayed_in: Duration) {
        self.replayed_in = replayed_in;
    }

    /// Returns the number of points with any fault.
    pub(super) fn faulty_points(&self) -> u32 {
        self.faulty_points
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} points (", self.points.values().sum::<u32>())?;
        for (index, (loss, count)) in self.points.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(out, "{comma}{} {count}", loss.name())?;
        }
        write!(out, ")")?;
        for fault in Fault::ALL {
            let count = self.faults.get(&fault).copied().unwrap_or_default();
            write!(out, ", {count} {}", fault.name())?;
        }
        write!(
            out,
            ", {} superblocks mended; {} writes, {} flushes, {} commands; recorded in {} s, replayed in {} s",
            self.mended_points,
            self.writes,
            self.flushes,
            self.commands,
            self.recorded_in.as_secs(),
            self.replayed_in.as_secs()
        )
    }
}
