use msb_sdk::{GuestStats, NetworkTotals, Stats};

/// A metric family: one figure of each sandbox.
pub(super) struct Family {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    /// The unit, with which the name ends; empty if there is none.
    pub(super) unit: &'static str,
    pub(super) help: &'static str,
    pub(super) value: fn(&Stats) -> Option<Value>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A number that only grows, until the sandbox is started again.
    Counter,
    Gauge,
}

pub(super) enum Value {
    Whole(u64),
    /// A number of microseconds, written in seconds.
    Microseconds(u64),
}

const fn counter(
    name: &'static str,
    unit: &'static str,
    help: &'static str,
    value: fn(&Stats) -> Option<Value>,
) -> Family {
    Family {
        name,
        kind: Kind::Counter,
        unit,
        help,
        value,
    }
}

const fn gauge(
    name: &'static str,
    unit: &'static str,
    help: &'static str,
    value: fn(&Stats) -> Option<Value>,
) -> Family {
    Family {
        name,
        kind: Kind::Gauge,
        unit,
        help,
        value,
    }
}

/// All families, in the order in which they are written.
pub(super) const FAMILIES: [Family; 22] = [
    counter(
        "msb_processor_seconds",
        "seconds",
        "Time of the sandbox's processes on the processors of this host",
        |stats| Some(Value::Microseconds(stats.host.processor_us)),
    ),
    gauge(
        "msb_memory_bytes",
        "bytes",
        "Resident memory of the sandbox's processes on this host",
        |stats| Some(Value::Whole(stats.host.memory_bytes)),
    ),
    gauge(
        "msb_memory_limit_bytes",
        "bytes",
        "Memory of the guest",
        |stats| Some(Value::Whole(stats.memory_limit_bytes)),
    ),
    gauge(
        "msb_processes",
        "",
        "Processes of the sandbox on this host",
        |stats| Some(Value::Whole(stats.host.processes)),
    ),
    gauge(
        "msb_disk_allocated_bytes",
        "bytes",
        "Space of the writable disk on this host",
        |stats| Some(Value::Whole(stats.upper_allocated_bytes)),
    ),
    gauge(
        "msb_disk_size_bytes",
        "bytes",
        "Size of the writable disk in the guest",
        |stats| Some(Value::Whole(stats.upper_size_bytes)),
    ),
    counter(
        "msb_network_flows",
        "",
        "Connections and flows of datagrams that began",
        |stats| of_network(stats, |network| network.flows),
    ),
    gauge(
        "msb_network_open_flows",
        "",
        "Connections and flows of datagrams that have not ended",
        |stats| of_network(stats, |network| network.open_flows),
    ),
    counter(
        "msb_network_refused_flows",
        "",
        "Connections and datagrams to destinations that were refused",
        |stats| of_network(stats, |network| network.refused_flows),
    ),
    counter(
        "msb_network_sent_bytes",
        "bytes",
        "Bytes that the sandbox sent, without headers and DNS queries",
        |stats| of_network(stats, |network| network.sent_bytes),
    ),
    counter(
        "msb_network_received_bytes",
        "bytes",
        "Bytes that the sandbox received, without headers and DNS answers",
        |stats| of_network(stats, |network| network.received_bytes),
    ),
    counter(
        "msb_network_queries",
        "",
        "DNS queries that were answered",
        |stats| of_network(stats, |network| network.queries),
    ),
    counter(
        "msb_network_refused_queries",
        "",
        "DNS queries for a name that is denied",
        |stats| of_network(stats, |network| network.refused_queries),
    ),
    counter(
        "msb_network_lost_records",
        "",
        "Events that are not in the log of the network",
        |stats| of_network(stats, |network| network.lost_records),
    ),
    counter(
        "msb_guest_processor_seconds",
        "seconds",
        "Time that the processors were busy, by the guest's word",
        |stats| {
            let busy_us = stats.guest.as_ref()?.processor_busy_us?;
            Some(Value::Microseconds(busy_us))
        },
    ),
    gauge(
        "msb_guest_memory_used_bytes",
        "bytes",
        "Memory that programs use, by the guest's word",
        |stats| of_guest(stats, GuestStats::memory_used_bytes),
    ),
    counter(
        "msb_guest_disk_read_bytes",
        "bytes",
        "Bytes read from all disks, by the guest's word",
        |stats| of_guest(stats, |guest| guest.disk_read_bytes),
    ),
    counter(
        "msb_guest_disk_written_bytes",
        "bytes",
        "Bytes written to all disks, by the guest's word",
        |stats| of_guest(stats, |guest| guest.disk_written_bytes),
    ),
    counter(
        "msb_guest_network_received_bytes",
        "bytes",
        "Bytes received over eth0, by the guest's word",
        |stats| of_guest(stats, |guest| guest.network_received_bytes),
    ),
    counter(
        "msb_guest_network_sent_bytes",
        "bytes",
        "Bytes sent over eth0, by the guest's word",
        |stats| of_guest(stats, |guest| guest.network_sent_bytes),
    ),
    gauge(
        "msb_guest_tasks",
        "",
        "Threads of all processes, by the guest's word",
        |stats| of_guest(stats, |guest| guest.tasks),
    ),
    gauge(
        "msb_guest_answers",
        "",
        "1 if the guest answers, and 0 if it does not",
        |stats| Some(Value::Whole(stats.guest.is_some().into())),
    ),
];

fn of_network(stats: &Stats, value: fn(&NetworkTotals) -> u64) -> Option<Value> {
    stats.network.as_ref().map(value).map(Value::Whole)
}

fn of_guest(stats: &Stats, value: fn(&GuestStats) -> Option<u64>) -> Option<Value> {
    stats.guest.as_ref().and_then(value).map(Value::Whole)
}
