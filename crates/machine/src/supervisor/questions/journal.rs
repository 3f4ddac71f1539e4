use std::path::Path;
use std::time::{Duration, Instant};

use msb_machine_records::QuestionJournal;
use questions::Event;

use crate::log::log_line;

/// The events that are recorded within [`INTERVAL`], beside those of clients. A guest may ask as often as it likes,
/// and is not to push older records out.
pub(super) const RECORDS_MAX: u32 = 120;
const INTERVAL: Duration = Duration::from_secs(60);

/// The journal, and the number of events that the guest alone has caused lately.
#[derive(Debug)]
pub(super) struct LimitedJournal {
    /// `None` if it cannot be written.
    journal: Option<QuestionJournal>,
    since: Instant,
    count: u32,
    /// True if the last event could not be recorded. The log has one line for all that follow.
    is_failing: bool,
}

impl LimitedJournal {
    pub(super) fn open(path: &Path) -> Self {
        let journal = QuestionJournal::open(path);
        if let Err(error) = &journal {
            log_line(&format!("questions are not recorded: {error}"));
        }
        Self {
            journal: journal.ok(),
            since: Instant::now(),
            count: 0,
            is_failing: false,
        }
    }

    /// Adds an event, unless the guest has caused too many lately. The answers of clients are always added.
    pub(super) fn add(&mut self, event: &Event) {
        if !event.is_of_client() && !self.has_room(Instant::now()) {
            return;
        }
        let Some(journal) = &mut self.journal else {
            return;
        };
        let added = journal.add(event);
        if let Err(error) = &added
            && !self.is_failing
        {
            log_line(&format!("a question was not recorded: {error}"));
        }
        self.is_failing = added.is_err();
    }

    /// Counts an event of the guest. Returns false if there were too many.
    fn has_room(&mut self, now: Instant) -> bool {
        if now.duration_since(self.since) >= INTERVAL {
            (self.since, self.count) = (now, 0);
        }
        self.count = self.count.saturating_add(1);
        self.count <= RECORDS_MAX
    }
}
