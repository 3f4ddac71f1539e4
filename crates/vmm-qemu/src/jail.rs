use std::path::{Path, PathBuf};

use msb_jail::{Access, Calls, Jail};
use msb_vmm::Machine;

use crate::program::Programs;

/// The paths in which programs of the system find their libraries.
const LIBRARIES: [&str; 6] = [
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
    "/etc/ld.so.cache",
    // The store of Nix, in which all files of a program lie.
    "/nix/store",
];

/// The loaders of dynamically linked programs.
const LOADERS: [&str; 2] = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"];

/// Paths relative to the parent of a program's directory: its libraries, its firmware, and that of
/// SeaBIOS.
const BESIDE: [&str; 5] = [
    "lib",
    "lib64",
    "share/qemu",
    "share/seabios",
    "share/qemu-firmware",
];

/// Returns the jail for QEMU: the machine's files, the programs that start QEMU, and its program, libraries and
/// firmware.
pub(crate) fn for_machine(machine: &Machine, programs: &Programs) -> Jail {
    let starter = programs.starter.iter().map(|starter| &starter.program);
    machine
        .jail(Calls::Starter)
        .with_any(starter, Access::Execute)
        .with(&programs.setpriv, Access::Execute)
        .with(&programs.qemu, Access::Execute)
        .with_any(LOADERS, Access::Execute)
        .with_any(LIBRARIES, Access::Read)
        .with_any(beside(&programs.qemu), Access::Read)
        .with_any(["/dev/urandom"], Access::Read)
        .with_any(["/dev/null"], Access::Write)
        .with_any(["/dev/kvm"], Access::Device)
}

/// Returns the files of a program that may be installed under any prefix.
fn beside(program: &Path) -> Vec<PathBuf> {
    let program = program.canonicalize();
    let prefix = program.ok().and_then(|program| {
        let directory = program.parent()?;
        directory.parent().map(Path::to_owned)
    });
    let prefix = prefix.into_iter();
    prefix
        .flat_map(|prefix| BESIDE.map(|name| prefix.join(name)))
        .collect()
}
