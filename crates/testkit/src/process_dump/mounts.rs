//! The mounts, of `/proc/self/mountinfo`.

use std::collections::BTreeMap;
use std::fs;

use super::ProcessDump;

/// Options whose values are names of the host's files.
const PATHS: [&str; 3] = ["lowerdir=", "upperdir=", "workdir="];

pub(super) fn read(dump: &mut ProcessDump) {
    let text = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let mut depths: BTreeMap<String, u32> = BTreeMap::new();
    for line in text.lines() {
        let Some((mount, filesystem)) = line.split_once(" - ") else {
            continue;
        };
        let mount: Vec<&str> = mount.split(' ').collect();
        let filesystem: Vec<&str> = filesystem.split(' ').collect();
        let ([_, _, _, _, target, options, optional @ ..], [kind, _, superblock, ..]) =
            (&mount[..], &filesystem[..])
        else {
            continue;
        };
        // A mount over another one has its number behind the path.
        let depth = depths.entry((*target).to_owned()).or_default();
        *depth += 1;
        let path = match *depth {
            1 => format!("mount.{target}"),
            depth => format!("mount.{target}#{depth}"),
        };
        dump.set(format!("{path}.type"), kind);
        dump.set(format!("{path}.flags"), sorted(options));
        dump.set(format!("{path}.options"), sorted(superblock));
        let is_shared = optional.iter().any(|field| field.contains(':'));
        dump.set(format!("{path}.propagates"), is_shared);
    }
}

/// Returns options in the order of the alphabet, without those whose values are paths of the host.
fn sorted(options: &str) -> String {
    let is_path = |option: &&str| !PATHS.iter().any(|path| option.starts_with(path));
    let mut options: Vec<&str> = options.split(',').filter(is_path).collect();
    options.sort_unstable();
    options.join(",")
}
