//! The size of a machine, from the limits of its container.

use std::num::NonZero;

use container_plan::Cgroup;

/// The memory of a guest beyond that of its container, in bytes: its kernel, its agent, its caches.
const GUEST_BYTES: u64 = 192 << 20;
/// The least memory of a machine, in bytes.
const MEMORY_MIN_BYTES: u64 = 256 << 20;
/// The highest limit that sizes a machine, in bytes; a higher one is none.
const MEMORY_MAX_BYTES: u64 = 1 << 40;

/// The size of a machine. `None` is msb's default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) memory_bytes: Option<u64>,
    pub(crate) cpus: Option<u8>,
}

impl Size {
    /// Returns the size for a container with these limits, which the guest keeps, too.
    pub(crate) fn of(cgroup: &Cgroup) -> Self {
        let host = std::thread::available_parallelism().map_or(1, NonZero::get);
        Self::on(cgroup, u8::try_from(host).unwrap_or(u8::MAX))
    }

    fn on(cgroup: &Cgroup, host_cpus: u8) -> Self {
        let value = |file: &str| {
            let mut controls = cgroup.controls.iter().rev();
            let control = controls.find(|control| control.file == file);
            control.map(|control| control.value.as_str())
        };
        let limit = value("memory.max").and_then(|limit| limit.parse::<u64>().ok());
        let limit = limit.filter(|&limit| limit <= MEMORY_MAX_BYTES);
        let memory_bytes = limit.map(|limit| (limit + GUEST_BYTES).max(MEMORY_MIN_BYTES));
        let cpus = value("cpu.max").and_then(cpus);
        let cpus = cpus.map(|cpus| cpus.clamp(1, u64::from(host_cpus.max(1))));
        Self {
            memory_bytes,
            cpus: cpus.and_then(|cpus| u8::try_from(cpus).ok()),
        }
    }
}

/// Returns the processors that `QUOTA PERIOD` needs; `None` without a limit.
fn cpus(limit: &str) -> Option<u64> {
    let (quota, period) = limit.split_once(' ')?;
    let (quota, period) = (quota.parse::<u64>().ok()?, period.parse::<u64>().ok()?);
    (period > 0).then(|| quota.div_ceil(period))
}

#[cfg(test)]
mod tests {
    use container_plan::Control;

    use super::*;

    fn size(controls: &[(&str, &str)]) -> Size {
        let control = |(file, value): &(&str, &str)| Control {
            file: (*file).to_owned(),
            value: (*value).to_owned(),
        };
        let cgroup = Cgroup {
            controls: controls.iter().map(control).collect(),
            ..Cgroup::default()
        };
        Size::on(&cgroup, 4)
    }

    #[test]
    fn limits_size_the_machine_and_no_limit_does_not() {
        let none = Size {
            memory_bytes: None,
            cpus: None,
        };
        assert_eq!(size(&[]), none);
        assert_eq!(
            size(&[("memory.max", "max"), ("cpu.max", "max 100000")]),
            none
        );
        assert_eq!(size(&[("memory.max", &u64::MAX.to_string())]), none);
        let small = size(&[("memory.max", "4096"), ("cpu.max", "1 100000")]);
        assert_eq!(
            (small.memory_bytes, small.cpus),
            (Some(MEMORY_MIN_BYTES), Some(1))
        );
        let large = size(&[("memory.max", "1073741824"), ("cpu.max", "250000 100000")]);
        assert_eq!(
            (large.memory_bytes, large.cpus),
            (Some((1 << 30) + GUEST_BYTES), Some(3))
        );
        assert_eq!(size(&[("cpu.max", "9900000 100000")]).cpus, Some(4));
        assert_eq!(size(&[("cpu.max", "1 0")]).cpus, None);
    }
}
