use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use tempfile::TempDir;

/// The interval and the number of looks for a registry that starts.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
const POLLS: u32 = 500;

/// An empty registry of the Distribution project on the loopback interface. It ends, and its files
/// are removed, with this value.
#[derive(Debug)]
pub(super) struct EmptyRegistry {
    process: Child,
    address: String,
    directory: TempDir,
}

impl EmptyRegistry {
    /// Starts it, with its files below a directory.
    pub(super) fn start(work: &Path) -> Result<Self> {
        let directory = tempfile::tempdir_in(work)?;
        // The port is free now, and no other process here is about to take it.
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string();
        let data = std::path::absolute(directory.path().join("data"))?;
        let config = directory.path().join("config.yml");
        let text = format!(
            "version: 0.1\nlog:\n  level: error\n  accesslog:\n    disabled: true\nstorage:\n  \
             filesystem:\n    rootdirectory: {}\nhttp:\n  addr: {address}\n",
            data.display()
        );
        fs::write(&config, text)?;
        let process = Command::new("docker-registry")
            .arg("serve")
            .arg(config)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("docker-registry cannot be run; install the package docker-registry")?;
        let registry = Self {
            process,
            address,
            directory,
        };
        registry.wait_until_up()?;
        Ok(registry)
    }

    fn wait_until_up(&self) -> Result<()> {
        for _ in 0..POLLS {
            if TcpStream::connect(&self.address).is_ok() {
                return Ok(());
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        bail!("docker-registry does not listen on {}", self.address)
    }

    /// Returns the name of an image there.
    pub(super) fn reference(&self, name: &str) -> String {
        format!("{}/{name}", self.address)
    }

    pub(super) fn directory(&self) -> &Path {
        self.directory.path()
    }
}

impl Drop for EmptyRegistry {
    fn drop(&mut self) {
        // The process may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
