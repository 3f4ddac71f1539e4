use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::edge::write_authority;
use super::guest::Guest;
use super::passed_stream;

/// The message of the process once it is ready, before any frame.
const READY: [u8; 4] = *b"net\n";
const TIMEOUT: Duration = Duration::from_secs(60);

/// The process of a sandbox's network without a sandbox; a hostile guest has its frame socket.
pub(crate) struct Victim {
    process: Child,
    directory: PathBuf,
    published: Vec<String>,
    /// The end of the connection that the supervisor has; nothing is said there.
    _supervisor: UnixStream,
    /// The settings, in the form of `sandbox.json`.
    pub(super) settings: Value,
    /// Largest memory of the process before it served anything, without the pages of its program, in KiB.
    pub(crate) idle_kib: u64,
}

impl Victim {
    /// Starts the process, run by `wrapper`, with these settings in the form of `sandbox.json`.
    pub(crate) fn start(
        msb: &Path,
        directory: &Path,
        settings: &Value,
        wrapper: &[&str],
    ) -> Result<(Self, Guest)> {
        fs::create_dir_all(directory)?;
        let errand = json!({ "network": settings, "jail": "required" });
        fs::write(directory.join("machine.json"), errand.to_string())?;
        if !settings["secrets"].is_null() {
            write_authority(directory)?;
        }
        let (mut guest_end, network_end) = UnixStream::pair()?;
        let (supervisor, passed) = UnixStream::pair()?;
        passed_stream::pass(&guest_end, &passed)?;
        let words = [wrapper, &[msb.to_str().context("a path in UTF-8")?]].concat();
        let process = Command::new(words[0])
            .args(&words[1..])
            .arg("__network")
            .arg(directory)
            .env_clear()
            .stdin(Stdio::from(OwnedFd::from(network_end)))
            .stdout(Stdio::piped())
            .spawn()?;
        let mut victim = Self {
            process,
            published: Vec::new(),
            _supervisor: supervisor,
            directory: directory.to_owned(),
            settings: settings.clone(),
            idle_kib: 0,
        };
        let mut said = [0; READY.len()];
        guest_end.set_read_timeout(Some(TIMEOUT))?;
        guest_end
            .read_exact(&mut said)
            .context("the network does not get ready")?;
        ensure!(said == READY, "the network said {said:?}");
        let stdout = victim.process.stdout.take();
        let mut reports = BufReader::new(stdout.context("no standard output")?);
        let mut published = String::new();
        reports.read_line(&mut published)?;
        victim.published = serde_json::from_str(&published)?;
        // The records of its log, until it ends.
        std::thread::spawn(move || io::copy(&mut reports, &mut io::sink()));
        victim.idle_kib = victim.peak_kib()?;
        Ok((victim, Guest::new(guest_end)?))
    }

    /// Returns the ports that the process has published, as `HOST:PORT:GUEST PORT/PROTOCOL`.
    pub(crate) fn published(&self) -> &[String] {
        &self.published
    }

    /// Returns the largest memory that the process has had, in KiB, without the pages of its program. The kernel
    /// shares these with msb's other processes, and a debug build has 20 MiB of them.
    pub(crate) fn peak_kib(&self) -> Result<u64> {
        let program_kib = self.memory_kib("RssFile")?;
        Ok(self.memory_kib("VmHWM")?.saturating_sub(program_kib))
    }

    fn memory_kib(&self, key: &str) -> Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix(key));
        let value = line.and_then(|line| line.trim_start_matches(':').split_whitespace().next());
        let value = value.with_context(|| format!("the process has ended: no {key}"))?;
        Ok(value.parse()?)
    }

    /// Disconnects the guest, and checks that the process then ends with success.
    pub(crate) fn end(mut self, guest: Guest) -> Result<()> {
        drop(guest);
        let status = self.process.wait()?;
        ensure!(status.success(), "the network's process gave {status}");
        Ok(())
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        // If all went well, the process has already ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.directory);
    }
}
