//! The servers of the check of sockets: an SSH agent, and sockets that echo and refuse.

use std::io::{Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use fs_err as fs;
use test_support::describe;

/// The time in which the agent listens.
const START_LIMIT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// An empty directory, with a path that is short enough for sockets. It is removed when this value is dropped.
pub(super) struct SocketDirectory(pub(super) PathBuf);

impl SocketDirectory {
    pub(super) fn new() -> Result<Self> {
        let directory = std::env::temp_dir().join(format!("msb-sockets-{}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(&directory)?;
        Ok(Self(directory))
    }
}

impl Drop for SocketDirectory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// An SSH agent with one key, whose comment is `check`.
pub(super) struct Agent {
    directory: PathBuf,
    child: Child,
}

impl Agent {
    pub(super) fn start(directory: &Path) -> Result<Self> {
        let directory = directory.to_owned();
        let key = directory.join("key");
        let mut generate = Command::new("ssh-keygen");
        generate.args(["-q", "-t", "ed25519", "-N", "", "-C", "check", "-f"]);
        succeeded(generate.arg(&key))?;
        let child = Command::new("ssh-agent")
            .args(["-D", "-a"])
            .arg(directory.join("agent"))
            .stdout(Stdio::null())
            .spawn()?;
        let agent = Self { directory, child };
        let began = Instant::now();
        while UnixStream::connect(agent.path()).is_err() {
            ensure!(began.elapsed() < START_LIMIT, "the agent does not listen");
            std::thread::sleep(POLL_INTERVAL);
        }
        succeeded(agent.client().arg(&key))?;
        Ok(agent)
    }

    pub(super) fn path(&self) -> PathBuf {
        self.directory.join("agent")
    }

    fn client(&self) -> Command {
        let mut line = Command::new("ssh-add");
        line.arg("-q").env("SSH_AUTH_SOCK", self.path());
        line
    }

    /// Returns the number of keys.
    pub(super) fn keys(&self) -> Result<usize> {
        let output = succeeded(self.client().arg("-l"))?;
        Ok(String::from_utf8(output.stdout)?.lines().count())
    }

    pub(super) fn fingerprint(&self) -> Result<String> {
        let output = succeeded(self.client().arg("-l"))?;
        let listed = String::from_utf8(output.stdout)?;
        let word = listed.split(' ').nth(1).context("no fingerprint")?;
        Ok(word.to_owned())
    }

    /// Checks a signature of the key with OpenSSH.
    pub(super) fn verify(&self, message: &[u8], signature: &str) -> Result<()> {
        let file = self.directory.join("signature");
        fs::write(&file, signature)?;
        let mut child = Command::new("ssh-keygen")
            .args(["-Y", "check-novalidate", "-n", "file", "-s"])
            .arg(&file)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let mut stdin = child.stdin.take().context("no standard input")?;
        stdin.write_all(message)?;
        drop(stdin);
        let output = child.wait_with_output()?;
        ensure!(output.status.success(), "{}", describe(&output));
        Ok(())
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn succeeded(line: &mut Command) -> Result<Output> {
    let output = line.output()?;
    ensure!(output.status.success(), "{}", describe(&output));
    Ok(output)
}

/// A server that sends back what it gets, once it has got all.
pub(super) struct Echo {
    path: PathBuf,
    most: Arc<AtomicUsize>,
}

impl Echo {
    pub(super) fn start(directory: &Path) -> Result<Self> {
        let path = directory.join("echo");
        let listener = UnixListener::bind(&path)?;
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::default());
        let echo = Self {
            path,
            most: Arc::clone(&most),
        };
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (now, most) = (Arc::clone(&now), Arc::clone(&most));
                std::thread::spawn(move || {
                    let count = now.fetch_add(1, Ordering::SeqCst) + 1;
                    most.fetch_max(count, Ordering::SeqCst);
                    // The guest may break the connection.
                    let _ = answer(stream);
                    now.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Ok(echo)
    }

    pub(super) fn path(&self) -> std::path::Display<'_> {
        self.path.display()
    }

    /// Returns the largest number of connections at a time so far.
    pub(super) fn most_at_once(&self) -> usize {
        self.most.load(Ordering::SeqCst)
    }
}

fn answer(mut stream: UnixStream) -> std::io::Result<()> {
    let mut all = Vec::new();
    stream.read_to_end(&mut all)?;
    stream.write_all(&all)
}
