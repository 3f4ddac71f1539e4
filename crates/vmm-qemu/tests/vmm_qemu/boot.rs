use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use msb_jail::Strictness;
use msb_vmm::{Disk, DiskAccess, DiskFormat, Machine, ServedDisk, Sockets, Vmm as _};
use msb_vmm_qemu::Qemu;
use vhost_block::{BlockDevice, Identity};

use crate::guest::Guest;
use crate::host::Host;

/// Returns the line that a guest should print about a disk.
fn line(letter: char, disk: &Disk, access: &str, content: &[u8]) -> String {
    let hash = content
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        });
    format!(
        "disk vd{letter} {} {access} {} {hash:016x}",
        disk.serial,
        content.len()
    )
}

/// Returns bytes that differ from block to block.
fn noise(length: usize, seed: u32) -> Vec<u8> {
    let mut state = seed;
    let step = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    };
    std::iter::repeat_with(step).take(length).collect()
}

fn sockets(port: UnixStream) -> Sockets {
    Sockets {
        agent_port: OwnedFd::from(port),
        network: None,
        shares: Vec::new(),
        disks: Vec::new(),
    }
}

/// Boots `machine`, runs `talk` with it, and waits for its end. The machine's error comes first,
/// because it explains more than a failed talk.
fn boot(machine: &Machine, disks: Vec<ServedDisk>, talk: impl FnOnce(&mut Host) + Send) {
    let (mut host, port) = Host::new();
    let sockets = Sockets {
        disks,
        ..sockets(port)
    };
    thread::scope(|scope| {
        let talk = scope.spawn(move || talk(&mut host));
        let ended = Qemu::from_environment().run(machine, sockets, Strictness::Off);
        let talked = talk.join();
        ended.expect("an orderly end");
        let console = fs::read_to_string(&machine.console_log).unwrap();
        talked.unwrap_or_else(|_| panic!("the talk failed; the console says: {console}"));
    });
}

#[test]
fn boot_shows_disks_in_order_and_carries_bytes_both_ways() {
    let guest = Guest::new();
    let image = noise(512 * 49, 1);
    let (upper, plain) = (noise(1 << 20, 4), noise(1 << 16, 5));
    let disks = vec![
        guest.raw_disk("image", DiskAccess::ReadOnly, &image),
        guest.raw_disk("upper", DiskAccess::ReadWrite, &upper),
        guest.raw_disk("twenty-bytes-serial_", DiskAccess::ReadOnly, &plain),
        guest.raw_disk("more.1", DiskAccess::ReadOnly, &plain[..512]),
        Disk {
            format: DiskFormat::Served,
            ..guest.raw_disk("served", DiskAccess::ReadWrite, &upper)
        },
    ];
    let expected = [
        line('a', &disks[0], "ro", &image),
        line('b', &disks[1], "rw", &upper),
        line('c', &disks[2], "ro", &plain),
        line('d', &disks[3], "ro", &plain[..512]),
        line('e', &disks[4], "rw", &upper),
    ];
    let machine = guest.machine(disks);
    let sent = noise(10 << 20, 6);
    let (socket, served) = serve(guest.path("served"));
    boot(&machine, vec![ServedDisk::Connection(socket)], |host| {
        let report = host.read_report();
        assert_eq!(report[..5], expected);
        assert!(report[5].starts_with("disk vdf root ro "), "{report:?}");
        assert_clock_is_right(&report[6]);
        assert_clock_is_fine(&report[7]);
        assert_eq!(report[8], "cpus 2");
        let inverted: Vec<u8> = sent.iter().map(|byte| !byte).collect();
        assert!(host.echo(&sent) == inverted, "10 MiB come back changed");
    });
    served.join().unwrap();
    for name in ["upper", "served"] {
        let written = fs::read(guest.path(name)).unwrap();
        assert_eq!(written[..upper.len() - 512], upper[..upper.len() - 512]);
        assert_eq!(written[upper.len() - 512..], [0xa5; 512]);
    }
    let console = fs::read_to_string(&machine.console_log).unwrap();
    assert!(console.contains("guest: console speaks"), "{console}");
}

/// Serves a file on a thread that ends with the connection, whose other end is returned.
fn serve(path: PathBuf) -> (OwnedFd, JoinHandle<()>) {
    let socket = path.with_extension("sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let connected = UnixStream::connect(&socket).unwrap();
    let file = fs::File::options().read(true).write(true).open(path);
    let disk = Arc::new(Mutex::new(FileDisk(file.unwrap())));
    let identity = Identity {
        serial: "served".to_owned(),
        is_read_only: false,
    };
    let device = BlockDevice::new(disk, &identity, |reason| panic!("the disk ended: {reason}"));
    let serving = move || device.serve(listener).unwrap();
    (connected.into(), thread::spawn(serving))
}

/// A raw file that is served.
struct FileDisk(fs::File);

impl served_disk::Disk for FileDisk {
    fn size_bytes(&self) -> u64 {
        self.0.metadata().unwrap().len()
    }

    fn read(&mut self, buf: &mut [u8], offset_bytes: u64) -> io::Result<()> {
        self.0.read_exact_at(buf, offset_bytes)
    }

    fn write(&mut self, bytes: &[u8], offset_bytes: u64) -> io::Result<()> {
        self.0.write_all_at(bytes, offset_bytes)
    }

    fn zero(&mut self, offset_bytes: u64, length_bytes: u64) -> io::Result<()> {
        let zeros = vec![0; usize::try_from(length_bytes).unwrap()];
        self.write(&zeros, offset_bytes)
    }

    fn discard(&mut self, _offset_bytes: u64, _length_bytes: u64) -> io::Result<()> {
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.sync_data()
    }
}

fn assert_clock_is_right(line: &str) {
    let now = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let clock: u64 = line.strip_prefix("clock ").unwrap().parse().unwrap();
    assert!(
        clock.abs_diff(now) < 60,
        "the guest's clock says {clock}, ours {now}"
    );
}

/// Checks that the guest's clock is precise. The host must report its counter's frequency or
/// virtualise; otherwise any clock passes.
fn assert_clock_is_fine(line: &str) {
    let cpu_info = fs::read_to_string("/proc/cpuinfo").unwrap();
    let sources = ["tsc", "kvm-clock", "arch_sys_counter"];
    let is_fine = sources.iter().any(|source| line.contains(source));
    assert!(is_fine || !cpu_info.contains(" hypervisor "), "{line}");
}

#[test]
fn boot_that_cannot_start_says_why() {
    let guest = Guest::new();
    let image = guest.raw_disk("image", DiskAccess::ReadOnly, &[0; 512]);
    let mut machine = guest.machine(vec![image]);
    // It can be opened, but not as a disk.
    fs::remove_file(guest.path("image")).unwrap();
    fs::create_dir(guest.path("image")).unwrap();
    let error = end_of(&machine);
    assert!(
        error.starts_with("qemu ended with exit status: 1: "),
        "{error}"
    );
    assert!(error.contains("image"), "{error}");

    machine.disks[0].path = guest.path("no such disk");
    let error = end_of(&machine);
    assert!(
        error.starts_with("cannot open the disk ") && error.ends_with("/no such disk"),
        "{error}"
    );
}

fn end_of(machine: &Machine) -> String {
    let (_host, port) = Host::new();
    Qemu::from_environment()
        .run(machine, sockets(port), Strictness::Off)
        .unwrap_err()
        .to_string()
}

/// The environment variable that tells a test process which machine to run.
const MACHINE_VARIABLE: &str = "MSB_TEST_MACHINE";

#[test]
fn boot_dies_with_its_process() {
    let guest = Guest::new();
    let machine = guest.machine(Vec::new());
    let mut process = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "boot::machine_of_another_process", "--ignored"])
        .env(MACHINE_VARIABLE, serde_json::to_string(&machine).unwrap())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let kernel = machine.kernel.to_str().unwrap();
    await_condition("QEMU to boot", || {
        fs::read_to_string(&machine.console_log).is_ok_and(|console| console.contains("speaks"))
    });
    assert!(is_in_a_command_line(kernel));
    process.kill().unwrap();
    process.wait().unwrap();
    await_condition("QEMU to be gone", || !is_in_a_command_line(kernel));
}

#[test]
#[ignore = "is started by the test above, in a process of its own"]
fn machine_of_another_process() {
    let machine = std::env::var(MACHINE_VARIABLE).expect("a machine to run");
    let machine: Machine = serde_json::from_str(&machine).unwrap();
    let (_host, port) = Host::new();
    // The confinement must not keep the machine alive.
    let ended = Qemu::from_environment().run(&machine, sockets(port), Strictness::Auto);
    ended.unwrap();
}

/// Returns true if any process has `word` in its command line.
fn is_in_a_command_line(word: &str) -> bool {
    let processes = fs::read_dir("/proc")
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut command_lines = processes.filter_map(|path| fs::read(path.join("cmdline")).ok());
    command_lines.any(|line| String::from_utf8_lossy(&line).contains(word))
}

fn await_condition(what: &str, mut is_met: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_met() {
        assert!(
            start.elapsed() < Duration::from_secs(180),
            "waited too long for {what}"
        );
        thread::sleep(Duration::from_millis(20));
    }
}
