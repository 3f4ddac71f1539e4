use std::fs;

/// Returns the frequency of this host's time stamp counter in kHz. `None` if the host does not
/// report it.
///
/// A translated guest reads the host's counter. Without this value its kernel measures the
/// frequency against an emulated timer. That fails on a busy host, and the guest's clock then
/// advances in steps of 4 ms.
pub(crate) fn frequency_khz() -> Option<u32> {
    frequency_in(&fs::read_to_string("/proc/cpuinfo").ok()?)
}

/// Returns the frequency in `cpu_info`, in kHz. `None` if that may not be the counter's.
///
/// A kernel under a hypervisor gets the counter's frequency from it and reports it as the
/// processor's, unless it measures the processor itself (`aperfmperf`).
fn frequency_in(cpu_info: &str) -> Option<u32> {
    let value = |name: &str| {
        let line = cpu_info.lines().find(|line| line.starts_with(name))?;
        line.split_once(':').map(|(_, value)| value.trim())
    };
    let flags: Vec<_> = value("flags")?.split_ascii_whitespace().collect();
    let is_the_counters = flags.contains(&"hypervisor")
        && flags.contains(&"constant_tsc")
        && !flags.contains(&"aperfmperf");
    if !is_the_counters {
        return None;
    }
    let (mhz, thousandths) = value("cpu MHz")?.split_once('.')?;
    if thousandths.len() != 3 {
        return None;
    }
    let khz: u32 = format!("{mhz}{thousandths}").parse().ok()?;
    (khz > 0).then_some(khz)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpu_info(mhz: &str, flags: &str) -> String {
        format!("processor\t: 0\ncpu MHz\t\t: {mhz}\nflags\t\t: fpu {flags}\n")
    }

    #[test]
    fn a_virtual_processor_tells_the_counters_frequency() {
        let known = cpu_info("2445.428", "hypervisor constant_tsc");
        assert_eq!(frequency_in(&known), Some(2_445_428));
    }

    #[test]
    fn a_frequency_that_may_be_another_is_not_taken() {
        for flags in [
            "constant_tsc",
            "hypervisor",
            "hypervisor constant_tsc aperfmperf",
        ] {
            assert_eq!(frequency_in(&cpu_info("2445.428", flags)), None, "{flags}");
        }
        for mhz in [
            "",
            "2445",
            "2445.4",
            "-1.000",
            "0.000",
            "x.000",
            "99999999999.000",
        ] {
            let cpu_info = cpu_info(mhz, "hypervisor constant_tsc");
            assert_eq!(frequency_in(&cpu_info), None, "{mhz}");
        }
        assert_eq!(frequency_in(""), None);
    }
}
