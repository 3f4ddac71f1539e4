use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Result, bail};

use crate::place;
use crate::run::{quiet, step};

/// A registry of the Distribution project on the loopback interface, for as long as this lives.
#[derive(Debug)]
pub(crate) struct Registry {
    process: Child,
    address: String,
}

impl Registry {
    pub(crate) fn start() -> Result<Self> {
        let directory = place::scratch("registry")?;
        // The port is free now; nothing else here is about to take it.
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string();
        let config = format!(
            "version: 0.1\nlog:\n  level: error\nstorage:\n  filesystem:\n    rootdirectory: {}\n\
             http:\n  addr: {address}\n",
            directory.join("data").display()
        );
        fs::write(directory.join("config.yml"), config)?;
        let process = Command::new("docker-registry")
            .arg("serve")
            .arg(directory.join("config.yml"))
            .stdout(Stdio::null())
            .stderr(fs::File::create(directory.join("log"))?)
            .spawn()?;
        let registry = Self { process, address };
        registry.wait_until_up()?;
        step(&format!("a registry serves on {}", registry.address));
        Ok(registry)
    }

    fn wait_until_up(&self) -> Result<()> {
        for _ in 0..200 {
            let url = format!("http://{}/v2/", self.address);
            let answer = Command::new("curl")
                .args(["--silent", "--fail", "--noproxy", "*", &url])
                .output()?;
            if answer.status.success() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        bail!("the registry does not come up on {}", self.address)
    }

    /// Pushes an OCI layout's image and gives the name to pull it by.
    pub(crate) fn push(&self, layout: &Path, name: &str) -> Result<String> {
        let reference = format!("{}/{name}:latest", self.address);
        quiet(
            Command::new("skopeo")
                .args([
                    "copy",
                    "--quiet",
                    "--insecure-policy",
                    "--dest-tls-verify=false",
                ])
                .arg(format!("oci:{}:latest", layout.display()))
                .arg(format!("docker://{reference}")),
        )?;
        Ok(reference)
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
