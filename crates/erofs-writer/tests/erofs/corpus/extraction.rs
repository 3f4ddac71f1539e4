use std::fs;
use std::path::Path;
use std::process::Command;

use testkit::TreeDump;

use super::case::Case;
use super::faults::Faults;
use super::readers::{Reader, same};
use super::tally::Tally;

/// `fsck.erofs`, which checks an image and extracts it; the extracted files are compared.
pub(super) struct Extraction {
    name: String,
    program: Vec<String>,
    faults: Faults,
}

impl Extraction {
    /// Returns the installed fsck.erofs.
    pub(super) fn installed() -> Self {
        Self::with_program(vec!["fsck.erofs".into()])
    }

    /// Returns the fsck.erofs of packages unpacked to `root`, with the libraries it was built for.
    pub(super) fn unpacked(root: &Path) -> Self {
        let libraries = root.join("usr/lib/x86_64-linux-gnu");
        let loader = libraries.join("ld-linux-x86-64.so.2");
        let program = root.join("usr/bin/fsck.erofs");
        let text = |path: &Path| path.display().to_string();
        Self::with_program(vec![
            text(&loader),
            "--library-path".into(),
            text(&libraries),
            text(&program),
        ])
    }

    fn with_program(program: Vec<String>) -> Self {
        let output = Command::new(&program[0])
            .args(&program[1..])
            .arg("-V")
            .output()
            .expect("these tests need fsck.erofs from erofs-utils");
        let said = String::from_utf8_lossy(&output.stdout);
        let version = said.lines().next().unwrap_or_default().to_owned();
        Self {
            name: version.clone(),
            faults: faults(&version),
            program,
        }
    }
}

impl Reader for Extraction {
    fn name(&self) -> &str {
        &self.name
    }

    fn check(&mut self, case: &Case, tally: &mut Tally) -> Result<(), Vec<String>> {
        let target = case.scratch("extracted");
        let mut command = Command::new(&self.program[0]);
        command.args(&self.program[1..]);
        if !self.faults.knows_no_xattrs {
            command.arg("--xattrs");
        }
        for device in &case.devices {
            command.arg(format!("--device={}", device.display()));
        }
        let output = command
            .arg("-d3")
            .arg(format!("--extract={}", target.display()))
            .arg(&case.flat)
            .output()
            .unwrap();
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        if !output.status.success()
            || !said.contains("xtracted filesystem successfully")
            || said.lines().any(is_fault)
        {
            return Err(said.lines().map(str::to_owned).collect());
        }
        let extracted = TreeDump::from_directory(&target).unwrap().to_string();
        fs::remove_dir_all(target).unwrap();
        let dumps = [case.expected.as_str(), &extracted];
        let dumps = self.faults.look_over(case, dumps, tally);
        same(&dumps[0], &dumps[1])
    }
}

/// Returns true if a line reports an error. Newer versions report empty xattrs, which they do not
/// accept; the comparison counts these.
fn is_fault(line: &str) -> bool {
    line.contains("<E>") && !line.contains("failed to get xattr value size of")
}

/// Returns the known faults of a version; an unknown version has to be right.
fn faults(version: &str) -> Faults {
    if version.ends_with(" 1.5") {
        return Faults {
            knows_no_xattrs: true,
            loses_set_ids: true,
            splits_links: true,
            closes_holes: true,
            ..Faults::default()
        };
    }
    Faults {
        stops_at_empty_xattrs: true,
        cuts_last_holes: true,
        forgets_devices: true,
        changes_fragile_xattrs: true,
        ..Faults::default()
    }
}
