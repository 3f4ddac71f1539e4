//! Changes of staged directories in sandboxes that never ran, put on their disks.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{TestHome, disk_file};

/// Puts files into the staged directory with this number, as the kernel's overlay keeps them. A file without
/// content is removed.
pub(crate) fn write_staged(
    home: &TestHome,
    sandbox: &str,
    number: usize,
    files: &[(&str, Option<&str>)],
) {
    let inspected = home.msb(&["inspect", "--format", "{{.directory}}", sandbox]);
    assert_eq!(inspected.code, Some(0), "{}", inspected.stderr);
    let disk = disk_file(Path::new(inspected.stdout.trim()));
    let mut commands = format!("cd /staged/{number}/upper\n");
    for (index, (name, content)) in files.iter().enumerate() {
        match content {
            Some(content) => {
                let source = home.path().join(format!("written-{index}"));
                fs::write(&source, content).expect("written");
                commands.push_str(&format!("write {} {name}\n", source.display()));
            }
            // A whiteout is a character device with the number 0.
            None => commands.push_str(&format!("mknod {name} c 0 0\n")),
        }
    }
    let list = home.path().join("commands");
    fs::write(&list, commands).expect("written");
    let mut debugfs = Command::new("/sbin/debugfs");
    let done = debugfs.args(["-w", "-f"]).arg(&list).arg(&disk).output();
    let done = done.expect("debugfs runs (package e2fsprogs)");
    let told = String::from_utf8_lossy(&done.stderr);
    // The first line is its version.
    let failures = told.lines().filter(|line| !line.starts_with("debugfs "));
    assert!(done.status.success() && failures.count() == 0, "{told}");
}
