use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Result;

use super::running::Running;

/// What processes have in memory, in KiB, by their command's name. The process that has the guest's
/// memory is left out, which under libkrun is the VMM's: there the guest's pages cannot be told from the
/// VMM's own.
pub(super) fn of_machine(sandbox: &Running) -> Result<BTreeMap<String, u64>> {
    let commands: &[&str] = match sandbox.vmm_has_memory {
        true => &["network"],
        false => &["vmm", "network"],
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
            found.insert((*command).to_owned(), resident_kib(&process));
        }
    }
    Ok(found)
}

/// What a process has in memory, in KiB; nothing where it has ended.
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

/// The most by which any process of the machine has grown, in KiB.
pub(super) fn growth(before: &BTreeMap<String, u64>, after: &BTreeMap<String, u64>) -> u64 {
    let grown = |(name, now): (&String, &u64)| {
        now.saturating_sub(before.get(name).copied().unwrap_or_default())
    };
    after.iter().map(grown).max().unwrap_or_default()
}
