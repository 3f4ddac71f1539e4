//! A writer that measures how long it stands still.

use std::fs::File;
use std::io::{BufRead, Write};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::mpsc::{TryRecvError, channel};
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::random::Random;

/// The length of a write, in bytes, and the number of places in the file that are written to.
const WRITE_BYTES: usize = 4096;
const PLACES: usize = 256;

/// Overwrites parts of a file without a pause, and syncs nothing. For each line of `asked` it prints the
/// longest time in which no write ended since the line before, in seconds; the first line says that it
/// has begun. It ends with `asked`.
///
/// # Errors
/// If the file cannot be written, or the answers cannot.
pub fn measure_gaps(
    file: &Path,
    output: &mut impl Write,
    asked: impl BufRead + Send + 'static,
) -> Result<()> {
    let file = File::create(file)?;
    let (asking, questions) = channel();
    // It waits for input; the writer must not.
    std::thread::spawn(move || {
        for line in asked.lines() {
            if line
                .and_then(|_| asking.send(()).map_err(std::io::Error::other))
                .is_err()
            {
                return;
            }
        }
    });
    let mut random = Random::named("gaps");
    let bytes = random.bytes(WRITE_BYTES);
    let (mut longest, mut last) = (Duration::ZERO, Instant::now());
    loop {
        let place = random.below(PLACES) * WRITE_BYTES;
        file.write_all_at(&bytes, place as u64)?;
        let now = Instant::now();
        longest = longest.max(now - last);
        last = now;
        match questions.try_recv() {
            Ok(()) => {
                writeln!(output, "{}", longest.as_secs_f64())?;
                output.flush()?;
                (longest, last) = (Duration::ZERO, Instant::now());
            }
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => return Ok(()),
        }
    }
}
