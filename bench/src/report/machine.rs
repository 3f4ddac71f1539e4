use std::fs;

use serde::Serialize;

/// The machine that the figures were measured on.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Machine {
    pub(crate) processor: String,
    pub(crate) processors: usize,
    pub(crate) memory_bytes: u64,
    /// The host's kernel, as in `uname -sr`.
    pub(crate) kernel: String,
    pub(crate) msb: String,
    /// The VMM and how it ran guests. `None` if no guest ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) vmm: Option<String>,
}

impl Machine {
    /// Returns this machine. Properties that cannot be read are empty or 0.
    pub(crate) fn this(vmm: Option<String>) -> Self {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        let value = |text: &str, name: &str| {
            let line = text.lines().find(|line| line.starts_with(name));
            let value = line.and_then(|line| line.split_once(':'));
            value
                .map(|(_, value)| value.trim().to_owned())
                .unwrap_or_default()
        };
        let memory = value(&read("/proc/meminfo"), "MemTotal");
        let memory_kib: u64 = memory
            .split_whitespace()
            .next()
            .and_then(|number| number.parse().ok())
            .unwrap_or_default();
        Self {
            processor: value(&read("/proc/cpuinfo"), "model name"),
            processors: std::thread::available_parallelism().map_or(0, usize::from),
            memory_bytes: memory_kib << 10,
            kernel: format!(
                "{} {}",
                read("/proc/sys/kernel/ostype").trim(),
                read("/proc/sys/kernel/osrelease").trim()
            ),
            msb: env!("CARGO_PKG_VERSION").to_owned(),
            vmm,
        }
    }

    pub(crate) fn words(&self) -> Vec<String> {
        let mut words = vec![
            format!("{} x {}", self.processors, self.processor),
            super::Unit::Bytes.shown(self.memory_bytes as f64),
            self.kernel.clone(),
            format!("msb {}", self.msb),
        ];
        words.extend(self.vmm.iter().map(|vmm| format!("guests under {vmm}")));
        words
    }
}
