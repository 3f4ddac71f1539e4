//! The commands that msb starts its own processes with. Users do not type such names, and clap
//! suggests them for no typing mistake.

use std::ffi::OsString;

/// The command that runs a virtual machine.
pub(crate) const VMM_COMMAND: &str = "__vmm";
/// The command that serves a sandbox's network.
pub(crate) const NETWORK_COMMAND: &str = "__network";
/// The command that serves a shared directory.
pub(crate) const SHARE_COMMAND: &str = "__share";
/// The command that becomes QEMU while the process that runs the machine lives. It keeps the descriptors that it
/// inherits, which are QEMU's, and clap does not know it.
pub(crate) const QEMU_COMMAND: &str = "__qemu";
/// The command that takes digests of a sandbox's snapshots and merges generations, or packs images, in
/// the background.
pub(crate) const MAINTAIN_COMMAND: &str = "__maintain";
/// The command that reads the sources of a sandbox's secrets again.
pub(crate) const SECRETS_COMMAND: &str = "__secrets";
/// The command that forwards sockets of the host.
pub(crate) const SOCKETS_COMMAND: &str = "__sockets";

const ALL: [&str; 6] = [
    VMM_COMMAND,
    NETWORK_COMMAND,
    SHARE_COMMAND,
    MAINTAIN_COMMAND,
    SECRETS_COMMAND,
    SOCKETS_COMMAND,
];

/// Returns true if a command line, without the program's name, is that of a process that msb starts by
/// itself. Only options may stand before the command.
pub(crate) fn is_internal(mut words: impl Iterator<Item = OsString>) -> bool {
    while let Some(word) = words.next() {
        if word == "--home" {
            words.next();
        } else if !word.as_encoded_bytes().starts_with(b"-") {
            return ALL.iter().any(|name| word == *name);
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_of_a_machine_is_known_by_its_command() {
        let known = |line: &str| is_internal(line.split(' ').map(OsString::from));
        assert!(known("--home /h __vmm --qemu q /d"));
        assert!(known("--home=/h -q __network /d"));
        assert!(known("__share /d 0"));
        assert!(known("--home /h __maintain 0f"));
        assert!(known("--home /h __secrets /d"));
        assert!(known("--home /h __sockets /d"));
        assert!(!known("exec name __vmm"));
        assert!(!known("--home __vmm ps"));
        assert!(!known("--home"));
    }
}
