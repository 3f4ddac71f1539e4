//! The replay of one target.

use std::any::Any;
use std::env;
use std::io::{self, Write as _};
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use fs_err as fs;

use crate::memory;
use crate::mutation::mutated;

/// Most memory for one input, in bytes: the largest allocation that libFuzzer lets pass.
const MEMORY_BYTES: i64 = 256 << 20;

/// A target: its name and its function.
pub(crate) struct Target {
    pub(crate) name: &'static str,
    pub(crate) run: fn(&[u8]),
}

impl Target {
    /// Runs every input of the corpus, then this many mutations.
    ///
    /// `MSB_TEST_COUNT` is another number of them, and `MSB_TEST_FIRST` the number of the first.
    ///
    /// # Errors
    /// A text that names the first failing input, its file, and how to repeat it.
    pub(crate) fn replay(&self, mutations: u64) -> Result<(), String> {
        let corpus = corpus(self.name);
        for (name, bytes) in &corpus {
            self.input(&format!("the input {name} of its corpus"), bytes)?;
        }
        let corpus: Vec<Vec<u8>> = corpus.into_iter().map(|(_, bytes)| bytes).collect();
        let first = number("MSB_TEST_FIRST").unwrap_or(0);
        let end = first + number("MSB_TEST_COUNT").unwrap_or(mutations);
        for number in first..end {
            let label = format!(
                "mutation {number} (again: MSB_TEST_FIRST={number} MSB_TEST_COUNT=1 cargo test -p fuzz-targets {})",
                self.name
            );
            self.input(&label, &mutated(&corpus, number))?;
        }
        Ok(())
    }

    /// Runs one input. Its file is written before, so that one that aborts or does not end is there too.
    pub(crate) fn input(&self, label: &str, bytes: &[u8]) -> Result<(), String> {
        let file = self.file();
        write(&file, bytes).expect("target is writable");
        let (outcome, peak_bytes) = memory::with_peak(|| catch_unwind(|| (self.run)(bytes)));
        let fault = match outcome {
            Err(panic) => format!("panics: {}", message(&*panic)),
            Ok(()) if peak_bytes > MEMORY_BYTES => format!("takes {} MiB", peak_bytes >> 20),
            Ok(()) => return Ok(()),
        };
        let (name, file) = (self.name, file.display());
        Err(format!("{name} {fault}\non {label}\nwhich is {file}"))
    }

    /// Returns the file of the last input.
    pub(crate) fn file(&self) -> PathBuf {
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fuzz-{}", self.name))
    }
}

/// Writes a file in place: ext4 flushes one that is emptied and written again, which takes milliseconds.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    let options = options.write(true).create(true).truncate(false);
    let mut file = options.open(path)?;
    file.write_all(bytes)?;
    file.set_len(bytes.len() as u64)
}

/// Returns the directory of libFuzzer's workspace.
pub(crate) fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

/// Returns the committed inputs of a target, by name.
fn corpus(target: &str) -> Vec<(String, Vec<u8>)> {
    let directory = fuzz().join("corpus").join(target);
    let mut inputs = Vec::new();
    for file in fs::read_dir(directory).expect("every target has a corpus") {
        let file = file.expect("the corpus is readable");
        let bytes = fs::read(file.path()).expect("the corpus is readable");
        inputs.push((file.file_name().display().to_string(), bytes));
    }
    assert!(!inputs.is_empty(), "the corpus of {target} is empty");
    inputs.sort_unstable();
    inputs
}

/// Returns the number in a variable; `None` if it is unset.
fn number(variable: &str) -> Option<u64> {
    let text = env::var(variable).ok()?;
    let number = text.parse();
    Some(number.unwrap_or_else(|_| panic!("{variable} is not a number: {text:?}")))
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("without a message")
}
