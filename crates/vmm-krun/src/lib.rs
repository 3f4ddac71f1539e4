//! The libkrun backend: machines on hardware virtualisation.
//!
//! libkrun is linked as a library and takes over its process: once a machine has started, the
//! process exits with it, with status 0 after the guest's reboot. So [`Krun::run`] returns only if
//! the machine could not start. libkrun writes its errors to standard error.
//!
//! The guest has a balloon, an entropy source, a console, the agent's port, its disks and its
//! shared directories. It has a network device if it is given a socket for frames, and no vsock.
//! The agent opens its port once: libkrun ends the machine when a guest opens a port a second time.

#![warn(clippy::as_conversions)]

mod console;
mod context;
mod huge_pages;

use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;

use imago::Registered;
use msb_jail::{Access, Calls, Jail, Strictness};
use msb_vmm::{
    AGENT_PORT_NAME, Backend, DiskFormat, InvalidMachine, KrunBackend, Machine, RunError,
    ServedDisk, Shown, Sockets, Unavailable, Vmm,
};

use crate::console::Console;
use crate::context::{Context, SetupError};
use crate::huge_pages::MemorySearch;

const NAME: &str = "krun";

/// Kernel arguments for this board.
const KERNEL_WORDS: [&str; 7] = [
    // libkrun ends the machine when the keyboard controller resets it.
    "reboot=k",
    // The process ends with the machine: what a panic says is to be in the log by then.
    "panic=1",
    "panic_print=0",
    "nomodule",
    // Asynchronous page faults cost more than they save in a small guest.
    "no-kvmapf",
    // The host's timers may run late, and the kernel must not distrust them for that.
    "no_timer_check",
    "tsc=reliable",
];

/// The libkrun backend.
#[derive(Debug, Clone, Copy, Default)]
pub struct Krun;

impl Backend for Krun {
    fn name(&self) -> &'static str {
        KrunBackend.name()
    }

    fn probe(&self) -> Result<(), Unavailable> {
        KrunBackend.probe()
    }

    fn serves_shares(&self) -> bool {
        KrunBackend.serves_shares()
    }

    fn device_limit(&self, has_network: bool) -> usize {
        KrunBackend.device_limit(has_network)
    }
}

impl Vmm for Krun {
    /// The machine's files, its shared directories and `/dev/kvm`; no programs and no sockets.
    fn jail(&self, machine: &Machine) -> Result<Jail, RunError> {
        let mut calls = machine
            .shares
            .iter()
            .map(|share| share.access.calls_to_serve());
        let is_writable = calls.any(|calls| calls == Calls::Share);
        let calls = if is_writable {
            Calls::Share
        } else {
            Calls::Vmm
        };
        let mut jail = machine.jail(calls);
        for share in &machine.shares {
            if let Shown::Directory(directory) = &share.shown {
                jail = jail.with(directory, share.access.to_directory());
            }
        }
        Ok(jail.with_any(["/dev/kvm"], Access::Device))
    }

    /// Returns true: libkrun serves the guest's requests on threads of this process, and finds an open
    /// disk through the crate `imago`.
    fn calls_served_disks(&self) -> bool {
        true
    }

    /// Enters the machine. The process exits when the guest reboots.
    fn run(
        &self,
        machine: &Machine,
        sockets: Sockets,
        strictness: Strictness,
    ) -> Result<(), RunError> {
        machine.check_files()?;
        let console = Console::start(&machine.console_log, strictness)?;
        let described = describe(machine, &console.path(), sockets);
        let (context, _kept) = described.map_err(run_error)?;
        let memory = MemorySearch::new(machine.memory_mib);
        self.jail(machine)?.put_on(strictness)?;
        // The thread is confined like this one.
        if let Some(memory) = memory {
            memory.start();
        }
        Err(run_error(context.start_enter().into()))
    }
}

fn run_error(error: SetupError) -> RunError {
    match error {
        SetupError::Machine(source) => RunError::Input { vmm: NAME, source },
        SetupError::Call(error) => RunError::Failed {
            vmm: NAME,
            outcome: error.to_string(),
        },
        SetupError::Register(source) => RunError::Io {
            action: "hand an open disk to libkrun".to_owned(),
            source,
        },
    }
}

/// Parts of a description that libkrun knows by a number or a path until the machine starts.
struct Kept {
    _agent_port: OwnedFd,
    _disks: Vec<Registered>,
}

/// The machine as libkrun knows it, with its console at a path, and what has to be kept until the machine starts.
fn describe(
    machine: &Machine,
    console: &Path,
    sockets: Sockets,
) -> Result<(Context, Kept), SetupError> {
    sockets.check(machine)?;
    sockets.check_disks(machine, Krun.calls_served_disks())?;
    sockets.check_shares(machine, Krun.serves_shares())?;
    machine.check(Krun.device_limit(machine.network.is_some()))?;
    let command_line = machine.kernel_command_line(&KERNEL_WORDS)?;
    let mut context = Context::new()?;
    context.set_size(machine.cpus, machine.memory_mib)?;
    context.set_kernel(&machine.kernel, &command_line)?;
    context.disable_vsock()?;
    context.set_console_log(console)?;
    context.add_port(AGENT_PORT_NAME, sockets.agent_port.as_fd())?;
    let disks = add_disks(&mut context, machine, sockets.disks)?;
    for share in &machine.shares {
        context.add_share(share)?;
    }
    if let (Some(device), Some(socket)) = (machine.network, sockets.network) {
        context.add_network(device, socket)?;
    }
    let kept = Kept {
        _agent_port: sockets.agent_port,
        _disks: disks,
    };
    Ok((context, kept))
}

/// Adds all disks of the machine, and registers those that are open.
fn add_disks(
    context: &mut Context,
    machine: &Machine,
    served: Vec<ServedDisk>,
) -> Result<Vec<Registered>, SetupError> {
    let mut registered = Vec::new();
    let mut served = served.into_iter();
    for disk in &machine.disks {
        let open = match disk.format {
            DiskFormat::Raw => None,
            DiskFormat::Served => served.next(),
        };
        let Some(ServedDisk::Open(open)) = open else {
            context.add_disk(disk, None)?;
            continue;
        };
        let open = imago::register(open).map_err(SetupError::Register)?;
        context.add_disk(disk, Some(&open))?;
        registered.push(open);
    }
    Ok(registered)
}

impl From<InvalidMachine> for SetupError {
    fn from(error: InvalidMachine) -> Self {
        Self::Machine(error)
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::os::unix::net::UnixStream;
    use std::path::PathBuf;

    use msb_vmm::{Disk, DiskAccess, NetworkDevice, Share};

    use super::*;

    fn machine() -> Machine {
        let disk = |serial: &str| Disk {
            path: PathBuf::from("/dev/null"),
            format: DiskFormat::Raw,
            access: DiskAccess::ReadOnly,
            serial: serial.to_owned(),
        };
        Machine {
            kernel: PathBuf::from("/dev/null"),
            cpus: 1,
            memory_mib: 256,
            disks: vec![disk("image"), disk("boot")],
            root_disk: 1,
            kernel_arguments: Vec::new(),
            console_log: PathBuf::from("/dev/null"),
            shares: Vec::new(),
            network: None,
        }
    }

    fn sockets(network: Option<UnixStream>) -> Sockets {
        let (port, _) = UnixStream::pair().unwrap();
        Sockets {
            agent_port: port.into(),
            network: network.map(Into::into),
            shares: Vec::new(),
            disks: Vec::new(),
        }
    }

    fn described(machine: &Machine, sockets: Sockets) -> Result<(Context, Kept), SetupError> {
        describe(machine, Path::new("/dev/null"), sockets)
    }

    fn run(machine: &Machine) -> RunError {
        Krun.run(machine, sockets(None), Strictness::Off)
            .unwrap_err()
    }

    #[test]
    fn a_plain_machine_can_be_described() {
        assert!(described(&machine(), sockets(None)).is_ok());
    }

    #[test]
    fn a_network_device_and_its_socket_go_together() {
        let (frames, _kept) = UnixStream::pair().unwrap();
        let mut networked = machine();
        networked.network = Some(NetworkDevice { mac: [2; 6] });
        assert!(described(&networked, sockets(Some(frames))).is_ok());
        let RunError::Input { source, .. } = run(&networked) else {
            panic!("an input error")
        };
        assert_eq!(source, InvalidMachine::NetworkSocket);
    }

    #[test]
    fn a_shared_directory_is_described_and_left_by_the_jail() {
        let directory = tempfile::tempdir().unwrap();
        let share = |tag: &str, access| Share {
            tag: tag.to_owned(),
            access,
            shown: Shown::Directory(directory.path().to_owned()),
        };
        let mut machine = machine();
        machine.shares = vec![share("read", DiskAccess::ReadOnly)];
        assert!(described(&machine, sockets(None)).is_ok());
        let jail = Krun.jail(&machine).unwrap();
        assert_eq!(jail.calls(), Calls::Vmm);
        let left: Vec<_> = jail.files().collect();
        assert!(left.contains(&(directory.path(), Access::Read)));
        machine.shares.push(share("write", DiskAccess::ReadWrite));
        assert!(described(&machine, sockets(None)).is_ok());
        assert_eq!(Krun.jail(&machine).unwrap().calls(), Calls::Share);
    }

    /// A disk of 1 MiB without content.
    struct NoDisk;

    impl served_disk::Disk for NoDisk {
        fn size_bytes(&self) -> u64 {
            1 << 20
        }

        fn read(&mut self, _: &mut [u8], _: u64) -> io::Result<()> {
            Ok(())
        }

        fn write(&mut self, _: &[u8], _: u64) -> io::Result<()> {
            Ok(())
        }

        fn zero(&mut self, _: u64, _: u64) -> io::Result<()> {
            Ok(())
        }

        fn discard(&mut self, _: u64, _: u64) -> io::Result<()> {
            Ok(())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_served_disk_has_to_be_open() {
        let mut machine = machine();
        machine.disks[0].format = DiskFormat::Served;
        let RunError::Input { source, .. } = run(&machine) else {
            panic!("an input error")
        };
        let expected = InvalidMachine::ServedDisks {
            disks: 1,
            served: 0,
        };
        assert_eq!(source, expected);
        let mut open = sockets(None);
        open.disks = vec![ServedDisk::Open(Box::new(NoDisk))];
        assert!(described(&machine, open).is_ok());
        let (connection, _) = UnixStream::pair().unwrap();
        let mut connected = sockets(None);
        connected.disks = vec![ServedDisk::Connection(connection.into())];
        assert!(described(&machine, connected).is_err());
    }

    #[test]
    fn a_confined_thread_finds_an_open_disk_by_its_path_and_no_file() {
        let directory = tempfile::tempdir().unwrap();
        let other = directory.path().join("other");
        std::fs::write(&other, "of another sandbox").unwrap();
        let registered = imago::register(Box::new(NoDisk)).unwrap();
        let jail = Krun.jail(&machine()).unwrap();
        let confined = std::thread::spawn(move || {
            jail.put_on(Strictness::Required).unwrap();
            let mut to_change = std::fs::File::options();
            to_change.read(true).write(true);
            (
                to_change.open(registered.path()).is_ok(),
                to_change.open(&other).is_ok(),
            )
        });
        assert_eq!(confined.join().unwrap(), (true, false));
    }

    #[test]
    fn what_libkrun_cannot_serve_is_refused() {
        let mut machine = machine();
        machine.shares = vec![Share {
            tag: "several".to_owned(),
            access: DiskAccess::ReadOnly,
            shown: Shown::Entries(Vec::new()),
        }];
        let RunError::Input { source, .. } = run(&machine) else {
            panic!("an input error")
        };
        let tag = "several".to_owned();
        assert_eq!(source, InvalidMachine::ShareContent { tag });
    }

    #[test]
    fn a_disk_without_an_interrupt_line_is_refused() {
        let mut machine = machine();
        let more = |index| Disk {
            serial: format!("more{index}"),
            ..machine.disks[0].clone()
        };
        let more: Vec<_> = (2..8).map(more).collect();
        machine.disks.extend(more);
        let RunError::Input { source, .. } = run(&machine) else {
            panic!("an input error")
        };
        assert_eq!(
            source,
            InvalidMachine::TooManyDevices {
                disks: 8,
                shares: 0,
                limit: 7
            }
        );
    }

    #[test]
    fn what_libkrun_refuses_carries_the_call_and_the_error_number() {
        // Its kernel is empty.
        assert_eq!(
            run(&machine()).to_string(),
            "krun ended with krun_start_enter: Invalid argument (os error 22)"
        );
    }
}
