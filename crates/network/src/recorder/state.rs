use std::collections::HashMap;
use std::fs::File;
use std::io::Write as _;
use std::net::SocketAddrV4;
use std::time::Instant;

use hickory_proto::op::ResponseCode;
use hickory_proto::rr::RecordType;

use crate::Protocol;
use crate::log_detail::NetworkLogDetail;
use crate::log_record::{NetworkEvent, NetworkRecord, NetworkReport, NetworkTotals};
use crate::refusals::Refusals;
use crate::resolved::Resolved;
use crate::tls_record::{NetworkTls, is_alarm};
use crate::window::Window;

/// The most records of flows within a second, and the most of refusals and queries. With the one that counts what is left
/// out, they are fewer than 256. Apart from each other, so that refusals without end hide no connection.
const FLOW_RECORDS_MAX: u32 = 160;
const OTHER_RECORDS_MAX: u32 = 90;
/// The most records of TLS and HTTP within a second, where TLS is ended, and the most of answers that were withheld.
const TLS_RECORDS_MAX: u32 = 64;
const ALARMS_MAX: u32 = 16;
/// The longest line that a pipe takes all of, or nothing: `PIPE_BUF` (uapi/linux/limits.h).
const LINE_MAX_BYTES: usize = 4096;

/// The records and counters of one network, and the pipe that takes them.
#[derive(Debug)]
pub(super) struct State {
    pipe: File,
    detail: NetworkLogDetail,
    pub(super) flows: Window,
    pub(super) others: Window,
    tls: Window,
    alarms: Window,
    /// The events of this second that equal ones may follow, each with their number.
    pub(super) repeats: HashMap<Key, (NetworkEvent, u64)>,
    pub(super) totals: NetworkTotals,
    /// The part of the lost records that the log counts already.
    pub(super) lost_reported: u64,
    pub(super) refusals: Refusals,
    pub(super) resolved: Resolved,
}

/// Equal events have the same key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Key {
    Refusal(Protocol, SocketAddrV4),
    Query(String, RecordType, ResponseCode),
}

impl State {
    /// Returns the state of a network that has done nothing yet.
    pub(super) fn new(pipe: File, detail: NetworkLogDetail, now: Instant) -> Self {
        Self {
            pipe,
            detail,
            flows: Window::new(FLOW_RECORDS_MAX, now),
            others: Window::new(OTHER_RECORDS_MAX, now),
            tls: Window::new(TLS_RECORDS_MAX, now),
            alarms: Window::new(ALARMS_MAX, now),
            repeats: HashMap::new(),
            totals: NetworkTotals::default(),
            lost_reported: 0,
            refusals: Refusals::default(),
            resolved: Resolved::default(),
        }
    }

    /// Returns true for an event that an equal one preceded within this second. It is counted.
    pub(super) fn repeats(&mut self, key: &Key) -> bool {
        let Some((_, count)) = self.repeats.get_mut(key) else {
            return false;
        };
        *count += 1;
        true
    }

    /// Adds an event that equal ones may follow.
    pub(super) fn add_first(&mut self, key: Key, event: NetworkEvent) {
        self.repeats.insert(key, (event.clone(), 0));
        self.add(event, 1);
    }

    /// Returns true if a refusal or a query may be added. One of too many is lost.
    pub(super) fn admits_other(&mut self) -> bool {
        if self.detail == NetworkLogDetail::Off {
            return false;
        }
        let admits = self.others.admits(Instant::now());
        self.totals.lost_records += u64::from(!admits);
        admits
    }

    /// Adds an event of a flow. Returns false if it is lost; one that the log does not have is not.
    pub(super) fn add_of_flow(&mut self, event: NetworkEvent) -> bool {
        if self.detail == NetworkLogDetail::Off {
            return true;
        }
        if self.flows.admits(Instant::now()) {
            return self.add(event, 1);
        }
        self.totals.lost_records += 1;
        false
    }

    /// Adds an event of a flow's TLS.
    pub(super) fn add_tls(&mut self, tls: NetworkTls) {
        if !self.detail.has_tls(&tls.event) {
            return;
        }
        let window = if is_alarm(&tls.event) {
            &mut self.alarms
        } else {
            &mut self.tls
        };
        if window.admits(Instant::now()) {
            self.add(NetworkEvent::Tls(tls), 1);
        } else {
            self.totals.lost_records += 1;
        }
    }

    /// Adds an event that stands for `count` ones. Returns false if they are lost.
    pub(super) fn add(&mut self, event: NetworkEvent, count: u64) -> bool {
        let is_written = self.write(&NetworkReport::Record(NetworkRecord::now(event)));
        if !is_written {
            self.totals.lost_records += count;
        }
        is_written
    }

    /// Writes a line to the pipe. Returns false if it is too long, or if there is no room or no reader.
    pub(super) fn write(&self, report: &NetworkReport) -> bool {
        let Ok(mut line) = serde_json::to_vec(report) else {
            return false;
        };
        line.push(b'\n');
        if line.len() > LINE_MAX_BYTES {
            return false;
        }
        let written = (&self.pipe).write(&line);
        written.is_ok_and(|written| written == line.len())
    }
}
