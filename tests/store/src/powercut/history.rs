use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail};

use super::log::Entry;
use super::staged::PROJECT;

/// A condition that an image, a sandbox, a snapshot or a file must meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Promise {
    /// A command that made it has succeeded: it exists.
    Here,
    /// A command that removed it has succeeded: it does not exist.
    Gone,
    /// A command that makes or removes it was running: it may exist.
    Either,
}

/// The promises of the commands up to a point. An absent entry is [`Promise::Gone`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct History {
    /// Images by the workload's letter.
    pub(super) images: BTreeMap<String, Promise>,
    /// The promise for each sandbox, by name.
    pub(super) sandboxes: BTreeMap<String, Promise>,
    /// The promise for each snapshot, by its sandbox's name and its own: `SANDBOX@NAME`.
    pub(super) snapshots: BTreeMap<String, Promise>,
    /// The promise for the file that is copied into each sandbox, by the name of the sandbox or snapshot whose
    /// disk has it. It counts if the disk exists.
    pub(super) files: BTreeMap<String, Promise>,
    /// The promise for the file that each sandbox adds to its staged directory, by the sandbox's name.
    pub(super) additions: BTreeMap<String, Promise>,
    /// The promise for that file in the directory of the host.
    pub(super) applied: BTreeMap<String, Promise>,
}

/// The moment of a command that a mark is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    Begin,
    End,
}

impl History {
    /// Returns the promises of the marks among `entries`.
    ///
    /// # Errors
    /// If a mark cannot be parsed.
    pub(super) fn parse(entries: &[Entry]) -> Result<Self> {
        let mut history = Self::default();
        for entry in entries {
            if let Entry::Mark(mark) = entry {
                history
                    .note(mark)
                    .with_context(|| format!("the mark '{mark}'"))?;
            }
        }
        Ok(history)
    }

    fn note(&mut self, mark: &str) -> Result<()> {
        let words: Vec<&str> = mark.split(' ').collect();
        let [moment, command, object] = words[..] else {
            bail!("has not three words");
        };
        let moment = match moment {
            "begin" => Moment::Begin,
            "end" => Moment::End,
            _ => bail!("is no moment of a command"),
        };
        match command {
            "load" | "pull" => set(&mut self.images, object, moment, Promise::Here),
            "remove" => set(&mut self.images, object, moment, Promise::Gone),
            "create" | "native" | "fork" => {
                set(&mut self.sandboxes, object, moment, Promise::Here);
                // Once the sandbox exists, it is complete.
                self.files.insert(object.to_owned(), Promise::Here);
            }
            "discard" => {
                set(&mut self.sandboxes, object, moment, Promise::Gone);
                self.discard_snapshots(object, moment);
            }
            "bare" => set(&mut self.sandboxes, object, moment, Promise::Here),
            "staged" => {
                set(&mut self.sandboxes, object, moment, Promise::Here);
                self.additions.insert(object.to_owned(), Promise::Gone);
            }
            "add" => set(&mut self.additions, object, moment, Promise::Here),
            "project" => set(&mut self.applied, PROJECT, moment, Promise::Gone),
            "apply" => set(&mut self.applied, PROJECT, moment, Promise::Here),
            // The sandbox keeps what it had.
            "restage" => {}
            "edit" => set(&mut self.files, object, moment, Promise::Here),
            "snapshot" => drop(self.keep_disk(object, moment)?),
            "drop" | "prune" => set(&mut self.snapshots, object, moment, Promise::Gone),
            "empty" => set(&mut self.files, object, moment, Promise::Gone),
            // The object is the snapshot of the disk as it was before.
            "restore" => {
                let sandbox = self.keep_disk(object, moment)?;
                set(&mut self.files, sandbox, moment, Promise::Here);
            }
            _ => bail!("names no command"),
        }
        Ok(())
    }

    /// Notes a snapshot, unless it exists, of its sandbox's disk. Returns the sandbox.
    fn keep_disk<'a>(&mut self, snapshot: &'a str, moment: Moment) -> Result<&'a str> {
        let (sandbox, _) = snapshot.split_once('@').context("names no snapshot")?;
        let is_new = !matches!(
            self.snapshots.get(snapshot),
            Some(Promise::Here | Promise::Either)
        );
        if is_new {
            let file = self.files.get(sandbox).copied();
            self.files
                .insert(snapshot.to_owned(), file.unwrap_or(Promise::Gone));
        }
        set(&mut self.snapshots, snapshot, moment, Promise::Here);
        Ok(sandbox)
    }

    /// Notes that the snapshots of a sandbox are removed with it.
    fn discard_snapshots(&mut self, sandbox: &str, moment: Moment) {
        let is_of_it = |name: &str| name.split_once('@').is_some_and(|(of, _)| of == sandbox);
        for (name, promise) in &mut self.snapshots {
            if is_of_it(name) {
                *promise = after(*promise, moment, Promise::Gone);
            }
        }
    }
}

fn set(objects: &mut BTreeMap<String, Promise>, object: &str, moment: Moment, outcome: Promise) {
    let promise = objects.entry(object.to_owned()).or_insert(Promise::Gone);
    *promise = after(*promise, moment, outcome);
}

/// Returns the promise after a moment of a command with this outcome.
fn after(promise: Promise, moment: Moment, outcome: Promise) -> Promise {
    match moment {
        Moment::Begin if promise != outcome => Promise::Either,
        Moment::Begin | Moment::End => outcome,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(marks: &[&str]) -> History {
        let marks = marks.iter().map(|mark| Entry::Mark((*mark).to_owned()));
        History::parse(&marks.collect::<Vec<_>>()).expect("marks")
    }

    fn promise(marks: &[&str], image: &str) -> Option<Promise> {
        history(marks).images.get(image).copied()
    }

    #[test]
    fn a_promise_holds_from_a_command_s_end_until_the_next_begins() {
        let marks = [
            "begin load a",
            "end load a",
            "begin remove a",
            "end remove a",
        ];
        let promises = [
            Promise::Either,
            Promise::Here,
            Promise::Either,
            Promise::Gone,
        ];
        for (count, expected) in (1..).zip(promises) {
            assert_eq!(promise(&marks[..count], "a"), Some(expected));
        }
    }

    #[test]
    fn loading_again_takes_nothing_back() {
        let marks = ["begin load a", "end load a", "begin load a"];
        assert_eq!(promise(&marks, "a"), Some(Promise::Here));
        assert_eq!(promise(&marks, "b"), None);
    }

    #[test]
    fn an_apply_promises_the_file_on_the_host_and_leaves_that_of_the_sandbox() {
        let marks = [
            "end project project",
            "end staged t",
            "end add t",
            "begin apply t",
            "end apply t",
            "begin restage t",
            "begin project project",
            "begin staged t",
        ];
        let expected = [
            (2, Promise::Gone, Promise::Gone),
            (3, Promise::Here, Promise::Gone),
            (4, Promise::Here, Promise::Either),
            (6, Promise::Here, Promise::Here),
            (7, Promise::Here, Promise::Either),
            (8, Promise::Gone, Promise::Either),
        ];
        for (count, added, applied) in expected {
            let found = history(&marks[..count]);
            let found = (found.additions["t"], found.applied[PROJECT]);
            assert_eq!(found, (added, applied), "after {count} marks");
        }
    }

    #[test]
    fn a_rollback_promises_a_snapshot_and_a_file() {
        let marks = [
            "end bare s",
            "end edit s",
            "end snapshot s@one",
            "end empty s",
            "begin restore s@2",
            "end restore s@2",
            "begin discard s",
            "end discard s",
        ];
        let expected = [
            (4, Promise::Here, None, Promise::Gone),
            (5, Promise::Here, Some(Promise::Either), Promise::Either),
            (6, Promise::Here, Some(Promise::Here), Promise::Here),
            (7, Promise::Either, Some(Promise::Either), Promise::Here),
            (8, Promise::Gone, Some(Promise::Gone), Promise::Here),
        ];
        for (count, one, kept, file) in expected {
            let History {
                snapshots, files, ..
            } = history(&marks[..count]);
            let found = (
                snapshots["s@one"],
                snapshots.get("s@2").copied(),
                files["s"],
            );
            assert_eq!(found, (one, kept, file), "after {count} marks");
            // The disk of a snapshot does not change.
            assert_eq!(files["s@one"], Promise::Here);
            assert_eq!(files.get("s@2").copied(), kept.map(|_| Promise::Gone));
        }
    }
}
