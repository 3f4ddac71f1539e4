//! The architecture and the interpreter that an ELF file names (elf(5)). The file may be hostile.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

const MAGIC: &[u8] = b"\x7fELF";
/// The length of the first bytes, which give the class, the byte order and the machine.
const IDENTITY_BYTES: usize = 20;
/// `PT_INTERP` (elf.h), the type of the program header that names the interpreter.
const INTERPRETER: u64 = 3;
/// The most program headers that are read. The kernel reads as many as 64 KiB hold.
const HEADERS_MAX: u64 = 1024;
/// The longest path in bytes (`PATH_MAX`, linux/limits.h).
const PATH_MAX_BYTES: u64 = 4096;

/// The requirements of a program.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Program {
    /// The name that Rust and `uname -m` use, or `ELF machine N` if it is not known.
    pub(super) architecture: String,
    /// The path of the interpreter; `None` if the program is static.
    pub(super) interpreter: Option<Vec<u8>>,
}

/// Offsets of the fields of an ELF class, in bytes.
struct Layout {
    word_bytes: usize,
    headers_at: u64,
    header_bytes_at: u64,
    headers_count_at: u64,
    offset_at: u64,
    size_at: u64,
}

const OF_32_BITS: Layout = Layout {
    word_bytes: 4,
    headers_at: 0x1c,
    header_bytes_at: 0x2a,
    headers_count_at: 0x2c,
    offset_at: 0x4,
    size_at: 0x10,
};
const OF_64_BITS: Layout = Layout {
    word_bytes: 8,
    headers_at: 0x20,
    header_bytes_at: 0x36,
    headers_count_at: 0x38,
    offset_at: 0x8,
    size_at: 0x20,
};

/// Reads a program; `None` if the file is not ELF.
///
/// # Errors
/// If the file cannot be read.
pub(super) fn read(file: &File) -> io::Result<Option<Program>> {
    let mut identity = [0; IDENTITY_BYTES];
    match file.read_exact_at(&mut identity, 0) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        outcome => outcome?,
    }
    if !identity.starts_with(MAGIC) {
        return Ok(None);
    }
    let layout = if identity[4] == 1 {
        &OF_32_BITS
    } else {
        &OF_64_BITS
    };
    let reader = Reader {
        file,
        big_endian: identity[5] == 2,
    };
    let machine = reader.number(&identity[18..20]);
    Ok(Some(Program {
        architecture: architecture(machine, layout.word_bytes == 4, reader.big_endian),
        // A truncated file has no interpreter.
        interpreter: reader.interpreter(layout).unwrap_or_default(),
    }))
}

struct Reader<'a> {
    file: &'a File,
    big_endian: bool,
}

impl Reader<'_> {
    fn interpreter(&self, layout: &Layout) -> io::Result<Option<Vec<u8>>> {
        let first = self.at(layout.headers_at, layout.word_bytes)?;
        let header_bytes = self.at(layout.header_bytes_at, 2)?;
        let count = self.at(layout.headers_count_at, 2)?.min(HEADERS_MAX);
        for index in 0..count {
            let header = first.saturating_add(index * header_bytes);
            if self.at(header, 4)? != INTERPRETER {
                continue;
            }
            let field = |at| self.at(header.saturating_add(at), layout.word_bytes);
            let size = field(layout.size_at)?.min(PATH_MAX_BYTES);
            let mut name = vec![0; usize::try_from(size).unwrap_or_default()];
            self.read(&mut name, field(layout.offset_at)?)?;
            let end = name.iter().position(|&byte| byte == 0);
            name.truncate(end.unwrap_or(name.len()));
            return Ok(Some(name));
        }
        Ok(None)
    }

    /// Returns the number of `length` bytes, at most 8, at `offset`.
    fn at(&self, offset: u64, length: usize) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.read(&mut bytes[..length], offset)?;
        Ok(self.number(&bytes[..length]))
    }

    fn read(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_exact_at(bytes, offset)
    }

    fn number(&self, bytes: &[u8]) -> u64 {
        let add = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
        if self.big_endian {
            bytes.iter().fold(0, add)
        } else {
            bytes.iter().rev().fold(0, add)
        }
    }
}

/// Returns the name of a machine (`EM_*`, elf.h).
fn architecture(machine: u64, of_32_bits: bool, big_endian: bool) -> String {
    let name = match (machine, of_32_bits) {
        (3, _) => "i386",
        (8, _) => "mips",
        (20, _) => "powerpc",
        (21, _) if big_endian => "powerpc64",
        (21, _) => "powerpc64le",
        (22, _) => "s390x",
        (40, _) => "arm",
        (62, true) => "x32",
        (62, false) => "x86_64",
        (183, _) => "aarch64",
        (243, true) => "riscv32",
        (243, false) => "riscv64",
        (258, _) => "loongarch64",
        _ => return format!("ELF machine {machine}"),
    };
    name.to_owned()
}

#[cfg(test)]
pub(super) mod tests {
    use std::io::Write as _;

    use super::*;

    pub(in crate::exec) fn own_machine() -> u16 {
        if cfg!(target_arch = "x86_64") {
            62
        } else {
            183
        }
    }

    pub(in crate::exec) fn other_machine() -> (u16, &'static str) {
        if cfg!(target_arch = "x86_64") {
            (183, "aarch64")
        } else {
            (62, "x86_64")
        }
    }

    /// Returns a 64-bit little-endian program whose second header names an interpreter.
    pub(in crate::exec) fn program(machine: u16, interpreter: Option<&[u8]>) -> Vec<u8> {
        let mut bytes = vec![0; 64 + 2 * 56];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        bytes[18..20].copy_from_slice(&machine.to_le_bytes());
        bytes[0x20] = 64;
        bytes[0x36] = 56;
        bytes[0x38] = 2;
        bytes[64] = 1;
        if let Some(name) = interpreter {
            let end = u64::try_from(bytes.len()).expect("small");
            let length = u64::try_from(name.len()).expect("small");
            bytes[120] = 3;
            bytes[128..136].copy_from_slice(&end.to_le_bytes());
            bytes[152..160].copy_from_slice(&length.to_le_bytes());
            bytes.extend_from_slice(name);
        }
        bytes
    }

    fn read_bytes(bytes: &[u8]) -> Option<Program> {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(bytes).expect("written");
        read(&file).expect("read")
    }

    #[test]
    fn a_program_names_its_machine_and_its_interpreter() {
        let dynamic = read_bytes(&program(183, Some(b"/lib/ld.so\0rest"))).expect("an ELF");
        assert_eq!(dynamic.architecture, "aarch64");
        assert_eq!(dynamic.interpreter.as_deref(), Some(&b"/lib/ld.so"[..]));
        let fixed = read_bytes(&program(999, None)).expect("an ELF");
        assert_eq!(fixed.architecture, "ELF machine 999");
        assert_eq!(fixed.interpreter, None);
        let mut big = vec![0; 64];
        big[..6].copy_from_slice(b"\x7fELF\x02\x02");
        big[19] = 22;
        assert_eq!(read_bytes(&big).expect("an ELF").architecture, "s390x");
    }

    #[test]
    fn what_a_hostile_file_says_is_bounded() {
        let whole = program(62, Some(b"/lib/ld.so\0"));
        for length in 0..whole.len() {
            let read = read_bytes(&whole[..length]);
            assert_eq!(read.is_some(), length >= IDENTITY_BYTES, "{length}");
        }
        for at in 0x20..whole.len() {
            let mut bytes = whole.clone();
            bytes[at..].fill(0xff);
            let program = read_bytes(&bytes).expect("an ELF");
            assert!(program.interpreter.is_none_or(|name| name.len() <= 4096));
        }
    }
}
