use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The registry of the distribution project; it ends when this is dropped.
#[derive(Debug)]
pub struct RealRegistry {
    child: Child,
    /// Address, as `127.0.0.1:PORT`.
    pub address: String,
    root: PathBuf,
}

impl Drop for RealRegistry {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl RealRegistry {
    /// Starts `docker-registry` on a free port, with its files below `directory`, and waits until it
    /// listens.
    ///
    /// # Panics
    /// If the program is not installed, or does not listen within 10 s.
    pub fn start(directory: &Path) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        drop(listener);
        let (config, root) = (directory.join("registry.yml"), directory.join("registry"));
        let text = format!(
            "version: 0.1\nstorage:\n  filesystem:\n    rootdirectory: {}\nhttp:\n  addr: {address}\n",
            root.display()
        );
        std::fs::write(&config, text).expect("written");
        let child = Command::new("docker-registry")
            .arg("serve")
            .arg(&config)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("docker-registry must be installed (package docker-registry)");
        let registry = Self {
            child,
            address,
            root,
        };
        for _ in 0..200 {
            if std::net::TcpStream::connect(&registry.address).is_ok() {
                return registry;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("docker-registry does not listen on {}", registry.address);
    }

    /// Returns the number of bytes of all blobs that the registry has on its disk, manifests and
    /// configs among them.
    ///
    /// # Panics
    /// If the files cannot be listed.
    pub fn blob_bytes(&self) -> u64 {
        let blobs = self.root.join("docker/registry/v2/blobs/sha256");
        let mut bytes = 0;
        for prefix in std::fs::read_dir(blobs).into_iter().flatten() {
            let prefix = prefix.expect("an entry").path();
            for blob in std::fs::read_dir(prefix).expect("listed") {
                let data = blob.expect("an entry").path().join("data");
                bytes += std::fs::metadata(data).map_or(0, |data| data.len());
            }
        }
        bytes
    }
}
