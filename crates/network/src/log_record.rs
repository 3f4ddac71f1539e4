use std::net::IpAddr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::Protocol;
use crate::rules_record::NetworkRulesChange;
use crate::tls_record::NetworkTls;

/// A record of the log of a sandbox's network, with the keys of `msb logs --source network --format json`. Names are
/// those that the guest asked for, and it may ask for any.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NetworkRecord {
    /// The time, in RFC 3339, with milliseconds.
    pub time: String,
    /// The event that it records.
    #[serde(flatten)]
    pub event: NetworkEvent,
}

/// An event of a sandbox's network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum NetworkEvent {
    /// A connection, or a flow of datagrams, begins or is refused.
    Connect(NetworkConnect),
    /// A connection, or a flow of datagrams, has ended.
    Close(NetworkClose),
    /// The guest asked for a name, and was answered.
    Dns(NetworkQuery),
    /// The host has changed the rules.
    Rules(NetworkRulesChange),
    /// Events that are not in the log, because there were too many.
    Lost {
        /// The number of these events.
        count: u64,
    },
    /// An event of a connection whose TLS is ended, or could be. It has a name of its own.
    #[serde(untagged)]
    Tls(NetworkTls),
}

/// The begin of a flow: of a connection, or of datagrams between two ports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NetworkConnect {
    /// The number of the flow since the machine's start; `None` if it is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<u64>,
    /// The transport protocol of the flow.
    pub proto: Protocol,
    /// The last name that the guest resolved to the address; `None` if it resolved none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The address that the guest connects to; that of the client if the flow is an inbound one.
    pub address: IpAddr,
    /// The port at that address; the port in the guest if the flow is an inbound one.
    pub port: u16,
    /// The decision about it.
    pub verdict: Verdict,
    /// The rule that decided; for an inbound flow `published`.
    pub rule: String,
    /// The option that allows a refused destination; `None` if none does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The number of equal events that the record stands for.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub count: u64,
}

/// The end of a flow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NetworkClose {
    /// The number that its begin has.
    pub flow: u64,
    /// Bytes that the guest sent.
    pub sent: u64,
    /// Bytes that the guest received.
    pub received: u64,
    /// Time since the begin, in milliseconds.
    pub ms: u64,
    /// The way in which it ended.
    pub end: FlowEnd,
    /// The status with which the upstream proxy refused it: of HTTP, or the reply of SOCKS5; `None` if it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
}

/// A DNS query, and its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NetworkQuery {
    /// The name that the guest asked for.
    pub name: String,
    /// The type of the records that it asked for, such as `A`.
    #[serde(rename = "type")]
    pub record_type: String,
    /// The decision about it.
    pub verdict: Verdict,
    /// The rule that decided.
    pub rule: String,
    /// The code of the answer, such as `NOERROR`, `NXDOMAIN` or `SERVFAIL`.
    pub code: String,
    /// The option that allows a refused name; `None` if none does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The number of equal events that the record stands for.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub count: u64,
}

/// The decision about a destination or a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The guest may have it.
    Allowed,
    /// The guest may not have it.
    Denied,
}

/// The end of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FlowEnd {
    /// Both sides closed it, the guest first.
    Guest,
    /// Both sides closed it, the peer first.
    Peer,
    /// The guest broke it off.
    GuestReset,
    /// The peer broke it off, or the host could not use it any longer.
    PeerReset,
    /// The peer refused the connection.
    Refused,
    /// The host has no way to the address.
    Unreachable,
    /// The peer did not answer in time.
    Timeout,
    /// Nothing was sent for too long.
    Idle,
    /// It was no TLS for a host of an HTTPS request that is allowed.
    Denied,
    /// The sandbox had as many connections, or requests at once, to hosts whose TLS is ended as it may have.
    Busy,
    /// Rules that changed deny it, and it was to be closed.
    Revoked,
    /// The upstream proxy refused the connection.
    ProxyRefused,
    /// The upstream proxy could not be connected to, or did not answer as one.
    ProxyFailed,
    /// The machine ended before it did.
    Machine,
}

/// Counters of a sandbox's network since its machine's start. The guest cannot influence them but by what it does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct NetworkTotals {
    /// Connections and flows of datagrams that began, the inbound ones too.
    pub flows: u64,
    /// Those of them that have not ended.
    pub open_flows: u64,
    /// Connections and datagrams to destinations that were refused.
    pub refused_flows: u64,
    /// Bytes that the guest sent, without headers and DNS queries.
    pub sent_bytes: u64,
    /// Bytes that the guest received, without headers and DNS answers.
    pub received_bytes: u64,
    /// DNS queries that were answered.
    pub queries: u64,
    /// Those of them for a name that is denied.
    pub refused_queries: u64,
    /// Events that are not in the log, because there were too many.
    pub lost_records: u64,
}

/// A line that the network's process reports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NetworkReport {
    /// A record of the log.
    Record(NetworkRecord),
    /// The counters of this moment.
    Totals(NetworkTotals),
}

impl NetworkRecord {
    /// Returns the record of an event of this moment.
    pub(crate) fn now(event: NetworkEvent) -> Self {
        Self {
            time: format!("{:.3}", Timestamp::now()),
            event,
        }
    }

    /// Returns the time in nanoseconds since the epoch; `None` if it is none.
    pub fn time_ns(&self) -> Option<u64> {
        let time: Timestamp = self.time.parse().ok()?;
        time.as_nanosecond().try_into().ok()
    }

    /// Returns true if the record is of a refusal.
    pub fn is_denied(&self) -> bool {
        let verdict = match &self.event {
            NetworkEvent::Connect(connect) => connect.verdict,
            NetworkEvent::Dns(query) => query.verdict,
            NetworkEvent::Close(close) => return close.end == FlowEnd::Denied,
            NetworkEvent::Tls(tls) => return tls.is_refusal(),
            NetworkEvent::Rules(_) | NetworkEvent::Lost { .. } => return false,
        };
        verdict == Verdict::Denied
    }
}

impl NetworkEvent {
    /// Returns the event as one that stands for `count` equal ones.
    pub(crate) fn times(mut self, count: u64) -> Self {
        match &mut self {
            Self::Connect(connect) => connect.count = count,
            Self::Dns(query) => query.count = count,
            Self::Close(_) | Self::Rules(_) | Self::Lost { .. } | Self::Tls(_) => {}
        }
        self
    }
}

const fn one() -> u64 {
    1
}

fn is_one(count: &u64) -> bool {
    *count == 1
}

#[cfg(test)]
mod tests;
