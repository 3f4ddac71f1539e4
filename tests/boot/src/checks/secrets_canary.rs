//! The search for values of secrets where none may be.

use std::fs::File;
use std::io::{Read, Seek as _, SeekFrom};
use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use fs_err as fs;
use memchr::memmem;
use test_support::{TestEnv, describe};

use super::secrets_scene::Scene;

/// The bytes that are read at once.
const PIECE_BYTES: usize = 1 << 20;
/// The command of the process that alone has the values.
const NETWORK: &str = "__network";

/// The values of secrets, in the forms in which they could be anywhere.
pub(super) struct Canaries(Vec<Vec<u8>>);

impl Canaries {
    /// Returns the values of these secrets.
    pub(super) fn new(names: &[&str]) -> Self {
        let values = names.iter().map(|name| Scene::value(name));
        let forms = values.flat_map(|value| {
            let encoded = BASE64_STANDARD.encode(&value);
            // The last letters depend on what follows.
            let encoded = encoded.get(..16).unwrap_or(&encoded).as_bytes().to_vec();
            [value.into_bytes(), encoded]
        });
        Self(forms.collect())
    }

    fn find(&self, bytes: &[u8]) -> bool {
        self.0.iter().any(|form| contains(bytes, form))
    }

    /// Checks that a text has no value.
    pub(super) fn expect_none(&self, place: &str, bytes: &[u8]) -> Result<()> {
        ensure!(!self.find(bytes), "{place} has the value of a secret");
        Ok(())
    }

    /// Checks that what msb prints about a sandbox has no value.
    pub(super) fn look_at_reports(&self, env: &TestEnv, sandbox: &str) -> Result<()> {
        for words in [
            &["inspect", sandbox][..],
            &["ps", "-a", "--no-trunc"],
            &["secret", "ls", sandbox],
            &["logs", sandbox],
            &["logs", "--source", "machine", sandbox],
            &["logs", "--source", "network", "--format", "json", sandbox],
        ] {
            let output = env.msb().args(words).output()?;
            ensure!(output.status.success(), "{words:?}: {}", describe(&output));
            self.expect_none(&words.join(" "), &output.stdout)?;
            self.expect_none(&words.join(" "), &output.stderr)?;
        }
        Ok(())
    }

    /// Checks every file of the home but what it shares with homes of other tests.
    pub(super) fn look_at_files(&self, env: &TestEnv) -> Result<()> {
        let mut directories = vec![env.home().to_owned()];
        let mut count = 0;
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(directory)? {
                let entry = entry?;
                let kind = entry.file_type()?;
                if kind.is_dir() {
                    directories.push(entry.path());
                } else if kind.is_file() {
                    count += 1;
                    let file = File::open(entry.path())?;
                    let found = self.is_in(file)?;
                    ensure!(
                        !found,
                        "{} has the value of a secret",
                        entry.path().display()
                    );
                }
            }
        }
        ensure!(count > 5, "there are only {count} files");
        Ok(())
    }

    /// Checks the command lines, the variables and, as root, the memory of all processes of a sandbox but the memory of
    /// its network. Returns the number of that process.
    pub(super) fn look_at_processes(&self, env: &TestEnv, sandbox: &str) -> Result<u32> {
        let directory = super::disks::directory(env, sandbox)?;
        let directory = directory.display().to_string();
        let machine = env.machine_pid(sandbox)?;
        let is_root = rustix::process::geteuid().is_root();
        let (mut network, mut count) = (None, 0);
        for process in fs::read_dir("/proc")? {
            let process = process?;
            let Some(id) = process
                .file_name()
                .to_str()
                .and_then(|name| name.parse::<u32>().ok())
            else {
                continue;
            };
            // A process may end meanwhile.
            let line = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
            if !contains(&line, directory.as_bytes()) && !is_child(&process.path(), machine) {
                continue;
            }
            count += 1;
            self.expect_none("a command line", &line)?;
            if let Ok(variables) = std::fs::read(process.path().join("environ")) {
                self.expect_none("a process's variables", &variables)?;
            }
            let is_network = contains(&line, NETWORK.as_bytes());
            if is_network {
                network = Some(id);
            }
            if is_root {
                let found = self.is_in_memory(&process.path())?;
                // That it is found there shows that it would be found elsewhere.
                ensure!(
                    found == is_network,
                    "the memory of {}: a value is there: {found}",
                    String::from_utf8_lossy(&line).replace('\0', " ")
                );
            } else if is_network {
                let memory = File::open(process.path().join("mem"));
                ensure!(
                    memory.is_err(),
                    "the user can read the memory of the network"
                );
            }
        }
        ensure!(count >= 2, "only {count} processes were found");
        network.context("there is no process of the network")
    }

    /// Searches the memory of a process that it can write, and so could have put a value into.
    fn is_in_memory(&self, process: &Path) -> Result<bool> {
        let maps = fs::read_to_string(process.join("maps"))?;
        let mut memory = File::open(process.join("mem"))?;
        for line in maps.lines() {
            let mut words = line.split_ascii_whitespace();
            let (Some(range), Some(rights)) = (words.next(), words.next()) else {
                bail!("{line}");
            };
            let (from, to) = range.split_once('-').context("no range")?;
            let (from, to) = (u64::from_str_radix(from, 16)?, u64::from_str_radix(to, 16)?);
            if !rights.starts_with("rw") || line.ends_with("[vvar]") {
                continue;
            }
            memory.seek(SeekFrom::Start(from))?;
            // Memory of a device, and some that has gone meanwhile, cannot be read.
            if self.is_in((&memory).take(to - from)).unwrap_or(false) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Searches a stream, also over the borders of pieces.
    fn is_in(&self, mut stream: impl Read) -> Result<bool> {
        let longest = self.0.iter().map(Vec::len).max().unwrap_or(1);
        let mut piece = vec![0; longest + PIECE_BYTES];
        let mut kept = 0;
        loop {
            let read = stream.read(&mut piece[kept..])?;
            if read == 0 {
                return Ok(false);
            }
            let filled = kept + read;
            if self.find(&piece[..filled]) {
                return Ok(true);
            }
            kept = filled.min(longest);
            piece.copy_within(filled - kept..filled, 0);
        }
    }
}

/// Returns true for a child of a process: QEMU may have no path of the sandbox in its command line.
fn is_child(process: &Path, parent: u32) -> bool {
    let status = std::fs::read_to_string(process.join("status")).unwrap_or_default();
    let found = status.lines().find_map(|line| line.strip_prefix("PPid:"));
    found.and_then(|found| found.trim().parse().ok()) == Some(parent)
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    memmem::find(bytes, part).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_found_in_both_forms_and_over_borders() {
        let canaries = Canaries::new(&["KEY"]);
        let value = Scene::value("KEY");
        for begin in [0, 1, PIECE_BYTES - 3, PIECE_BYTES + 7] {
            for form in [value.clone(), BASE64_STANDARD.encode(&value)] {
                let bytes = [vec![b'c'; begin], form.into_bytes(), vec![0; 9]].concat();
                assert!(canaries.is_in(bytes.as_slice()).unwrap(), "{begin}");
            }
        }
        let other = vec![b'c'; 3 * PIECE_BYTES];
        assert!(!canaries.is_in(other.as_slice()).unwrap());
    }
}
