//! A containerd whose containers run in machines.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use fs_err as fs;
use test_fixtures::{Containerd, build, images};
use test_support::{TestEnv, describe, settings};

/// The runtime under test.
const RUNTIME: &str = "io.containerd.msb.v1";
/// The name of the image, without its tag.
const IMAGE: &str = "localhost/bare";
/// The directory of all shims' sockets.
const SOCKETS: &str = "/run/containerd/s";
/// The time for everything that has to happen by itself.
const LIMIT: Duration = Duration::from_secs(60);

/// A containerd with an image of a shell.
pub(crate) struct Scene {
    containerd: Containerd,
    image: String,
    home: PathBuf,
    /// The sockets that other shims have left.
    sockets_before: BTreeSet<OsString>,
    /// The home, the working directory, and the slot for guests.
    env: TestEnv,
}

impl Scene {
    /// Starts a containerd, and imports the image.
    pub(crate) fn set() -> Result<Self> {
        let env = TestEnv::with_empty_home("fleet-ctr")?;
        // One build makes both programs.
        let shim = match settings::path(settings::MSB) {
            Some(msb) => msb.with_file_name("containerd-shim-msb-v1"),
            None => build::containerd_shim()?,
        };
        let shims = shim.parent().context("a directory")?;
        let vmm = settings::vmm();
        let home = env.home().to_owned();
        let variables: [(&str, &OsStr); 4] = [
            ("MSB_HOME", home.as_os_str()),
            ("MSB_KERNEL", env.kernel.as_os_str()),
            ("MSB_PROGRAM", env.program.as_os_str()),
            ("MSB_VMM", vmm.as_ref()),
        ];
        let sockets_before = sockets();
        let containerd = Containerd::start("ctr", shims, &variables)?;
        let image = containerd.import(&images::bare()?, IMAGE)?;
        Ok(Self {
            containerd,
            image,
            home,
            sockets_before,
            env,
        })
    }

    /// Returns a command of containerd's client.
    pub(crate) fn ctr(&self, arguments: &[&str]) -> Command {
        self.containerd.command(arguments)
    }

    /// Returns the command that runs a script in the shell of a new container.
    pub(crate) fn run_command(&self, id: &str, options: &[&str], script: &str) -> Command {
        let mut command = self.ctr(&["run", "--runtime", RUNTIME, "--snapshotter"]);
        command
            .arg(self.containerd.snapshotter())
            .args(options)
            .args([&self.image, id, "sh", "-c", script]);
        command
    }

    /// Runs a script in a new container to its end, and removes the container.
    pub(crate) fn run(&self, id: &str, options: &[&str], script: &str) -> Result<Output> {
        let options = [&["--rm"][..], options].concat();
        Ok(self.run_command(id, &options, script).output()?)
    }

    /// Starts a container that sleeps.
    pub(crate) fn start(&self, id: &str) -> Result<()> {
        let mut command = self.run_command(id, &["--detach"], "sleep 600");
        let output = command.stdin(Stdio::null()).output()?;
        if output.status.success() {
            return Ok(());
        }
        bail!(
            "{}\n{}",
            describe(&output),
            self.containerd.log_tail().unwrap_or_default()
        )
    }

    /// Returns the state of a task, such as `RUNNING`; `None` if there is none.
    pub(crate) fn status(&self, id: &str) -> Result<Option<String>> {
        let output = self.ctr(&["tasks", "ls"]).output()?;
        let listed = String::from_utf8(output.stdout)?;
        let mut lines = listed.lines().map(|line| line.split_whitespace());
        let status = lines.find_map(|mut words| {
            let is_it = words.next() == Some(id);
            is_it.then(|| words.nth(1).unwrap_or_default().to_owned())
        });
        Ok(status)
    }

    /// Waits until a task has a state.
    pub(crate) fn wait_for(&self, id: &str, status: Option<&str>) -> Result<()> {
        eventually(&format!("{id} is {status:?}"), || {
            Ok(self.status(id)?.as_deref() == status)
        })
    }

    /// Follows the events of containerd, in a file, from this moment on.
    pub(crate) fn follow_events(&self) -> Result<(Child, PathBuf)> {
        let file = self.env.work.join("events");
        let mut command = self.ctr(&["events"]);
        let follower = command.stdout(fs::File::create(&file)?.into_parts().0);
        let follower = follower.spawn()?;
        let mut number = 0;
        eventually("events are followed", || {
            number += 1;
            let label = format!("fleet={number}");
            let labelled = self
                .ctr(&["images", "label", &self.image, &label])
                .output()?;
            ensure!(labelled.status.success(), "{}", describe(&labelled));
            Ok(fs::metadata(&file)?.len() > 0)
        })?;
        Ok((follower, file))
    }

    /// Returns the process ID of the shim of a container.
    pub(crate) fn shim_of(&self, id: &str) -> Result<u32> {
        let shims = processes(&["containerd-shim-msb-v1", "serve", id])?;
        shims.first().copied().context("it has no shim")
    }

    /// Waits until nothing is left of any container: no process, mount, sandbox or socket.
    pub(crate) fn wait_until_empty(&self) -> Result<()> {
        let home = self.home.display().to_string();
        eventually("nothing is left", || {
            let containers = self.ctr(&["containers", "ls", "--quiet"]).output()?;
            Ok(containers.stdout.trim_ascii().is_empty()
                && processes(&[home.as_str(), "__vmm"])?.is_empty()
                && processes(&["containerd-shim-msb-v1", "-namespace", "fleet"])?.is_empty()
                && self.containerd.mounts()?.is_empty()
                && entries(&self.home.join("sandboxes")) == 0
                && sockets().is_subset(&self.sockets_before))
        })
    }
}

/// Waits for something that happens by itself.
pub(crate) fn eventually(what: &str, mut has_happened: impl FnMut() -> Result<bool>) -> Result<()> {
    let deadline = Instant::now() + LIMIT;
    while !has_happened()? {
        if Instant::now() >= deadline {
            bail!("not within {} s: {what}", LIMIT.as_secs());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

/// Returns the IDs of the processes whose command lines have all of these words.
fn processes(words: &[&str]) -> Result<Vec<u32>> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let entry = entry?;
        let Ok(id) = entry.file_name().to_string_lossy().parse::<u32>() else {
            continue;
        };
        // A process may end meanwhile.
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line);
        if words.iter().all(|word| line.contains(word)) {
            found.push(id);
        }
    }
    Ok(found)
}

/// Returns the names of the sockets at which nobody listens: those that shims have left.
fn sockets() -> BTreeSet<OsString> {
    let entries = fs::read_dir(SOCKETS).into_iter().flatten().flatten();
    let is_left = |path: &Path| {
        UnixStream::connect(path).is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
    };
    let left = entries.filter(|entry| is_left(&entry.path()));
    left.map(|entry| entry.file_name()).collect()
}

/// Returns the number of entries of a directory; 0 if it does not exist.
fn entries(directory: &Path) -> usize {
    fs::read_dir(directory).map_or(0, Iterator::count)
}
