use std::ffi::OsString;
use std::os::fd::RawFd;

use msb_vmm::{
    AGENT_PORT_NAME, Disk, DiskAccess, DiskFormat, InvalidMachine, Machine, NetworkDevice, Share,
};

use crate::board::Board;
use crate::option::OptionValue;

/// The executor of the guest's instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Accelerator {
    /// KVM, on the processor itself.
    Kvm,
    /// QEMU's translator. The guest is told the frequency of the time stamp counter, if it is
    /// known.
    Tcg { counter_khz: Option<u32> },
}

/// The answer to a request that the host cannot carry out: it fails. By default QEMU stops the machine if the
/// host's disk is full, until somebody continues it.
const ON_DISK_ERROR: &str = "report";

/// The number of requests in a share's queue.
const SHARE_QUEUE: &str = "128";

/// The file descriptor of the agent port's socket in QEMU: its standard input.
const AGENT_PORT_FD: &str = "0";

/// The file descriptor of the socket for frames in QEMU: its standard output.
const NETWORK_FD: &str = "1";

/// The restrictions of QEMU's own seccomp filter, which it applies to itself once it is set up.
const SANDBOX: &str = "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny";

/// The descriptors in QEMU of sockets of which a machine has several.
#[derive(Debug, Clone, Default)]
pub(crate) struct SocketFds {
    /// The socket of each share, in the order of the shares.
    pub(crate) shares: Vec<RawFd>,
    /// The socket of each served disk, in the order of the disks.
    pub(crate) disks: Vec<RawFd>,
}

/// Returns QEMU's arguments for `machine` on `board`. Its sockets are `fds`.
pub(crate) fn for_machine(
    machine: &Machine,
    board: &Board,
    accelerator: Accelerator,
    fds: &SocketFds,
) -> Result<Vec<OsString>, InvalidMachine> {
    machine.check(board.device_limit(machine.network.is_some()))?;
    let mut arguments = Arguments {
        board,
        words: Vec::new(),
    };
    arguments.board(machine, accelerator);
    arguments.kernel(machine, accelerator)?;
    arguments.serial_bus(machine);
    if board.has_entropy(machine) {
        arguments.device(OptionValue::new("virtio-rng-device").with("bus", &board.bus(1)));
    }
    if let Some(place) = board.balloon_place(machine) {
        arguments.balloon(place);
    }
    let mut places = board.first_disk(machine)..;
    let mut disk_fds = fds.disks.iter();
    for ((index, disk), place) in machine.disks.iter().enumerate().zip(&mut places) {
        match disk.format {
            DiskFormat::Raw => arguments.raw_disk(index, disk, place),
            DiskFormat::Served => {
                // The sockets were counted before.
                let fd = disk_fds.next().copied().unwrap_or(-1);
                arguments.served_disk(index, fd, place);
            }
        }
    }
    for ((share, fd), place) in machine.shares.iter().zip(&fds.shares).zip(&mut places) {
        arguments.share(share, *fd, place);
    }
    if let (Some(network), Some(place)) = (machine.network, places.next()) {
        arguments.network(network, place);
    }
    Ok(arguments.words)
}

struct Arguments<'a> {
    board: &'a Board,
    words: Vec<OsString>,
}

impl Arguments<'_> {
    fn board(&mut self, machine: &Machine, accelerator: Accelerator) {
        let (accelerator, processor) = match accelerator {
            Accelerator::Kvm => ("kvm", self.board.kvm_processor),
            Accelerator::Tcg { .. } => ("tcg", self.board.translated_processor),
        };
        let board = OptionValue::new(self.board.name).with("accel", accelerator);
        let properties = self.board.properties.iter();
        let board = properties.fold(board, |board, (name, value)| board.with(name, value));
        let board = if machine.has_mapped_memory() {
            board.with("memory-backend", "memory")
        } else {
            board
        };
        self.option("-machine", board.into_argument());
        self.option("-cpu", processor);
        self.option("-smp", machine.cpus.to_string());
        self.option("-m", machine.memory_mib.to_string());
        if machine.has_mapped_memory() {
            self.shared_memory(machine);
        }
        self.flags(&["-nodefaults", "-no-user-config", "-no-reboot"]);
        self.flags(&[
            "-display",
            "none",
            "-monitor",
            "none",
            "-serial",
            "none",
            "-parallel",
            "none",
        ]);
        self.option("-sandbox", SANDBOX);
    }

    /// Adds guest memory that the server of a share or a disk can map.
    ///
    /// It requires modern virtio devices: the queues of a legacy device lie where only QEMU finds
    /// them.
    fn shared_memory(&mut self, machine: &Machine) {
        let memory = OptionValue::new("memory-backend-memfd")
            .with("id", "memory")
            .with("size", &format!("{}M", machine.memory_mib))
            .with("share", "on");
        self.option("-object", memory.into_argument());
        self.option("-global", "virtio-mmio.force-legacy=false");
    }

    fn kernel(
        &mut self,
        machine: &Machine,
        accelerator: Accelerator,
    ) -> Result<(), InvalidMachine> {
        let counter = match accelerator {
            Accelerator::Tcg {
                counter_khz: Some(khz),
            } => Some(format!("tsc_early_khz={khz}")),
            _ => None,
        };
        let translated = match accelerator {
            Accelerator::Tcg { .. } => self.board.translated_words,
            Accelerator::Kvm => &[],
        };
        let words = self.board.kernel_words.iter().chain(translated).copied();
        let words: Vec<_> = words.chain(counter.as_deref()).collect();
        self.option("-kernel", &machine.kernel);
        self.option("-append", machine.kernel_command_line(&words)?);
        Ok(())
    }

    /// Adds the serial bus with its two ports: the console and the agent's.
    fn serial_bus(&mut self, machine: &Machine) {
        let console = OptionValue::new("file").with("id", "console");
        let agent = OptionValue::new("socket")
            .with("id", "agent")
            .with("fd", AGENT_PORT_FD);
        self.device(
            OptionValue::new("virtio-serial-device")
                .with("max_ports", "2")
                .with("bus", &self.board.bus(0)),
        );
        self.chardev(console.with_path("path", &machine.console_log));
        self.device(
            OptionValue::new("virtconsole")
                .with("chardev", "console")
                .with("nr", "0"),
        );
        self.chardev(agent);
        let agent_port = OptionValue::new("virtserialport").with("chardev", "agent");
        self.device(agent_port.with("nr", "1").with("name", AGENT_PORT_NAME));
    }

    /// Adds a raw disk, which QEMU opens itself.
    fn raw_disk(&mut self, index: usize, disk: &Disk, place: usize) {
        let id = format!("disk{index}");
        let drive = OptionValue::new("if=none")
            .with("format", "raw")
            .with("file.driver", "file")
            .with_path("file.filename", &disk.path)
            .with("id", &id);
        let drive = match disk.access {
            DiskAccess::ReadOnly => drive.with("readonly", "on"),
            DiskAccess::ReadWrite => drive.with("discard", "unmap"),
        };
        self.option("-drive", drive.into_argument());
        let device = OptionValue::new("virtio-blk-device")
            .with("drive", &id)
            .with("serial", &disk.serial)
            .with("rerror", ON_DISK_ERROR)
            .with("werror", ON_DISK_ERROR)
            .with("bus", &self.board.bus(place));
        self.device(device);
    }

    /// Adds a disk, whose requests go to the thread at the other end of the socket. It answers for its serial and for
    /// writes that are not allowed.
    fn served_disk(&mut self, index: usize, fd: RawFd, place: usize) {
        let id = format!("disk{index}");
        let socket = OptionValue::new("socket").with("id", &id);
        self.chardev(socket.with("fd", &fd.to_string()));
        let device = OptionValue::new("vhost-user-blk")
            .with("chardev", &id)
            .with("num-queues", "1")
            .with("bus", &self.board.bus(place));
        self.device(device);
    }

    /// Adds a share, whose requests go to the process at the other end of the socket.
    fn share(&mut self, share: &Share, fd: RawFd, place: usize) {
        let socket = OptionValue::new("socket")
            .with("id", &share.tag)
            .with("fd", &fd.to_string());
        self.chardev(socket);
        let device = OptionValue::new("vhost-user-fs-device")
            .with("chardev", &share.tag)
            .with("tag", &share.tag)
            .with("queue-size", SHARE_QUEUE)
            .with("bus", &self.board.bus(place));
        self.device(device);
    }

    /// Adds the balloon, through which the guest reports free memory that QEMU returns to the host.
    /// The host never asks for memory.
    fn balloon(&mut self, place: usize) {
        let device = OptionValue::new("virtio-balloon-device")
            .with("free-page-reporting", "on")
            .with("bus", &self.board.bus(place));
        self.device(device);
    }

    /// Adds the network device. Every version of QEMU accepts the form `socket` for a stream of
    /// frames, and offers the guest no offloads over it.
    fn network(&mut self, network: NetworkDevice, place: usize) {
        let frames = OptionValue::new("socket")
            .with("id", "network")
            .with("fd", NETWORK_FD);
        self.option("-netdev", frames.into_argument());
        let mac = network.mac.map(|byte| format!("{byte:02x}")).join(":");
        let device = OptionValue::new("virtio-net-device")
            .with("netdev", "network")
            .with("mac", &mac)
            .with("bus", &self.board.bus(place));
        self.device(device);
    }

    fn device(&mut self, device: OptionValue) {
        self.option("-device", device.into_argument());
    }

    fn chardev(&mut self, chardev: OptionValue) {
        self.option("-chardev", chardev.into_argument());
    }

    fn option(&mut self, name: &str, value: impl Into<OsString>) {
        self.words.extend([name.into(), value.into()]);
    }

    fn flags(&mut self, flags: &[&str]) {
        self.words.extend(flags.iter().map(OsString::from));
    }
}

#[cfg(test)]
mod tests {
    use msb_vmm::{ShareEntry, ShareKind, Shown};

    use super::*;
    use crate::board::{MICROVM, VIRT};

    const TCG: Accelerator = Accelerator::Tcg {
        counter_khz: Some(2_445_428),
    };

    fn disk(serial: &str, format: DiskFormat, access: DiskAccess) -> Disk {
        let path = format!("/store/{serial}").into();
        Disk {
            path,
            format,
            access,
            serial: serial.to_owned(),
        }
    }

    fn machine() -> Machine {
        Machine {
            kernel: "/kernel".into(),
            cpus: 2,
            memory_mib: 512,
            disks: vec![
                disk("image", DiskFormat::Raw, DiskAccess::ReadOnly),
                disk("upper", DiskFormat::Raw, DiskAccess::ReadWrite),
                disk("boot", DiskFormat::Raw, DiskAccess::ReadOnly),
            ],
            root_disk: 2,
            kernel_arguments: Vec::new(),
            console_log: "/run/console,log".into(),
            shares: Vec::new(),
            network: None,
        }
    }

    /// Formats the arguments for a person, one option on a line.
    fn lines(arguments: &[OsString]) -> String {
        let words = arguments.iter().map(|argument| argument.to_str().unwrap());
        words.collect::<Vec<_>>().join(" ").replace(" -", "\n-")
    }

    #[test]
    fn a_machine_becomes_this_command_line() {
        let arguments = for_machine(&machine(), &MICROVM, TCG, &SocketFds::default()).unwrap();
        assert_eq!(
            lines(&arguments),
            include_str!("../tests/golden/microvm.txt").trim_end()
        );
    }

    #[test]
    fn a_machine_of_arm64_becomes_this_command_line() {
        let translated = Accelerator::Tcg { counter_khz: None };
        let arguments = for_machine(&machine(), &VIRT, translated, &SocketFds::default()).unwrap();
        assert_eq!(
            lines(&arguments),
            include_str!("../tests/golden/virt.txt").trim_end()
        );
        let arguments = for_machine(&machine(), &VIRT, Accelerator::Kvm, &SocketFds::default());
        let arguments = lines(&arguments.unwrap());
        assert!(
            arguments.starts_with("-machine virt,accel=kvm,gic-version=max,"),
            "{arguments}"
        );
        assert!(arguments.contains("\n-cpu host\n"), "{arguments}");
    }

    #[test]
    fn the_largest_machine_of_arm64_has_a_bus_for_each_device() {
        let more = |index| disk(&format!("d{index}"), DiskFormat::Raw, DiskAccess::ReadOnly);
        let largest = Machine {
            disks: (0..14).map(more).collect(),
            network: Some(NetworkDevice { mac: [2; 6] }),
            ..machine()
        };
        let arguments = for_machine(&largest, &VIRT, TCG, &SocketFds::default()).unwrap();
        let arguments = lines(&arguments);
        for bus in 0..16 {
            let named = format!("bus=virtio-mmio-bus.{bus}");
            let mut words = arguments.split([',', '\n']);
            assert!(words.any(|word| word == named), "{bus}: {arguments}");
        }
    }

    #[test]
    fn with_kvm_the_guest_gets_the_hosts_processor() {
        let arguments = lines(
            &for_machine(
                &machine(),
                &MICROVM,
                Accelerator::Kvm,
                &SocketFds::default(),
            )
            .unwrap(),
        );
        assert!(
            arguments.starts_with("-machine microvm,accel=kvm,"),
            "{arguments}"
        );
        assert!(
            arguments.contains("\n-cpu host,vmx=off,svm=off\n"),
            "{arguments}"
        );
        assert!(!arguments.contains("tsc_early_khz"), "{arguments}");
        assert!(!arguments.contains("sched_clock"), "{arguments}");
    }

    #[test]
    fn a_network_device_takes_the_place_after_the_disks() {
        let mac = [2, 0x6d, 0x73, 0x62, 0, 2];
        let networked = Machine {
            network: Some(NetworkDevice { mac }),
            ..machine()
        };
        let plain = lines(&for_machine(&machine(), &MICROVM, TCG, &SocketFds::default()).unwrap());
        let arguments =
            lines(&for_machine(&networked, &MICROVM, TCG, &SocketFds::default()).unwrap());
        assert_eq!(
            arguments.strip_prefix(plain.as_str()).unwrap(),
            "\n-netdev socket,id=network,fd=1\n-device \
             virtio-net-device,netdev=network,mac=02:6d:73:62:00:02,bus=virtio-mmio-bus.1"
        );
    }

    #[test]
    fn a_disk_without_a_place_is_refused() {
        let mut machine = machine();
        let more = |index| {
            disk(
                &format!("more{index}"),
                DiskFormat::Raw,
                DiskAccess::ReadOnly,
            )
        };
        let too_many =
            |machine: &Machine| match for_machine(machine, &MICROVM, TCG, &SocketFds::default()) {
                Err(InvalidMachine::TooManyDevices { limit, .. }) => Some(limit),
                _ => None,
            };
        machine.disks.extend((3..5).map(more));
        let arguments =
            lines(&for_machine(&machine, &MICROVM, TCG, &SocketFds::default()).unwrap());
        assert!(!arguments.contains("balloon"), "{arguments}");
        assert!(arguments.contains("virtio-rng-device"), "{arguments}");
        // The entropy source gives up its slot.
        machine.disks.push(more(5));
        let arguments =
            lines(&for_machine(&machine, &MICROVM, TCG, &SocketFds::default()).unwrap());
        assert!(!arguments.contains("virtio-rng-device"), "{arguments}");
        machine.disks.push(more(6));
        assert_eq!(too_many(&machine), Some(6));
        machine.disks.pop();
        machine.network = Some(NetworkDevice { mac: [2; 6] });
        assert_eq!(too_many(&machine), Some(5));
    }

    #[test]
    fn a_served_disk_is_a_socket_with_memory_that_can_be_mapped() {
        let mut machine = machine();
        machine.disks[1].format = DiskFormat::Served;
        let fds = SocketFds {
            disks: vec![7],
            ..SocketFds::default()
        };
        let arguments = lines(&for_machine(&machine, &MICROVM, TCG, &fds).unwrap());
        for wanted in [
            ",memory-backend=memory\n",
            "\n-object memory-backend-memfd,id=memory,size=512M,share=on\n",
            "\n-chardev socket,id=disk1,fd=7\n",
            "\n-device vhost-user-blk,chardev=disk1,num-queues=1,bus=virtio-mmio-bus.4\n",
        ] {
            assert!(arguments.contains(wanted), "{wanted}: {arguments}");
        }
        assert!(!arguments.contains("/store/upper"), "{arguments}");
    }

    #[test]
    fn a_share_has_a_socket_and_memory_that_can_be_mapped() {
        let entry = ShareEntry {
            name: "0".to_owned(),
            path: "/srv/a".into(),
            kind: ShareKind::Directory,
            target: "/mnt".to_owned(),
            rules: Vec::new(),
        };
        let share = Share {
            tag: "msb-share-0".to_owned(),
            access: DiskAccess::ReadOnly,
            shown: Shown::Entries(vec![entry]),
        };
        let sharing = Machine {
            shares: vec![share],
            ..machine()
        };
        let fds = SocketFds {
            shares: vec![9],
            ..SocketFds::default()
        };
        let arguments = lines(&for_machine(&sharing, &MICROVM, TCG, &fds).unwrap());
        for wanted in [
            ",memory-backend=memory",
            "\n-object memory-backend-memfd,id=memory,size=512M,share=on",
            "\n-chardev socket,id=msb-share-0,fd=9",
            "\n-device vhost-user-fs-device,chardev=msb-share-0,tag=msb-share-0,queue-size=128,\
             bus=virtio-mmio-bus.1",
        ] {
            assert!(arguments.contains(wanted), "{wanted}: {arguments}");
        }
        // QEMU is not told the directory.
        assert!(!arguments.contains("/srv/a"), "{arguments}");
    }
}
