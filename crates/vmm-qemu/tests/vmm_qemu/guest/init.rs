//! The whole user space of a test machine. It describes its disks, writes to those that it may,
//! echoes what it receives, and powers off. The test compiles it statically, without cargo.

use std::ffi::{CString, c_char};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ptr;

unsafe extern "C" {
    fn mount(
        source: *const c_char,
        target: *const c_char,
        kind: *const c_char,
        flags: u64,
        data: *const c_char,
    ) -> i32;
    fn reboot(command: i32) -> i32;
}

const CLOCK_SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
const RESTART: i32 = 0x0123_4567;

fn main() {
    println!("guest: console speaks");
    for (kind, target) in [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev")] {
        let (kind, target) = (CString::new(kind).unwrap(), CString::new(target).unwrap());
        // SAFETY: both strings are NUL-terminated.
        unsafe {
            mount(
                kind.as_ptr(),
                target.as_ptr(),
                kind.as_ptr(),
                0,
                ptr::null(),
            )
        };
    }
    let mut port = open_port("msb.agent");
    for disk in disks() {
        port.write_all(describe(&disk).as_bytes()).unwrap();
    }
    port.write_all(format!("clock {}\n", seconds_since_1970()).as_bytes())
        .unwrap();
    let source = fs::read_to_string(CLOCK_SOURCE).unwrap();
    port.write_all(format!("clock source {source}").as_bytes())
        .unwrap();
    let cpus = std::thread::available_parallelism().unwrap();
    port.write_all(format!("cpus {cpus}\n").as_bytes()).unwrap();
    port.write_all(b"ready\n").unwrap();
    echo(&mut port);
    // SAFETY: the call takes no pointer.
    unsafe { reboot(RESTART) };
}

fn open_port(name: &str) -> File {
    for entry in fs::read_dir("/sys/class/virtio-ports").unwrap() {
        let entry = entry.unwrap();
        if fs::read_to_string(entry.path().join("name"))
            .unwrap_or_default()
            .trim()
            == name
        {
            let device = format!("/dev/{}", entry.file_name().to_str().unwrap());
            return OpenOptions::new()
                .read(true)
                .write(true)
                .open(device)
                .unwrap();
        }
    }
    panic!("no port {name}");
}

fn disks() -> Vec<String> {
    let entries = fs::read_dir("/sys/block").unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut disks: Vec<_> = names.filter(|name| name.starts_with("vd")).collect();
    disks.sort();
    disks
}

/// Returns `disk NAME SERIAL ro|rw BYTES HASH`. Marks the end of a writable disk.
fn describe(disk: &str) -> String {
    let attribute = |name: &str| {
        fs::read_to_string(format!("/sys/block/{disk}/{name}"))
            .unwrap_or_default()
            .trim()
            .to_owned()
    };
    let device = format!("/dev/{disk}");
    let mut content = Vec::new();
    File::open(&device)
        .unwrap()
        .read_to_end(&mut content)
        .unwrap();
    let access = if mark(&device).is_ok() { "rw" } else { "ro" };
    let (serial, bytes) = (attribute("serial"), content.len());
    format!(
        "disk {disk} {serial} {access} {bytes} {:016x}\n",
        fnv1a(&content)
    )
}

/// Writes the last sector, through to the disk.
fn mark(device: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).open(device)?;
    file.seek(SeekFrom::End(-512))?;
    file.write_all(&[0xa5; 512])?;
    file.sync_all()
}

fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn seconds_since_1970() -> u64 {
    std::time::SystemTime::UNIX_EPOCH
        .elapsed()
        .unwrap()
        .as_secs()
}

/// Reads a length, then sends back that many bytes, each inverted.
fn echo(port: &mut File) {
    let mut length = [0; 8];
    port.read_exact(&mut length).unwrap();
    let mut left = u64::from_le_bytes(length);
    let mut buffer = vec![0; 65536];
    while left > 0 {
        let read = port.read(&mut buffer).unwrap();
        buffer[..read].iter_mut().for_each(|byte| *byte = !*byte);
        port.write_all(&buffer[..read]).unwrap();
        left -= read as u64;
    }
}
