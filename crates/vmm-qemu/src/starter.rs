//! The command that becomes QEMU, but not if the owner of the machine has ended before.
//!
//! `setpriv --pdeathsig` asks the kernel for a signal at the end of the parent. If the parent was killed before that
//! request, the kernel sends none: QEMU would run without an owner, keep the sandbox's lock, and no command of msb would
//! find it. So the id of the parent is compared after the request.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::{CommandExt as _, parent_id};
use std::path::PathBuf;
use std::process::Command;

/// A command that calls [`become_program`] with the words after its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Starter {
    /// The path of the program.
    pub program: PathBuf,
    /// The arguments that stand before the id of the parent.
    pub arguments: Vec<OsString>,
}

/// Runs a program in place of this process, with its descriptors. The words are the id of the process that has to be
/// the parent of this one, the program, and its arguments.
///
/// Returns only if the parent has ended, the words are not such a command, or the program cannot be run.
pub fn become_program(words: impl IntoIterator<Item = OsString>) -> io::Error {
    let mut words = words.into_iter();
    let parent = words
        .next()
        .and_then(|word| word.to_str()?.parse::<u32>().ok());
    let (Some(parent), Some(program)) = (parent, words.next()) else {
        let message = "the id of the parent or the program is missing";
        return io::Error::new(io::ErrorKind::InvalidInput, message);
    };
    if parent_id() != parent {
        return io::Error::other(format!(
            "the process {parent}, which runs the machine, has ended"
        ));
    }
    Command::new(program).args(words).exec()
}
