//! A program that ends immediately and needs no libraries, so that images can be small.

/// The path of the program in an image.
pub(super) const PATH: &str = "/exit";

/// The address at which the program is loaded.
const BASE: u64 = 0x40_0000;
const HEADERS_BYTES: u64 = 64 + 56;
/// `xor edi, edi; mov eax, 60; syscall`: `exit(0)`.
const CODE: [u8; 9] = [0x31, 0xff, 0xb8, 60, 0, 0, 0, 0x0f, 0x05];

/// Returns an ELF file for x86-64: header, one segment, code (elf(5)).
pub(super) fn elf() -> Vec<u8> {
    let mut elf = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    let size = HEADERS_BYTES + 9;
    for (number, bytes) in [
        // ET_EXEC, EM_X86_64, EV_CURRENT; entry, program headers, no sections.
        (2, 2),
        (62, 2),
        (1, 4),
        (BASE + HEADERS_BYTES, 8),
        (64, 8),
        (0, 8),
        (0, 4),
        (64, 2),
        (56, 2),
        (1, 2),
        (0, 6),
        // PT_LOAD, readable and executable, the whole file.
        (1, 4),
        (5, 4),
        (0, 8),
        (BASE, 8),
        (BASE, 8),
        (size, 8),
        (size, 8),
        (0x1000, 8),
    ] {
        elf.extend(&u64::to_le_bytes(number)[..bytes]);
    }
    elf.extend(CODE);
    elf
}
