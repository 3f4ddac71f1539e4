//! Steps in a queue, of which two run at a time.
//!
//! Each step is a process whose output goes to a file of `target/xtask/steps` and is printed when the
//! step has ended, so that the outputs of two do not mix.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use test_fixtures::command::step;
use test_fixtures::paths;

use super::Ready;
use super::steps::Step;

/// Takes the next step of a queue.
type Take = fn(&mut VecDeque<&'static Step>) -> Option<&'static Step>;

/// The two that work on the queue, from both ends: a guest keeps one processor busy, and CI has two.
const WORKERS: [Take; 2] = [VecDeque::pop_front, VecDeque::pop_back];

/// Runs all steps. Continues after a failed step, and fails at the end.
pub(super) fn run(steps: &'static [Step], ready: &Ready) -> Result<()> {
    let queue = Queue {
        ready,
        directory: paths::kept("steps")?,
        waiting: Mutex::new(steps.iter().collect()),
        failed: Mutex::new(Vec::new()),
    };
    step(&format!(
        "{} steps, {} at a time; the output of one that runs is in {}",
        steps.len(),
        WORKERS.len(),
        queue.directory.display()
    ));
    thread::scope(|scope| {
        for take in WORKERS {
            scope.spawn({
                let queue = &queue;
                move || queue.work(take)
            });
        }
    });
    let failed = held(&queue.failed);
    println!(
        "{} passed, {} failed",
        steps.len() - failed.len(),
        failed.len()
    );
    ensure!(failed.is_empty(), "failed: {}", failed.join(", "));
    Ok(())
}

struct Queue<'a> {
    ready: &'a Ready,
    /// The directory of the outputs.
    directory: PathBuf,
    waiting: Mutex<VecDeque<&'static Step>>,
    failed: Mutex<Vec<&'static str>>,
}

impl Queue<'_> {
    fn work(&self, take: Take) {
        while let Some(one) = self.next(take) {
            let output = self.directory.join(one.name.replace(['/', ' '], "-"));
            let begun = Instant::now();
            let outcome = self.in_a_process(one, &output);
            let seconds = begun.elapsed().as_secs();
            // The lock keeps the lines of one step together.
            let mut failed = held(&self.failed);
            let outcome = print(one, &output).and(outcome);
            match &outcome {
                Ok(()) => println!("ok      {} ({seconds} s)", one.name),
                Err(error) => println!("FAILED  {}: {error:#} ({seconds} s)", one.name),
            }
            failed.extend(outcome.is_err().then_some(one.name));
        }
    }

    fn next(&self, take: Take) -> Option<&'static Step> {
        take(&mut held(&self.waiting))
    }

    fn in_a_process(&self, one: &Step, output: &Path) -> Result<()> {
        step(&format!("begins: {}", one.name));
        let file =
            File::create(output).with_context(|| format!("cannot make {}", output.display()))?;
        let mut process = Command::new(std::env::current_exe()?);
        process.args(["test", "--step", one.name]);
        let status = self
            .ready
            .prepare(&mut process)
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .status()?;
        ensure!(status.success(), "{status}");
        Ok(())
    }
}

fn print(one: &Step, output: &Path) -> Result<()> {
    step(&format!("output of: {}", one.name));
    io::copy(&mut File::open(output)?, &mut io::stdout().lock())?;
    Ok(())
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
