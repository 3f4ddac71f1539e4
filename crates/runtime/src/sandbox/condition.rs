use std::io;

use fs_err as fs;
use msb_machine_records::Exit;
use serde::Serialize;

use super::{Lock, Resources, Sandbox, UpperPool};
use crate::LaunchSpec;

/// The state of a sandbox's machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// The sandbox has never had a machine.
    Created,
    /// The machine is running.
    Running,
    /// The machine is running, and the processes in it are frozen.
    Paused,
    /// The machine has ended; the upper disk is kept.
    Stopped,
}

impl State {
    /// Returns true if the sandbox has a machine, whether its processes are frozen or not.
    pub const fn is_up(self) -> bool {
        matches!(self, Self::Running | Self::Paused)
    }
}

/// A sandbox's state, last start and last exit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Condition {
    /// The state of the machine.
    pub state: State,
    /// Seconds since the epoch of the last start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_s: Option<u64>,
    /// The main command's exit, the last one if it was restarted; `None` if it has not ended. Without a
    /// main command it is the end of the machine, if that was killed or a limit has ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<Exit>,
}

impl Sandbox {
    /// Returns the state of the machine. It is running while a process holds the sandbox's lock. That it
    /// is paused is the word of its own process.
    ///
    /// # Errors
    /// If the lock cannot be opened.
    pub fn state(&self) -> io::Result<State> {
        if Lock::is_held(&self.files)? {
            // The file may be of any type.
            let is_paused = fs::symlink_metadata(self.files.paused()).is_ok();
            return Ok(if is_paused {
                State::Paused
            } else {
                State::Running
            });
        }
        let was_started = fs::exists(self.files.launch_spec())?;
        Ok(if was_started {
            State::Stopped
        } else {
            State::Created
        })
    }

    /// Returns the main command's last recorded exit; `None` if no exit is recorded.
    pub fn first_exit(&self) -> Option<Exit> {
        Exit::read(&self.files.exit())
    }

    /// Returns the resources of the running machine; `None` while they are unknown.
    /// The sandbox's description holds the resources of the next machine.
    pub fn machine_resources(&self) -> Option<Resources> {
        let machine = LaunchSpec::read(&self.files).ok()?.machine;
        Some(Resources {
            cpus: machine.cpus,
            memory_mib: machine.memory_mib,
            // The disks of a running machine do not grow.
            upper_bytes: UpperPool::existing(&self.files).ok()?.size_bytes().ok()?,
        })
    }

    /// Returns true if the guest of a sandbox without a main command, which is not running, has not shut
    /// down.
    fn was_up(&self) -> bool {
        // The file may be of any type.
        fs::symlink_metadata(self.files.up()).is_ok()
    }

    /// Returns the sandbox's state, last start and last exit.
    ///
    /// # Errors
    /// If the lock cannot be opened.
    pub fn condition(&self) -> io::Result<Condition> {
        let state = self.state()?;
        let started_s = match state {
            State::Created => None,
            // The first start may not have written the launch spec yet.
            State::Running | State::Paused | State::Stopped => LaunchSpec::read(&self.files)
                .ok()
                .map(|launch_spec| launch_spec.started_s),
        };
        let exit = match (state, self.first_exit()) {
            (State::Stopped, None) if !self.spec.process.argv.is_empty() || self.was_up() => {
                Some(Exit::killed(None))
            }
            (_, exit) => exit,
        };
        Ok(Condition {
            state,
            started_s,
            exit,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Home;
    use crate::mounts::Layout;
    use crate::sandbox::{AdoptError, BootFiles, Changes, Spec, upper};

    #[test]
    fn only_a_sandbox_with_a_machine_is_paused() {
        let root = tempfile::tempdir().expect("a directory");
        let home = Home::new(root.path());
        let sandbox = Sandbox::for_tests(&home, Spec::for_tests("a"));
        let state = || sandbox.state().expect("looked");
        fs::create_dir_all(sandbox.files.written()).expect("made");
        fs::write(sandbox.files.paused(), "").expect("written");
        assert_eq!(state(), State::Created);
        let held = sandbox.lock().expect("a lock file").expect("free");
        assert_eq!(state(), State::Paused);
        fs::remove_file(sandbox.files.paused()).expect("removed");
        assert_eq!(state(), State::Running);
        drop(held);
    }

    #[test]
    fn a_machine_that_was_killed_is_told_from_one_that_was_stopped() {
        let root = tempfile::tempdir().expect("a directory");
        let home = Home::new(root.path());
        let sandbox = Sandbox::for_tests(&home, Spec::for_tests("a"));
        fs::write(sandbox.files.launch_spec(), "{}").expect("written");
        fs::create_dir_all(sandbox.files.written()).expect("made");
        let exit = || sandbox.condition().expect("looked").exit;
        assert_eq!(exit(), None);
        fs::write(sandbox.files.up(), "").expect("written");
        let held = sandbox.lock().expect("a lock file").expect("free");
        assert_eq!(exit(), None);
        drop(held);
        assert_eq!(exit(), Some(Exit::killed(None)));
    }

    #[test]
    fn a_machine_has_what_it_was_started_with() {
        let root = tempfile::tempdir().expect("a directory");
        let home = Home::new(root.path());
        let mut sandbox = Sandbox::for_tests(&home, Spec::for_tests("a"));
        assert_eq!(sandbox.machine_resources(), None);
        let made = UpperPool::create(&sandbox.files, 1 << 20, true, |_| Ok::<_, AdoptError>(()));
        made.expect("made");
        let boot_files = BootFiles {
            kernel: "kernel".into(),
            boot_disk: "boot".into(),
            image_vmdk: Some("image".into()),
            now_s: 0,
        };
        let layout = Layout::default();
        let upper = upper::disk(&sandbox.files);
        let machine = sandbox
            .spec
            .machine(&sandbox.files, &boot_files, upper, layout);
        let launch_spec = LaunchSpec::for_tests(machine);
        let json = serde_json::to_vec(&launch_spec).expect("written");
        fs::write(sandbox.files.launch_spec(), json).expect("written");
        let changes = Changes {
            cpus: Some(4),
            memory_mib: Some(4096),
            upper_bytes: Some(20 << 30),
        };
        sandbox.update(changes).expect("changed");
        let expected = Resources {
            cpus: 1,
            memory_mib: 64,
            upper_bytes: 1 << 20,
        };
        assert_eq!(sandbox.machine_resources(), Some(expected));
    }
}
