use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::Arguments;
use super::proxy::{ENDED, PASSED};
use super::upstream::Upstream;
use crate::msb::{Msb, text};
use crate::sandbox::Sandbox;

/// The client that runs in a guest.
const CLIENT: &str = include_str!("client.py");
/// The value of the secret.
const VALUE: &str = "the-value-of-a-secret-of-msb-bench-0123456789";

/// A running sandbox, whose guest reaches the server by both names.
pub(super) struct Guest<'a> {
    sandbox: Sandbox,
    upstream: &'a Upstream,
    /// The sandbox's directory, which is among the arguments of its network process.
    directory: PathBuf,
}

impl<'a> Guest<'a> {
    /// Starts a sandbox, with a secret for one of the names or without secrets.
    pub(super) fn start(
        (arguments, msb, image): (&Arguments, &Msb, &str),
        (upstream, resolver): (&'a Upstream, &str),
        authority: &Path,
        has_secret: bool,
    ) -> Result<Self> {
        let purpose = if has_secret { "edge" } else { "edge-plain" };
        let sandbox = Sandbox::named(msb, purpose);
        let port = upstream.address.port();
        let mut run = msb.command();
        run.args(["run", "--quiet", "--detach", "--name", &sandbox.name])
            .args(["--cpus", "1", "--memory", "512m", "--vmm", &arguments.vmm])
            .args(["--dns", resolver, "--net-allow"])
            .arg(format!("127.0.0.1:{port}"));
        if has_secret {
            run.arg("--secret").arg(format!("KEY@{ENDED}:{port}"));
        }
        run.args([image, "sleep", "infinity"])
            .env("KEY", VALUE)
            .env("SSL_CERT_FILE", authority)
            .env_remove("SSL_CERT_DIR");
        text(&mut run)?;
        let inspected: Value = serde_json::from_str(&msb.output(["inspect", &sandbox.name])?)?;
        let directory = inspected[0]["directory"].as_str();
        Ok(Self {
            directory: directory.context("msb inspect prints no directory")?.into(),
            sandbox,
            upstream,
        })
    }

    /// Runs the client. Returns the seconds that it took for `what`.
    pub(super) fn time(&self, what: &str, count: u64, is_ended: bool) -> Result<f64> {
        let output = text(&mut self.client(&[], (what, count), is_ended))?;
        Ok(output.trim().parse()?)
    }

    /// Does work while the client holds this many connections open.
    pub(super) fn holding<T>(
        &self,
        count: u64,
        is_ended: bool,
        work: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let mut client = self.client(&["--interactive"], ("hold", count), is_ended);
        let mut child = client
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdout = child.stdout.take().context("stdout is piped")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        ensure!(!line.is_empty(), "the client in the guest has failed");
        let result = work();
        // The end of its input ends the client.
        drop(child.stdin.take());
        ensure!(
            child.wait()?.success(),
            "the client in the guest has failed"
        );
        result
    }

    /// Returns the resident memory of the sandbox's network process, in bytes.
    pub(super) fn network_bytes(&self) -> Result<f64> {
        let directory = self.directory.to_string_lossy();
        for entry in fs::read_dir("/proc")? {
            let process = entry?.path();
            let arguments = fs::read(process.join("cmdline")).unwrap_or_default();
            let arguments = String::from_utf8_lossy(&arguments);
            let words: Vec<&str> = arguments.split('\0').collect();
            if words.contains(&"__network") && words.contains(&&*directory) {
                return resident_bytes(&process);
            }
        }
        anyhow::bail!("cannot find the network process of the sandbox")
    }

    fn client(
        &self,
        options: &[&str],
        (what, count): (&str, u64),
        is_ended: bool,
    ) -> std::process::Command {
        let host = if is_ended { ENDED } else { PASSED };
        let mut exec = self.sandbox.exec(options);
        exec.args(["python3", "-c", CLIENT, what, host])
            .arg(self.upstream.address.port().to_string())
            .arg(count.to_string())
            .arg(&self.upstream.authority);
        exec
    }
}

fn resident_bytes(process: &Path) -> Result<f64> {
    let status = fs::read_to_string(process.join("status"))?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    let kib: f64 = number.context("a process without memory")?.parse()?;
    Ok(kib * 1024.0)
}
