//! Open descriptors and the terminal.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;
use std::time::Duration;

use rustix::termios::{Termios, isatty, tcgetattr, tcgetwinsize};

use super::files::described;
use super::{ProcessDump, name_of};

/// The flags of `open` that Linux keeps, in octal as in `/proc/self/fdinfo`, without `O_LARGEFILE`. `O_CLOEXEC` says how
/// a file was opened once, and nothing of this process.
const FLAGS: [(u32, &str); 7] = [
    (0o1, "write"),
    (0o2, "read-write"),
    (0o2000, "append"),
    (0o4000, "nonblock"),
    (0o10000, "dsync"),
    (0o20000, "async"),
    (0o40000, "direct"),
];

pub(super) fn read(dump: &mut ProcessDump) {
    let directory = Path::new("/proc/self/fd");
    let own = fs::read_dir(directory).into_iter().flatten().flatten();
    for name in own.filter_map(|entry| entry.file_name().into_string().ok()) {
        let path = directory.join(&name);
        let Ok(link) = fs::read_link(&path) else {
            continue;
        };
        // The descriptor of this listing.
        if link.starts_with("/proc") && link.ends_with("fd") {
            continue;
        }
        // A pipe's name has its inode's number.
        let link = link.display().to_string();
        let link = link
            .split_once(":[")
            .map_or(link.as_str(), |(kind, _)| kind);
        dump.set(format!("descriptor.{name}.link"), link);
        dump.set_read(format!("descriptor.{name}.file"), described(&path, true));
        dump.set_read(format!("descriptor.{name}.flags"), flags(&name));
    }
    let names = [("stdin", false), ("stdout", true), ("stderr", true)];
    for (name, is_output) in names {
        let path = format!("/dev/{name}");
        dump.set(format!("descriptor.{name}.opens"), opens(&path, is_output));
    }
    terminal(dump);
}

/// Returns the flags of an open descriptor of this process.
fn flags(number: &str) -> io::Result<String> {
    let text = fs::read_to_string(format!("/proc/self/fdinfo/{number}"))?;
    let octal = text.lines().find_map(|line| line.strip_prefix("flags:"));
    let bits = octal.and_then(|octal| u32::from_str_radix(octal.trim(), 8).ok());
    let bits = bits.ok_or(io::ErrorKind::InvalidData)?;
    let set = FLAGS.iter().filter(|(bit, _)| bits & bit != 0);
    let set: Vec<&str> = set.map(|(_, name)| *name).collect();
    Ok(if set.is_empty() {
        "read".to_owned()
    } else {
        set.join(" ")
    })
}

/// Returns `yes` if the file of this path can be opened, or the error's name.
fn opens(path: &str, is_output: bool) -> String {
    let opened = OpenOptions::new()
        .read(!is_output)
        .write(is_output)
        .open(path);
    match opened {
        Ok(_) => "yes".to_owned(),
        Err(error) => name_of(&error),
    }
}

fn terminal(dump: &mut ProcessDump) {
    let streams = [
        io::stdin().as_fd().try_clone_to_owned(),
        io::stdout().as_fd().try_clone_to_owned(),
    ];
    let names = ["stdin", "stdout"];
    for (name, stream) in names.into_iter().zip(streams) {
        let is_terminal = stream.is_ok_and(isatty);
        dump.set(format!("terminal.is_{name}"), is_terminal);
    }
    // The controlling terminal, whatever the streams are.
    let Ok(terminal) = File::open("/dev/tty") else {
        dump.set("terminal.controlling", "none");
        return;
    };
    dump.set_read("terminal.size", size(&terminal));
    let attributes = tcgetattr(&terminal).map_err(io::Error::from);
    match attributes {
        Ok(attributes) => modes(dump, &attributes),
        Err(error) => dump.set("terminal.modes", name_of(&error)),
    }
    let console = fs::metadata("/dev/console");
    let is_same = |console: fs::Metadata| {
        let is_device = console.file_type().is_char_device();
        let own = fs::metadata("/proc/self/fd/0");
        own.is_ok_and(|own| is_device && own.rdev() == console.rdev())
    };
    dump.set_read("terminal.is_console", console.map(is_same));
}

/// Returns a terminal's size. docker's client sets it when the command runs already.
fn size(terminal: &File) -> io::Result<String> {
    let mut size = tcgetwinsize(terminal)?;
    for _ in 0..20 {
        if size.ws_col != 0 {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
        size = tcgetwinsize(terminal)?;
    }
    Ok(format!("{} by {}", size.ws_col, size.ws_row))
}

fn modes(dump: &mut ProcessDump, attributes: &Termios) {
    dump.set("terminal.input", format!("{:?}", attributes.input_modes));
    dump.set("terminal.output", format!("{:?}", attributes.output_modes));
    dump.set(
        "terminal.control",
        format!("{:?}", attributes.control_modes),
    );
    dump.set("terminal.local", format!("{:?}", attributes.local_modes));
    dump.set("terminal.codes", format!("{:?}", attributes.special_codes));
    dump.set("terminal.speed", attributes.output_speed());
}
