//! The records of what the guest connects to and asks for, on their way to the log.
//!
//! They are written to a pipe that never waits: the process that serves a hostile guest keeps no log, and whoever reads
//! the pipe cannot stop it. The number of records is bounded, and what is left out is counted.

mod state;

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use hickory_proto::op::{Query, ResponseCode};
use hickory_proto::rr::RecordType;
use tokio::sync::Notify;
use tokio::time::sleep;

use crate::decision::{Decision, Reason};
use crate::log_detail::NetworkLogDetail;
use crate::log_record::{
    FlowEnd, NetworkClose, NetworkConnect, NetworkEvent, NetworkQuery, NetworkRecord,
    NetworkReport, Verdict,
};
use crate::name::DomainName;
use crate::refusals::Refused;
use crate::rules_record::NetworkRulesChange;
use crate::tls_record::NetworkTls;
use crate::window::{SPAN, Window};
use crate::{NetworkRules, Protocol};
use state::{Key, State};

/// The longest name in a record, in bytes. One with bytes that are not printable is longer in text than on the wire.
const NAME_MAX_BYTES: usize = 255;

/// The records and counters of one sandbox's network. Clones share them.
#[derive(Debug, Clone)]
pub(crate) struct Recorder(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Notified when there is something to report, and there was nothing before.
    changed: Notify,
    is_changed: AtomicBool,
}

impl Recorder {
    /// Returns a recorder that writes this much to a pipe, which must not block.
    pub(crate) fn new(pipe: File, detail: NetworkLogDetail) -> Self {
        let state = State::new(pipe, detail, Instant::now());
        Self(Arc::new(Shared {
            state: Mutex::new(state),
            changed: Notify::new(),
            is_changed: AtomicBool::new(false),
        }))
    }

    /// Records that a flow begins, and gives it its number. Returns false if that is not in the log.
    pub(crate) fn begin(&self, mut connect: NetworkConnect) -> (u64, bool) {
        self.change(|state| {
            state.totals.flows += 1;
            state.totals.open_flows += 1;
            let flow = state.totals.flows;
            connect.flow = Some(flow);
            (flow, state.add_of_flow(NetworkEvent::Connect(connect)))
        })
    }

    /// Records that a flow has ended, if its begin is in the log.
    pub(crate) fn end(&self, close: NetworkClose, is_begun: bool) {
        self.change(|state| {
            state.totals.open_flows = state.totals.open_flows.saturating_sub(1);
            state.totals.refused_flows += u64::from(close.end == FlowEnd::Denied);
            if is_begun {
                state.add_of_flow(NetworkEvent::Close(close));
            } else {
                state.totals.lost_records += 1;
            }
        });
    }

    /// Records an event of a flow's TLS.
    pub(crate) fn add_tls(&self, tls: NetworkTls) {
        self.change(|state| state.add_tls(tls));
    }

    /// Records that the rules have changed.
    pub(crate) fn change_rules(&self, before: &NetworkRules, after: &NetworkRules) {
        let change = NetworkRulesChange::between(before, after);
        self.change(|state| {
            state.add(NetworkEvent::Rules(change), 1);
        });
    }

    /// Counts bytes of a flow.
    pub(crate) fn count(&self, sent_bytes: u64, received_bytes: u64) {
        self.change(|state| {
            let totals = &mut state.totals;
            totals.sent_bytes = totals.sent_bytes.saturating_add(sent_bytes);
            totals.received_bytes = totals.received_bytes.saturating_add(received_bytes);
        });
    }

    /// Records a refused destination, and reports it to the user.
    pub(crate) fn refuse(&self, protocol: Protocol, address: SocketAddrV4, reason: Reason<'_>) {
        self.change(|state| {
            state.totals.refused_flows += 1;
            let key = Key::Refusal(protocol, address);
            if state.repeats(&key) {
                return;
            }
            let name = state.resolved.name_of(*address.ip()).map(str::to_owned);
            let refused = Refused::Address(address, name.as_deref());
            state.refusals.tell(refused, reason);
            if !state.admits_other() {
                return;
            }
            let hint = refused.option(reason);
            let connect = NetworkConnect {
                flow: None,
                proto: protocol,
                name,
                address: (*address.ip()).into(),
                port: address.port(),
                verdict: Verdict::Denied,
                rule: reason.to_string(),
                hint,
                count: 1,
            };
            state.add_first(key, NetworkEvent::Connect(connect));
        });
    }

    /// Records a query and the code of its answer, and reports a refused name to the user.
    pub(crate) fn answer(
        &self,
        query: &Query,
        name: Option<&DomainName>,
        decision: Decision<'_>,
        code: ResponseCode,
    ) {
        let mut text = match name {
            Some(name) => name.to_string(),
            None => without_dot(&query.name().to_ascii()).to_owned(),
        };
        text.truncate(text.floor_char_boundary(NAME_MAX_BYTES));
        if text.is_empty() {
            // The root.
            text.push('.');
        }
        // A name that no rule can have is not shown in words that a user may paste.
        let name = name.filter(|name| name.is_of_hosts());
        self.change(|state| {
            state.totals.queries += 1;
            let is_refused = !decision.is_allowed();
            state.totals.refused_queries += u64::from(is_refused);
            let key = Key::Query(text.clone(), query.query_type(), code);
            if state.repeats(&key) {
                return;
            }
            let refused = name.filter(|_| is_refused).map(Refused::Name);
            if let Some(refused) = refused {
                state.refusals.tell(refused, decision.reason);
            }
            if !state.admits_other() {
                return;
            }
            let query = NetworkQuery {
                name: text,
                record_type: type_word(query.query_type()),
                verdict: decision.verdict,
                rule: decision.reason.to_string(),
                code: code_word(code),
                hint: refused.and_then(|refused| refused.option(decision.reason)),
                count: 1,
            };
            state.add_first(key, NetworkEvent::Dns(query));
        });
    }

    /// Keeps the name that the guest resolved to an address.
    pub(crate) fn resolve(&self, address: Ipv4Addr, name: &DomainName) {
        self.state().resolved.add(address, &name.to_string());
    }

    /// Returns the last name that the guest resolved to an address.
    pub(crate) fn name_of(&self, address: Ipv4Addr) -> Option<String> {
        self.state().resolved.name_of(address).map(str::to_owned)
    }

    /// Reports what changes, at most once a second, and nothing while nothing changes.
    pub(crate) async fn report_changes(self) {
        loop {
            self.0.changed.notified().await;
            sleep(SPAN).await;
            self.report();
        }
    }

    /// Reports what is due: events that were repeated, the number of lost ones, and the counters.
    pub(crate) fn report(&self) {
        self.0.is_changed.store(false, Ordering::Relaxed);
        let mut state = self.state();
        for (event, count) in std::mem::take(&mut state.repeats).into_values() {
            if count == 0 {
                continue;
            }
            if state.others.admits(Instant::now()) {
                state.add(event.times(count), count);
            } else {
                state.totals.lost_records += count;
            }
        }
        let count = state.totals.lost_records - state.lost_reported;
        let lost = NetworkRecord::now(NetworkEvent::Lost { count });
        if count > 0 && state.write(&NetworkReport::Record(lost)) {
            state.lost_reported += count;
        }
        state.write(&NetworkReport::Totals(state.totals));
    }

    /// Lets all flows that are still open be recorded at the machine's end.
    pub(crate) fn finish(&self) {
        self.state().flows = Window::new(u32::MAX, Instant::now());
    }

    /// Changes the state, and has the change reported.
    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let changed = change(&mut self.state());
        if !self.0.is_changed.swap(true, Ordering::Relaxed) {
            self.0.changed.notify_one();
        }
        changed
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn without_dot(name: &str) -> &str {
    name.strip_suffix('.').unwrap_or(name)
}

fn type_word(record_type: RecordType) -> String {
    match record_type {
        // RFC 3597.
        RecordType::Unknown(number) => format!("TYPE{number}"),
        known => known.to_string(),
    }
}

/// Returns the code's name in IANA's registry.
fn code_word(code: ResponseCode) -> String {
    match u16::from(code) {
        0 => "NOERROR".to_owned(),
        1 => "FORMERR".to_owned(),
        2 => "SERVFAIL".to_owned(),
        3 => "NXDOMAIN".to_owned(),
        4 => "NOTIMP".to_owned(),
        5 => "REFUSED".to_owned(),
        number => format!("RCODE{number}"),
    }
}
