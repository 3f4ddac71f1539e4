//! The events of a journal, replayed.
//!
//! The commands are a tree: the parent of a command is the newest one whose changes the files had when it
//! started. A rollback leads back to a command, and the next one branches off there. The commands from the
//! current one to the root are those whose changes the files have; all others are undone.

use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;

use crate::entry::{Entry, NextState};
use crate::event::{Event, Line};

/// The most commands of a history, the newest ones.
const ENTRIES_MAX: usize = 10_000;

/// The commands of a sandbox, as its journal has them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct History {
    entries: Vec<Entry>,
    damaged: Vec<DamagedLine>,
    damaged_count: usize,
    /// The indexes of the commands whose changes the files have, the newest first.
    pub(crate) done: Vec<usize>,
    /// The snapshots that were taken, the oldest first; `None` for one that is not what its name means any more.
    states: Vec<Option<String>>,
}

/// A line of a journal that is not what was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DamagedLine {
    /// The beginning of the line. Bytes that are not UTF-8 are replaced; the rest may be anything.
    pub text: String,
}

/// A replay of events.
#[derive(Default)]
struct Replay {
    nodes: Vec<Node>,
    by_number: HashMap<u64, usize>,
    /// The newest command whose changes the files have.
    head: Option<usize>,
    of_snapshots: HashMap<String, Kept>,
    states: Vec<Option<String>>,
    /// The head after each event, with its time in seconds since the epoch.
    heads: Vec<(i64, Option<usize>)>,
    /// The commands whose end was not seen yet.
    running: Vec<usize>,
}

/// The files that a snapshot has.
#[derive(Debug, Clone, Copy)]
struct Kept {
    /// The newest command whose changes they have.
    head: Option<usize>,
    /// The index of the snapshot's name.
    state: usize,
}

struct Node {
    entry: Entry,
    parent: Option<usize>,
    is_withdrawn: bool,
}

impl History {
    /// Returns the commands, the oldest first.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns damaged lines, at most 200; [`damaged_count`](Self::damaged_count) is the number of all.
    #[must_use]
    pub fn damaged(&self) -> &[DamagedLine] {
        &self.damaged
    }

    /// Returns the number of damaged lines.
    #[must_use]
    pub const fn damaged_count(&self) -> usize {
        self.damaged_count
    }

    /// Returns the next state after a command that is kept. `exists` returns true if a snapshot exists.
    #[must_use]
    pub fn next_state(&self, entry: &Entry, exists: impl Fn(&str) -> bool) -> NextState {
        let later = self.states.iter().skip(entry.states_before).flatten();
        let next = later.into_iter().find(|name| exists(name));
        next.map_or(NextState::Current, |name| NextState::Snapshot(name.clone()))
    }

    pub(crate) fn replay(lines: &[Line], damaged: Vec<String>, damaged_count: usize) -> Self {
        let mut replay = Replay::default();
        for line in lines {
            replay.add(line);
        }
        let damaged = damaged.into_iter().map(|text| DamagedLine { text });
        Self {
            damaged: damaged.collect(),
            damaged_count,
            ..replay.finish()
        }
    }
}

impl Replay {
    fn add(&mut self, line: &Line) {
        let line_index = self.heads.len();
        match &line.event {
            Event::Begin {
                number,
                argv,
                is_cut,
                snapshot,
            } => {
                if let Some(snapshot) = snapshot {
                    self.keep(snapshot, false);
                }
                let entry = Entry {
                    number: *number,
                    started: line.time(),
                    argv: argv.clone(),
                    is_cut: *is_cut,
                    snapshot: snapshot.clone(),
                    job: None,
                    exit_code: None,
                    ended: None,
                    is_undone: true,
                    states_before: self.states.len(),
                    begin_line: line_index,
                    end_line: None,
                };
                self.begin(entry);
            }
            Event::Job { number, job } => {
                if let Some(node) = self.node(*number) {
                    node.entry.job = Some(*job);
                }
            }
            Event::End { number, exit_code } => {
                if let Some(node) = self.node(*number) {
                    node.entry.exit_code = Some(*exit_code);
                    node.entry.ended = Some(line.time());
                    node.entry.end_line.get_or_insert(line_index);
                }
            }
            Event::Withdraw { number } => self.withdraw(*number),
            Event::Snapshot { name } => self.keep(name, true),
            Event::Rollback {
                to,
                to_created_s,
                kept,
            } => {
                self.keep(kept, false);
                self.head = match self.of_snapshots.get(to) {
                    Some(kept) => kept.head,
                    None => self.head_at(*to_created_s),
                };
                // It has ended all processes.
                for index in self.running.drain(..) {
                    self.nodes[index].entry.end_line.get_or_insert(line_index);
                }
            }
            Event::Unknown => {}
        }
        self.heads.push((line.time().as_second(), self.head));
    }

    fn begin(&mut self, entry: Entry) {
        let index = self.nodes.len();
        self.running.push(index);
        self.by_number.insert(entry.number, index);
        self.nodes.push(Node {
            entry,
            parent: self.head,
            is_withdrawn: false,
        });
        self.head = Some(index);
    }

    /// Notes that a snapshot has the files. A user's one is new, also if there was one of its name. A rollback keeps
    /// no state twice, so its one may be older.
    fn keep(&mut self, snapshot: &str, is_new: bool) {
        let kept = Kept {
            head: self.head,
            state: self.states.len(),
        };
        match self.of_snapshots.entry(snapshot.to_owned()) {
            Slot::Occupied(mut before) if is_new => {
                self.states[before.get().state] = None;
                before.insert(kept);
            }
            Slot::Occupied(_) => {}
            Slot::Vacant(slot) => {
                slot.insert(kept);
            }
        }
        self.states.push(Some(snapshot.to_owned()));
    }

    /// Notes that a command was not started: there is no snapshot before it.
    fn withdraw(&mut self, number: u64) {
        let Some(node) = self.node(number) else {
            return;
        };
        node.is_withdrawn = true;
        let state = node.entry.states_before.checked_sub(1);
        let Some((snapshot, state)) = node.entry.snapshot.take().zip(state) else {
            return;
        };
        self.states[state] = None;
        // An older one of the name is a user's.
        if self.of_snapshots.get(&snapshot).map(|kept| kept.state) == Some(state) {
            self.of_snapshots.remove(&snapshot);
        }
    }

    /// Returns the newest command whose changes the files had at a time; the snapshot of that time is not in
    /// the journal, because its line was not written, or is not kept any more.
    fn head_at(&self, time_s: u64) -> Option<usize> {
        let time_s = i64::try_from(time_s).unwrap_or(i64::MAX);
        let mut before = self.heads.iter().rev().filter(|(at_s, _)| *at_s <= time_s);
        before.next().and_then(|(_, head)| *head)
    }

    fn node(&mut self, number: u64) -> Option<&mut Node> {
        self.nodes.get_mut(*self.by_number.get(&number)?)
    }

    fn finish(mut self) -> History {
        let first = self.nodes.len().saturating_sub(ENTRIES_MAX);
        let mut done = Vec::new();
        let mut next = self.head;
        while let Some(index) = next {
            let node = &mut self.nodes[index];
            node.entry.is_undone = false;
            next = node.parent;
            if !node.is_withdrawn && index >= first {
                done.push(index);
            }
        }
        // The indexes of the history are without those that were not started.
        let mut indexes = HashMap::new();
        let mut entries = Vec::new();
        for (index, node) in self.nodes.into_iter().enumerate().skip(first) {
            if !node.is_withdrawn {
                indexes.insert(index, entries.len());
                entries.push(node.entry);
            }
        }
        let done = done.iter().filter_map(|index| indexes.get(index).copied());
        History {
            done: done.collect(),
            entries,
            states: self.states,
            ..History::default()
        }
    }
}
