//! Huge pages for the guest's memory.
//!
//! A guest touches thousands of pages while it starts, and each costs an exit to the host, which fills it
//! with zeros. libkrun maps the memory itself and asks for nothing; where the host gives huge pages only
//! to those who ask, as Ubuntu and Fedora do, a thread finds the mapping and asks. Whoever fails here has a
//! slower guest, and nothing else.
#![expect(
    unsafe_code,
    reason = "advice on memory that libkrun has mapped has no safe form"
)]

use std::fs::{self, File};
use std::io::{Read as _, Seek as _};
use std::ops::Range;
use std::ptr;
use std::thread;
use std::time::{Duration, Instant};

use rustix::mm::{Advice, madvise};

/// The host's setting (Documentation/admin-guide/mm/transhuge.rst).
const SETTING: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
/// The setting in which those get huge pages who ask.
const ASKED_FOR: &str = "[madvise]";

/// The mappings of this process (proc_pid_maps(5)).
const MAPPINGS: &str = "/proc/self/maps";

/// The longest text of the mappings that is read.
const MAPPINGS_MAX_BYTES: u64 = 1 << 20;

/// The time between two looks, and the time after which no mapping is expected any more.
const INTERVAL: Duration = Duration::from_millis(1);
const PATIENCE: Duration = Duration::from_secs(10);

/// A part of the guest's memory is no smaller than this or the whole: libkrun divides more than 3 GiB.
const PART_MIN_BYTES: u64 = 1 << 30;

/// The search for the mapping of the guest's memory.
pub(crate) struct MemorySearch {
    mappings: File,
    least_bytes: u64,
}

impl MemorySearch {
    /// Opens what the search reads, which a jail forbids later. `None` if this host does not have to be
    /// asked.
    pub(crate) fn new(memory_mib: u32) -> Option<Self> {
        let setting = fs::read_to_string(SETTING).ok()?;
        if !setting.contains(ASKED_FOR) {
            return None;
        }
        Some(Self {
            mappings: File::open(MAPPINGS).ok()?,
            least_bytes: PART_MIN_BYTES.min(u64::from(memory_mib) << 20),
        })
    }

    /// Starts a thread, with the rights of the calling one, that ends when it found the memory.
    pub(crate) fn start(mut self) {
        let thread = thread::Builder::new().name("huge pages".to_owned());
        // Without the thread the guest is slower.
        let _ = thread.spawn(move || {
            let begun = Instant::now();
            while begun.elapsed() < PATIENCE && !self.ask() {
                thread::sleep(INTERVAL);
            }
        });
    }

    /// Asks for huge pages for each part of the memory. Returns whether there was one.
    fn ask(&mut self) -> bool {
        let Some(text) = self.text() else {
            return false;
        };
        let parts: Vec<_> = text
            .lines()
            .filter_map(|line| part(line, self.least_bytes))
            .collect();
        for part in &parts {
            let start = ptr::with_exposed_provenance_mut(part.start);
            // SAFETY: the advice changes neither the content nor the addresses of a mapping. libkrun keeps
            // the memory until the process exits.
            let _ = unsafe { madvise(start, part.len(), Advice::LinuxHugepage) };
        }
        !parts.is_empty()
    }

    fn text(&mut self) -> Option<String> {
        let mut text = String::new();
        self.mappings.rewind().ok()?;
        let mut limited = (&self.mappings).take(MAPPINGS_MAX_BYTES);
        limited.read_to_string(&mut text).ok()?;
        Some(text)
    }
}

/// Returns the addresses of a mapping that is private, writable memory without a file, of at least so many
/// bytes.
fn part(line: &str, least_bytes: u64) -> Option<Range<usize>> {
    let mut fields = line.split_ascii_whitespace();
    let (start, end) = fields.next()?.split_once('-')?;
    let address = |digits| usize::from_str_radix(digits, 16).ok();
    let addresses = address(start)?..address(end)?;
    let is_memory = fields.next()? == "rw-p" && fields.nth(3).is_none();
    let length_bytes = u64::try_from(addresses.len()).ok()?;
    (is_memory && length_bytes >= least_bytes).then_some(addresses)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_large_memory_without_a_file_is_a_part() {
        let found = |line| part(line, 256 << 20);
        let memory = "7fa044000000-7fa054000000 rw-p 00000000 00:00 0 ";
        assert_eq!(found(memory), Some(0x7fa0_4400_0000..0x7fa0_5400_0000));
        for other in [
            "7fa044000000-7fa04c000000 rw-p 00000000 00:00 0 ",
            "7fa044000000-7fa054000000 ---p 00000000 00:00 0 ",
            "7fa044000000-7fa054000000 rw-s 00000000 00:00 0 ",
            "7fa044000000-7fa054000000 rw-p 00000000 00:00 0                    [heap]",
            "7fa044000000-7fa054000000 rw-p 00000000 fd:01 42    /usr/bin/program",
            "7fa044000000",
            "",
        ] {
            assert_eq!(found(other), None, "{other}");
        }
    }

    #[test]
    fn a_mapping_that_appears_is_found() {
        let mut search = MemorySearch {
            mappings: File::open(MAPPINGS).expect("this process has mappings"),
            least_bytes: 1 << 40,
        };
        assert!(!search.ask(), "nothing is as long as that");
        search.least_bytes = 1;
        assert!(search.ask());
    }
}
