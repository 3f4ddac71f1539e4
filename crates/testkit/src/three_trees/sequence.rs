//! A directory of the host and the sandboxes that it was staged for, changed by both sides in a random order.

use std::collections::BTreeMap;

use super::editor::{Editor, Entry, Files};
use super::restage::restaged;
use super::{ApplyEnd, ThreeTrees};

/// The most sandboxes.
const SANDBOXES_MAX: usize = 4;
/// The most edits of one command, or of the host at a time.
const EDITS_MAX: usize = 3;

/// A directory, its sandboxes and what these keep: the files before each command.
///
/// The sandboxes run commands, go back to earlier files by rollbacks and undos, and are forked; the host edits the
/// directory, stages it for other sandboxes, and stages it anew for these. Now and then the changes of one are applied.
#[derive(Debug)]
pub struct StagedSequence {
    editor: Editor,
    host: Files,
    sandboxes: Vec<StagedSandbox>,
    /// The steps so far, as text.
    made: Vec<String>,
}

#[derive(Debug, Clone)]
struct StagedSandbox {
    state: StagedFiles,
    /// The files before each command and each rollback.
    kept: Vec<StagedFiles>,
}

/// The files of a sandbox at a moment.
#[derive(Debug, Clone)]
struct StagedFiles {
    /// The staged files below its own.
    old: Files,
    now: Files,
}

impl StagedSequence {
    /// Returns the sequence of a seed, at its beginning.
    pub fn random(seed: u64) -> Self {
        let mut editor = Editor::new(seed);
        let host = editor.edited(&Files::new(), 8);
        let mut sequence = Self {
            editor,
            host,
            sandboxes: Vec::new(),
            made: Vec::new(),
        };
        sequence.stage();
        sequence
    }

    /// Returns the steps so far.
    pub fn made(&self) -> &[String] {
        &self.made
    }

    /// Makes steps until the changes of a sandbox are to be applied. Returns its trees.
    pub fn next_apply(&mut self) -> ThreeTrees {
        loop {
            let index = self.editor.below(self.sandboxes.len());
            match self.editor.below(13) {
                0..=2 => self.edit_host(),
                3..=5 => self.run(index),
                6 => self.roll_back(index),
                7 => self.undo(index),
                8 if self.sandboxes.len() < SANDBOXES_MAX => self.fork(index),
                9 if self.sandboxes.len() < SANDBOXES_MAX => self.stage(),
                10 | 11 => {
                    self.made.push(format!("apply {index}"));
                    let StagedFiles { old, now } = self.sandboxes[index].state.clone();
                    return ThreeTrees {
                        old,
                        new: now,
                        host: self.host.clone(),
                    };
                }
                12 => self.restage(index),
                _ => {}
            }
        }
    }

    /// Gives the host the files that an apply ended with.
    pub fn applied(&mut self, end: &ApplyEnd) {
        if let Some(files) = end.files() {
            self.host.clone_from(files);
            // Which of these are names of one file is not known.
            self.editor.separate(&mut self.host);
        }
    }

    fn edit_host(&mut self) {
        self.made.push("edit".to_owned());
        let times = 1 + self.editor.below(EDITS_MAX);
        self.host = self.editor.edited(&self.host, times);
    }

    /// Runs a command, before which the files are kept.
    fn run(&mut self, index: usize) {
        self.made.push(format!("run {index}"));
        let times = 1 + self.editor.below(EDITS_MAX);
        let sandbox = &mut self.sandboxes[index];
        sandbox.kept.push(sandbox.state.clone());
        sandbox.state.now = self.editor.edited(&sandbox.state.now, times);
    }

    /// Goes back to files that are kept. Those of this moment are kept, too.
    fn roll_back(&mut self, index: usize) {
        let sandbox = &mut self.sandboxes[index];
        if !sandbox.kept.is_empty() {
            let to = self.editor.below(sandbox.kept.len());
            self.made.push(format!("rollback {index} to {to}"));
            let state = sandbox.kept[to].clone();
            let now = std::mem::replace(&mut sandbox.state, state);
            sandbox.kept.push(now);
        }
    }

    /// Goes back to the files before some of the last commands, which are forgotten.
    fn undo(&mut self, index: usize) {
        let sandbox = &mut self.sandboxes[index];
        if !sandbox.kept.is_empty() {
            let to = self.editor.below(sandbox.kept.len());
            self.made.push(format!("undo {index} to {to}"));
            sandbox.state = sandbox.kept[to].clone();
            sandbox.kept.truncate(to);
        }
    }

    /// Stages the directory anew below the changes of a sandbox. What is kept stays over the files of its time. If both
    /// sides changed a path in different ways, nothing is done.
    fn restage(&mut self, index: usize) {
        let state = &self.sandboxes[index].state;
        let Some(mut now) = restaged(&state.old, &state.now, &self.host) else {
            self.made.push(format!("refused restage {index}"));
            return;
        };
        self.made.push(format!("restage {index}"));
        self.editor.divide(&mut now);
        let old = self.host.clone();
        self.sandboxes[index].state = StagedFiles { old, now };
    }

    fn fork(&mut self, index: usize) {
        self.made.push(format!("fork {index}"));
        self.sandboxes.push(self.sandboxes[index].clone());
    }

    /// Stages the directory for another sandbox.
    fn stage(&mut self) {
        self.made.push("stage".to_owned());
        self.sandboxes.push(StagedSandbox {
            state: StagedFiles {
                old: self.host.clone(),
                now: self.host.clone(),
            },
            kept: Vec::new(),
        });
    }
}

impl Editor {
    /// Makes names of one file that have not the same content and permissions names of different files.
    fn divide(&mut self, files: &mut Files) {
        let mut firsts: BTreeMap<u32, (&'static str, u16)> = BTreeMap::new();
        for entry in files.values_mut() {
            if let Entry::File { number, text, mode } = entry {
                let found = (*text, *mode);
                if *firsts.entry(*number).or_insert(found) != found {
                    *number = self.next_number();
                }
            }
        }
    }

    /// Makes every name of a tree that of a file by itself.
    fn separate(&mut self, files: &mut Files) {
        for entry in files.values_mut() {
            if let Entry::File { number, .. } = entry {
                *number = self.next_number();
            }
        }
    }
}
