use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Result;

use super::running::Running;

/// Returns the resident memory of the machine's processes, in KiB, by the name of their command.
///
/// The process that holds the guest's memory is left out. Under libkrun this is the VMM process,
/// whose own pages cannot be told from the guest's.
pub(super) fn of_machine(sandbox: &Running) -> Result<BTreeMap<String, u64>> {
    let commands: &[&str] = if sandbox.vmm_has_memory {
        &["__network"]
    } else {
        &["__vmm", "__network"]
    };
    let directory = &sandbox.directory;
    let wanted = directory.to_string_lossy();
    let mut found = BTreeMap::new();
    for entry in fs::read_dir("/proc")? {
        let process = entry?.path();
        let Ok(arguments) = fs::read(process.join("cmdline")) else {
            continue;
        };
        let arguments = String::from_utf8_lossy(&arguments);
        let words: Vec<&str> = arguments.split('\0').collect();
        let command = words.iter().find(|word| commands.contains(word));
        if let Some(command) = command.filter(|_| words.contains(&&*wanted)) {
            found.insert(
                command.trim_start_matches('_').to_owned(),
                resident_kib(&process),
            );
        }
    }
    Ok(found)
}

/// Returns the resident memory of a process, in KiB; 0 if it has ended.
pub(super) fn of_process(id: u32) -> u64 {
    resident_kib(Path::new(&format!("/proc/{id}")))
}

fn resident_kib(process: &Path) -> u64 {
    let status = fs::read_to_string(process.join("status")).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    number
        .and_then(|number| number.parse().ok())
        .unwrap_or_default()
}

/// Returns the largest growth of any process of the machine, in KiB.
pub(super) fn growth(before: &BTreeMap<String, u64>, after: &BTreeMap<String, u64>) -> u64 {
    let grown = |(name, now): (&String, &u64)| {
        now.saturating_sub(before.get(name).copied().unwrap_or_default())
    };
    after.iter().map(grown).max().unwrap_or_default()
}
