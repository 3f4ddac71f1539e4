use std::ffi::OsString;
use std::os::fd::RawFd;

use msb_vmm::{
    AGENT_PORT_NAME, Disk, DiskAccess, DiskFormat, InvalidMachine, Machine, NetworkDevice, Share,
};

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

/// The board's virtio-mmio slots in the order in which the guest finds them: QEMU lists the last
/// one first. Slot 3 stays empty because its interrupt line, 8, is also the clock's.
const PLACES: [u8; 7] = [7, 6, 5, 4, 2, 1, 0];

/// Returns true if a slot is left for the entropy source, which is optional: the processor has
/// entropy too.
fn has_entropy(machine: &Machine) -> bool {
    let network = usize::from(machine.network.is_some());
    1 + machine.disks.len() + machine.shares.len() + network < PLACES.len()
}

/// Returns the number of slots before the disks: of the serial bus, and of the entropy source.
fn first_disk(machine: &Machine) -> usize {
    1 + usize::from(has_entropy(machine))
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

/// Kernel arguments for this board.
const KERNEL_WORDS: [&str; 4] = [
    // The board resets by triple fault; it has no keyboard controller.
    "reboot=t",
    // Emulated timers run late, and the kernel must not distrust them for that.
    "no_timer_check",
    "tsc=reliable",
    // The board offers 1024 entries for every queue, and the console's driver fills its incoming ones
    // with a page each: 12 MiB. msb's kernel makes them smaller; others ignore the word.
    "msb.virtio_queue_size=128",
];

/// Kernel arguments for a translated guest.
const TRANSLATED_WORDS: [&str; 3] = [
    // With several processors, `sched_clock_init_late` rewrites the instructions of
    // `sched_clock_cpu` by way of a breakpoint, while every other processor executes them. QEMU
    // before 8.1 may keep a translation with the breakpoint, which crashes the kernel
    // (`Oops: int3`, in a third of starts with four processors). Without this initcall the kernel
    // keeps the clock that it has until then.
    "initcall_blacklist=sched_clock_init_late",
    // A kernel with one processor takes out the locks of 9,000 instructions one by one, and each
    // throws a translation away. QEMU ignores the locks then anyway.
    "noreplace-smp",
    // QEMU's local APIC counts nanoseconds. msb's kernel does not measure that then; others
    // ignore the word.
    "msb.lapic_timer_khz=1000000",
];

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

/// Returns QEMU's arguments for `machine`, whose sockets are `fds`.
pub(crate) fn for_machine(
    machine: &Machine,
    accelerator: Accelerator,
    fds: &SocketFds,
) -> Result<Vec<OsString>, InvalidMachine> {
    machine.check(device_limit(machine.network.is_some()))?;
    let mut arguments = Arguments::default();
    arguments.board(machine, accelerator);
    arguments.kernel(machine, accelerator)?;
    arguments.serial_bus(machine);
    if has_entropy(machine) {
        arguments.device(OptionValue::new("virtio-rng-device").with("bus", &bus(1)));
    }
    if let Some(place) = balloon_place(machine) {
        arguments.balloon(place);
    }
    let mut places = first_disk(machine)..;
    let mut disk_fds = fds.disks.iter();
    for ((index, disk), place) in machine.disks.iter().enumerate().zip(&mut places) {
        let content = match disk.format {
            DiskFormat::Raw => file("raw", disk),
            DiskFormat::Vmdk => file("vmdk", disk),
            // The sockets were counted before.
            DiskFormat::Nbd => served(disk_fds.next().copied().unwrap_or(-1)),
        };
        arguments.disk(index, disk, content, place);
    }
    for ((share, fd), place) in machine.shares.iter().zip(&fds.shares).zip(&mut places) {
        arguments.share(share, *fd, place);
    }
    if let (Some(network), Some(place)) = (machine.network, places.next()) {
        arguments.network(network, place);
    }
    Ok(arguments.0)
}

#[derive(Default)]
struct Arguments(Vec<OsString>);

impl Arguments {
    fn board(&mut self, machine: &Machine, accelerator: Accelerator) {
        // No nested virtualisation: it is the hypervisor's largest attack surface and costs boot
        // time.
        let (accelerator, processor) = match accelerator {
            Accelerator::Kvm => ("kvm", "host,vmx=off,svm=off"),
            Accelerator::Tcg { .. } => ("tcg", "max,vmx=off,svm=off"),
        };
        let board = OptionValue::new("microvm")
            .with("accel", accelerator)
            .with("rtc", "on")
            .with("acpi", "off")
            .with("isa-serial", "off");
        let board = if machine.shares.is_empty() {
            board
        } else {
            board.with("memory-backend", "memory")
        };
        self.option("-machine", board.into_argument());
        self.option("-cpu", processor);
        self.option("-smp", machine.cpus.to_string());
        self.option("-m", machine.memory_mib.to_string());
        if !machine.shares.is_empty() {
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

    /// Adds guest memory that the server of a share can map.
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
            Accelerator::Tcg { .. } => &TRANSLATED_WORDS[..],
            Accelerator::Kvm => &[],
        };
        let words = KERNEL_WORDS.into_iter().chain(translated.iter().copied());
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
                .with("bus", &bus(0)),
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

    fn disk(&mut self, index: usize, disk: &Disk, content: OptionValue, place: usize) {
        let id = format!("disk{index}");
        let drive = content.with("id", &id);
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
            .with("bus", &bus(place));
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
            .with("bus", &bus(place));
        self.device(device);
    }

    /// Adds the balloon, through which the guest reports free memory that QEMU returns to the host.
    /// The host never asks for memory.
    fn balloon(&mut self, place: usize) {
        let device = OptionValue::new("virtio-balloon-device")
            .with("free-page-reporting", "on")
            .with("bus", &bus(place));
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
            .with("bus", &bus(place));
        self.device(device);
    }

    fn device(&mut self, device: OptionValue) {
        self.option("-device", device.into_argument());
    }

    fn chardev(&mut self, chardev: OptionValue) {
        self.option("-chardev", chardev.into_argument());
    }

    fn option(&mut self, name: &str, value: impl Into<OsString>) {
        self.0.extend([name.into(), value.into()]);
    }

    fn flags(&mut self, flags: &[&str]) {
        self.0.extend(flags.iter().map(OsString::from));
    }
}

/// The most disks and shares that a machine can have.
pub(crate) fn device_limit(has_network: bool) -> usize {
    PLACES.len() - 1 - usize::from(has_network)
}

/// Returns the last slot. `None` if another device needs it: the machine then has no balloon.
fn balloon_place(machine: &Machine) -> Option<usize> {
    let last = PLACES.len() - 1;
    let network = usize::from(machine.network.is_some());
    let taken = first_disk(machine) + machine.disks.len() + machine.shares.len() + network;
    (taken <= last).then_some(last)
}

/// Returns the bus of the device that the guest finds at position `index`.
fn bus(index: usize) -> String {
    format!("virtio-mmio-bus.{}", PLACES[index])
}

/// Returns the drive of a disk that QEMU opens itself.
fn file(format: &str, disk: &Disk) -> OptionValue {
    OptionValue::new("if=none")
        .with("format", format)
        .with("file.driver", "file")
        .with_path("file.filename", &disk.path)
}

/// Returns the drive of a disk whose NBD server is at the other end of a socket.
fn served(fd: RawFd) -> OptionValue {
    OptionValue::new("if=none")
        .with("format", "raw")
        .with("file.driver", "nbd")
        .with("file.server.type", "fd")
        .with("file.server.str", &fd.to_string())
}

#[cfg(test)]
mod tests {
    use msb_vmm::{ShareEntry, ShareKind, Shown};

    use super::*;

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
                disk("image", DiskFormat::Vmdk, DiskAccess::ReadOnly),
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
        let arguments = for_machine(&machine(), TCG, &SocketFds::default()).unwrap();
        assert_eq!(
            lines(&arguments),
            include_str!("../tests/golden/microvm.txt").trim_end()
        );
    }

    #[test]
    fn with_kvm_the_guest_gets_the_hosts_processor() {
        let arguments =
            lines(&for_machine(&machine(), Accelerator::Kvm, &SocketFds::default()).unwrap());
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
        let plain = lines(&for_machine(&machine(), TCG, &SocketFds::default()).unwrap());
        let arguments = lines(&for_machine(&networked, TCG, &SocketFds::default()).unwrap());
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
        let too_many = |machine: &Machine| match for_machine(machine, TCG, &SocketFds::default()) {
            Err(InvalidMachine::TooManyDevices { limit, .. }) => Some(limit),
            _ => None,
        };
        machine.disks.extend((3..5).map(more));
        let arguments = lines(&for_machine(&machine, TCG, &SocketFds::default()).unwrap());
        assert!(!arguments.contains("balloon"), "{arguments}");
        assert!(arguments.contains("virtio-rng-device"), "{arguments}");
        // The entropy source gives up its slot.
        machine.disks.push(more(5));
        let arguments = lines(&for_machine(&machine, TCG, &SocketFds::default()).unwrap());
        assert!(!arguments.contains("virtio-rng-device"), "{arguments}");
        machine.disks.push(more(6));
        assert_eq!(too_many(&machine), Some(6));
        machine.disks.pop();
        machine.network = Some(NetworkDevice { mac: [2; 6] });
        assert_eq!(too_many(&machine), Some(5));
    }

    #[test]
    fn a_served_disk_is_a_socket_and_no_path() {
        let mut machine = machine();
        machine.disks[1].format = DiskFormat::Nbd;
        let fds = SocketFds {
            disks: vec![7],
            ..SocketFds::default()
        };
        let arguments = lines(&for_machine(&machine, TCG, &fds).unwrap());
        let wanted = "\n-drive if=none,format=raw,file.driver=nbd,file.server.type=fd,\
                      file.server.str=7,id=disk1,discard=unmap\n";
        assert!(arguments.contains(wanted), "{arguments}");
        assert!(!arguments.contains("/store/upper"), "{arguments}");
    }

    #[test]
    fn a_share_has_a_socket_and_memory_that_can_be_mapped() {
        let entry = ShareEntry {
            name: "0".to_owned(),
            path: "/srv/a".into(),
            kind: ShareKind::Directory,
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
        let arguments = lines(&for_machine(&sharing, TCG, &fds).unwrap());
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
