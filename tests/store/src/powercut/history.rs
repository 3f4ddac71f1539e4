use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail};

use super::log::Entry;

/// A condition that an image or a sandbox must meet.
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
        let (objects, outcome) = match command {
            "load" | "pull" => (&mut self.images, Promise::Here),
            "remove" => (&mut self.images, Promise::Gone),
            "create" => (&mut self.sandboxes, Promise::Here),
            "discard" => (&mut self.sandboxes, Promise::Gone),
            _ => bail!("names no command"),
        };
        let promise = objects.entry(object.to_owned()).or_insert(Promise::Gone);
        match moment {
            "begin" if *promise != outcome => *promise = Promise::Either,
            "begin" => {}
            "end" => *promise = outcome,
            _ => bail!("is no moment of a command"),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn promise(marks: &[&str], image: &str) -> Option<Promise> {
        let entries: Vec<Entry> = marks
            .iter()
            .map(|mark| Entry::Mark((*mark).to_owned()))
            .collect();
        let history = History::parse(&entries).expect("marks");
        history.images.get(image).copied()
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
}
