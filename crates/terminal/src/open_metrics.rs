//! Statistics of sandboxes in the text format of OpenMetrics 1.0.

use std::fmt::Write as _;

use msb_sdk::{GuestStats, NetworkTotals, Stats};

/// A metric family: one figure of each sandbox.
struct Family {
    name: &'static str,
    kind: Kind,
    /// The unit, with which the name ends; empty if there is none.
    unit: &'static str,
    help: &'static str,
    value: fn(&Stats) -> Option<Value>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A number that only grows, until the sandbox is started again.
    Counter,
    Gauge,
}

enum Value {
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

const FAMILIES: [Family; 22] = [
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

/// Returns one exposition of the statistics of sandboxes.
pub fn exposition(all: &[Stats]) -> String {
    let mut text = String::new();
    for family in &FAMILIES {
        family.write(all, &mut text);
    }
    text.push_str("# EOF\n");
    text
}

impl Family {
    /// Writes the family with a sample for each sandbox that has one; nothing if none has.
    fn write(&self, all: &[Stats], text: &mut String) {
        let samples = all
            .iter()
            .filter_map(|stats| Some((stats, (self.value)(stats)?)));
        let mut samples = samples.peekable();
        if samples.peek().is_none() {
            return;
        }
        let Self { name, unit, .. } = self;
        let (kind, suffix) = match self.kind {
            Kind::Counter => ("counter", "_total"),
            Kind::Gauge => ("gauge", ""),
        };
        // Nothing here can fail: text can be written to.
        let _ = writeln!(text, "# TYPE {name} {kind}");
        if !unit.is_empty() {
            let _ = writeln!(text, "# UNIT {name} {unit}");
        }
        let _ = writeln!(text, "# HELP {name} {}.", escaped(self.help));
        for (stats, value) in samples {
            let (id, sandbox) = (escaped(&stats.id), escaped(&stats.name));
            let _ = write!(text, "{name}{suffix}{{id=\"{id}\",sandbox=\"{sandbox}\"}} ");
            let _ = match value {
                Value::Whole(number) => writeln!(text, "{number}"),
                Value::Microseconds(us) => {
                    writeln!(text, "{}.{:06}", us / 1_000_000, us % 1_000_000)
                }
            };
        }
    }
}

/// Returns text as a label's value or a help has it.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('\n', "\\n")
        .replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stats(name: &str, network: Option<u64>) -> Stats {
        let network = network.map(|sent_bytes| serde_json::json!({ "sent_bytes": sent_bytes }));
        let stats = serde_json::json!({
            "id": "0123456789ab", "name": name, "cpu_percent": 1.5, "memory_limit_bytes": 1,
            "upper_allocated_bytes": 2, "upper_size_bytes": 3,
            "host": {"processor_us": 1_500_000, "memory_bytes": 4, "processes": 2},
            "network": network, "guest": null, "guest_error": "silent",
        });
        serde_json::from_value(stats).expect("statistics")
    }

    #[test]
    fn a_family_has_its_type_unit_and_samples_in_one_place() {
        let text = exposition(&[stats("web", Some(7)), stats("a\"b\\", None)]);
        let begin = "# TYPE msb_processor_seconds counter\n\
                     # UNIT msb_processor_seconds seconds\n\
                     # HELP msb_processor_seconds Time of the sandbox's processes on the processors of this host.\n\
                     msb_processor_seconds_total{id=\"0123456789ab\",sandbox=\"web\"} 1.500000\n\
                     msb_processor_seconds_total{id=\"0123456789ab\",sandbox=\"a\\\"b\\\\\"} 1.500000\n";
        assert!(text.starts_with(begin), "{text}");
        let sent = "msb_network_sent_bytes_total{id=\"0123456789ab\",sandbox=\"web\"} 7\n# TYPE ";
        assert!(text.contains(sent), "{text}");
        assert!(!text.contains("msb_guest_tasks"), "{text}");
        assert!(text.ends_with("\n# EOF\n"), "{text}");
        assert_eq!(exposition(&[]), "# EOF\n");
    }

    #[test]
    fn names_are_those_that_the_format_permits() {
        for family in &FAMILIES {
            let name = family.name;
            assert!(
                name.bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte == b'_')
            );
            assert!(name.ends_with(family.unit), "{name}");
            let reserved = ["_total", "_created", "_count", "_sum", "_bucket", "_info"];
            assert!(!reserved.iter().any(|end| name.ends_with(end)), "{name}");
            let same = FAMILIES.iter().filter(|other| other.name == name);
            assert_eq!(same.count(), 1, "{name}");
        }
    }
}
