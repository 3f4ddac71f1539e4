use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use fstree::FileType;

use super::case::Case;
use super::readers::Reader;
use super::tally::Tally;

/// The program `dump.erofs`, which counts inodes.
pub(super) struct Statistics;

impl Reader for Statistics {
    fn name(&self) -> &str {
        "dump.erofs"
    }

    fn check(&mut self, case: &Case, _: &mut Tally) -> Result<(), Vec<String>> {
        let said = ask(case, "-s").map_err(|said| vec![said])?;
        let inodes = [("Filesystem inode count", case.built.summary.inodes)];
        compare(&said, &inodes)?;
        let said = ask(case, "-S").map_err(|said| vec![said])?;
        compare(&said, &counts(case))
    }
}

fn ask(case: &Case, option: &str) -> Result<String, String> {
    let mut command = Command::new("dump.erofs");
    for device in &case.devices {
        command.arg(format!("--device={}", device.display()));
    }
    let output = command
        .arg(option)
        .arg(Path::new(&case.flat))
        .output()
        .expect("these tests need dump.erofs from erofs-utils");
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    if output.status.success() && !said.contains("<E>") {
        Ok(said)
    } else {
        Err(said)
    }
}

fn compare(said: &str, expected: &[(&str, u64)]) -> Result<(), Vec<String>> {
    let lines: BTreeMap<&str, &str> = said
        .lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.trim(), value.trim()))
        .collect();
    let wrong = expected.iter().filter_map(|(name, value)| {
        let shown = lines.get(name).copied().unwrap_or("nothing");
        (shown != value.to_string()).then(|| format!("{name} is {shown}, not {value}"))
    });
    let wrong: Vec<String> = wrong.collect();
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}

fn counts(case: &Case) -> Vec<(&'static str, u64)> {
    let count = |kind| {
        let walk = case.tree.walk();
        let all = walk.filter(|entry| entry.inode.kind.file_type() == kind);
        u64::try_from(all.count()).unwrap()
    };
    vec![
        ("Filesystem regular file count", count(FileType::Regular)),
        ("Filesystem directory count", count(FileType::Directory)),
        ("Filesystem char dev count", count(FileType::CharDevice)),
        ("Filesystem block dev count", count(FileType::BlockDevice)),
        ("Filesystem FIFO file count", count(FileType::Fifo)),
        ("Filesystem SOCK file count", count(FileType::Socket)),
        ("Filesystem symlink file count", count(FileType::Symlink)),
    ]
}
