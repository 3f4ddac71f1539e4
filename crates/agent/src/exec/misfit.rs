//! The reasons why the kernel refuses a program that exists and is executable.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, OFlags};

use super::elf;
use crate::guarded_file::open_as;

/// The most that the kernel reads of a script's first line, in bytes (`BINPRM_BUF_SIZE`).
const LINE_MAX_BYTES: usize = 256;
/// The most interpreters of interpreters that are followed, as in the kernel.
const INTERPRETERS_MAX: usize = 5;

/// The reason why a program cannot run.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Misfit {
    /// The program, or the interpreter of this name, is of another architecture.
    Foreign {
        interpreter: Option<PathBuf>,
        architecture: String,
    },
    /// The interpreter does not exist. Its name is quoted as the program has it.
    NoInterpreter { name: Vec<u8> },
    /// The file is neither a program nor a script that names an interpreter.
    NoFormat,
}

/// The kind of an executable file.
#[derive(Debug, PartialEq, Eq)]
enum Kind {
    /// A script, which begins with `#!`.
    Script {
        interpreter: Vec<u8>,
    },
    Elf(elf::Program),
    Unknown,
}

/// Finds the reason of the kernel's `refusal`. Relative names are resolved in `directory`. `None`
/// if no reason is found: the guest's files may be anything, and may have changed meanwhile.
pub(super) fn find(program: &Path, directory: &Path, refusal: &io::Error) -> Option<Misfit> {
    let refused_format = refusal.raw_os_error() == Some(libc::ENOEXEC);
    let mut interpreter: Option<PathBuf> = None;
    for _ in 0..=INTERPRETERS_MAX {
        let path = interpreter.as_deref().unwrap_or(program);
        let file = open_as(path, FileType::RegularFile, OFlags::RDONLY).ok()?;
        let name = match kind(&file).ok()? {
            Kind::Script { interpreter } => interpreter,
            Kind::Elf(elf) if refused_format && elf.architecture != std::env::consts::ARCH => {
                return Some(Misfit::Foreign {
                    interpreter,
                    architecture: elf.architecture,
                });
            }
            Kind::Elf(elf) if refused_format || elf.interpreter.is_none() => {
                return refused_format.then_some(Misfit::NoFormat);
            }
            Kind::Elf(elf) => elf.interpreter?,
            Kind::Unknown => return refused_format.then_some(Misfit::NoFormat),
        };
        let next = directory.join(OsStr::from_bytes(&name));
        match std::fs::metadata(&next) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Some(Misfit::NoInterpreter { name });
            }
            _ => interpreter = Some(next),
        }
    }
    None
}

fn kind(file: &File) -> io::Result<Kind> {
    if let Some(program) = elf::read(file)? {
        return Ok(Kind::Elf(program));
    }
    let mut line = [0; LINE_MAX_BYTES];
    let length = file.read_at(&mut line, 0)?;
    let interpreter = script_interpreter(&line[..length]);
    Ok(interpreter.map_or(Kind::Unknown, |name| Kind::Script {
        interpreter: name.to_vec(),
    }))
}

/// Returns the program that a script's first line names, parsed as the kernel does. Blanks are
/// spaces and tabs, and a carriage return is part of a name.
fn script_interpreter(head: &[u8]) -> Option<&[u8]> {
    let rest = head.strip_prefix(b"#!")?;
    let line = rest.split(|byte| b"\n\0".contains(byte)).next()?;
    let mut words = line.split(|byte| b" \t".contains(byte));
    words.find(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_of_a_script_names_its_interpreter() {
        for (head, expected) in [
            (&b"#!/bin/bash\n"[..], Some(&b"/bin/bash"[..])),
            (b"#! \t/bin/sh -eu\nx", Some(b"/bin/sh")),
            (b"#!/bin/bash\r\n", Some(b"/bin/bash\r")),
            (b"#!/no/end", Some(b"/no/end")),
            (b"#!a\0b", Some(b"a")),
            (b"#!\n/bin/sh", None),
            (b"#!", None),
            (b"# /bin/sh", None),
            (b"", None),
        ] {
            assert_eq!(script_interpreter(head), expected, "{head:?}");
        }
    }

    fn found(files: &[(&str, &[u8])], refusal: i32) -> Option<Misfit> {
        let directory = tempfile::tempdir().expect("a directory");
        for (name, content) in files {
            std::fs::write(directory.path().join(name), content).expect("written");
        }
        let program = directory.path().join("program");
        let refusal = io::Error::from_raw_os_error(refusal);
        find(&program, directory.path(), &refusal)
    }

    #[test]
    fn a_missing_interpreter_is_named() {
        let missing = |name: &str| {
            Some(Misfit::NoInterpreter {
                name: name.as_bytes().to_vec(),
            })
        };
        let script: &[u8] = b"#!/no/such/bash\necho\n";
        assert_eq!(
            found(&[("program", script)], libc::ENOENT),
            missing("/no/such/bash")
        );
        let chain = [("program", &b"#!second\n"[..]), ("second", b"#! third x\n")];
        assert_eq!(found(&chain, libc::ENOENT), missing("third"));
        let dynamic = elf::tests::program(elf::tests::own_machine(), Some(b"/lib/no-loader\0"));
        assert_eq!(
            found(&[("program", &dynamic)], libc::ENOENT),
            missing("/lib/no-loader")
        );
        assert_eq!(found(&[("program", b"#!program\n")], libc::ENOENT), None);
        assert_eq!(found(&[("program", b"#!/bin\n")], libc::ENOENT), None);
        assert_eq!(found(&[], libc::ENOENT), None);
    }

    #[test]
    fn a_program_of_another_architecture_says_which() {
        let (machine, architecture) = elf::tests::other_machine();
        let foreign = elf::tests::program(machine, None);
        let expected = Some(Misfit::Foreign {
            interpreter: None,
            architecture: architecture.to_owned(),
        });
        assert_eq!(found(&[("program", &foreign)], libc::ENOEXEC), expected);
        let read_by = [("program", &b"#!second\n"[..]), ("second", &foreign)];
        assert!(matches!(
            found(&read_by, libc::ENOEXEC),
            Some(Misfit::Foreign { interpreter: Some(path), .. }) if path.ends_with("second")
        ));
    }

    #[test]
    fn what_is_no_program_is_none() {
        for content in [&b""[..], b"echo hello\n", b"\0\0", b"\x7fEL", b"#!\n"] {
            assert_eq!(
                found(&[("program", content)], libc::ENOEXEC),
                Some(Misfit::NoFormat),
                "{content:?}"
            );
        }
        let broken = &elf::tests::program(elf::tests::own_machine(), None)[..40];
        assert_eq!(
            found(&[("program", broken)], libc::ENOEXEC),
            Some(Misfit::NoFormat)
        );
    }
}
