//! Statistics of sandboxes in the text format of OpenMetrics 1.0.

mod families;

use std::fmt::Write as _;

use msb_sdk::Stats;

use families::{FAMILIES, Family, Kind, Value};

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
