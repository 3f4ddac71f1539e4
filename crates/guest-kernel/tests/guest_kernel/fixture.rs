//! A minimal libkrunfw library, built byte by byte.

pub(crate) use testkit::KERNEL_DRIVERS as DRIVERS;

/// The load address of the fixture's kernel.
pub(crate) const LOAD_ADDRESS: u32 = 0x100_0000;

/// The kernel's 64-bit entry point.
pub(crate) const ENTRY: u32 = LOAD_ADDRESS + 0x123;

/// The offset of the kernel's PVH note.
pub(crate) const NOTE_OFFSET: usize = 0x400;

const HEADER_BYTES: usize = 64;
const SECTION_HEADER_BYTES: usize = 64;

/// The offset of [`DRIVERS`].
pub(crate) const DRIVERS_OFFSET: usize = 0x1800;

/// Returns two pages of kernel with a PVH note, a banner and drivers.
pub(crate) fn kernel() -> Vec<u8> {
    let mut kernel = vec![0x90; 0x2000];
    let note = [4_u32, 8, 18, u32::from_le_bytes(*b"Xen\0"), LOAD_ADDRESS, 0];
    put(
        &mut kernel,
        NOTE_OFFSET,
        &note.map(u32::to_le_bytes).concat(),
    );
    put(
        &mut kernel,
        0x1000,
        b"Linux version 6.12.91 (someone@somewhere) #1\n\0",
    );
    put(&mut kernel, DRIVERS_OFFSET, DRIVERS);
    kernel
}

/// Returns machine code that stores three constants.
pub(crate) fn get_kernel_code() -> Vec<u8> {
    let store = |constant: u32| [&[0x48, 0xc7, 0], constant.to_le_bytes().as_slice()].concat();
    [store(LOAD_ADDRESS), store(ENTRY), store(0x2000)].concat()
}

/// Returns a shared library with `bundle` as `KERNEL_BUNDLE` and `code` as `krunfw_get_kernel`.
pub(crate) fn library(bundle: &[u8], code: &[u8]) -> Vec<u8> {
    let names = b"\0KERNEL_BUNDLE\0krunfw_get_kernel\0";
    let symbols = [
        symbol(0, 0, 0, 0),
        symbol(1, 1, 0x1_0000, bundle.len()),
        symbol(15, 2, 0x1000, code.len()),
    ];
    let contents = [bundle, code, &symbols.concat(), names];
    let mut sections = vec![[0; SECTION_HEADER_BYTES].to_vec()];
    let mut data = Vec::new();
    for (content, (kind, address)) in contents.iter().zip(KINDS_AND_ADDRESSES) {
        sections.push(section(
            kind,
            address,
            HEADER_BYTES + data.len(),
            content.len(),
        ));
        data.extend_from_slice(content);
    }
    [
        file_header(HEADER_BYTES + data.len(), sections.len()),
        data,
        sections.concat(),
    ]
    .concat()
}

/// Returns a shared library for arm64 with `image` as `KERNEL_BUNDLE`.
pub(crate) fn arm64_library(image: &[u8]) -> Vec<u8> {
    let mut library = library(image, &[]);
    // `EM_AARCH64` in place of `EM_X86_64`.
    library[18] = 183;
    library
}

/// The index of the section with all names.
const NAMES_SECTION: u8 = 4;

/// `SHT_PROGBITS` twice, `SHT_DYNSYM` and `SHT_STRTAB`, each with an address.
const KINDS_AND_ADDRESSES: [(u32, u64); 4] = [(1, 0x1_0000), (1, 0x1000), (11, 0), (3, 0)];

fn file_header(sections_offset: usize, section_count: usize) -> Vec<u8> {
    let mut header = vec![0; HEADER_BYTES];
    put(&mut header, 0, b"\x7fELF\x02\x01\x01");
    put(&mut header, 16, &[3, 0, 62, 0, 1]);
    put(&mut header, 40, &word(sections_offset));
    put(&mut header, 52, &[64, 0, 56, 0, 0, 0, 64, 0]);
    put(&mut header, 60, &word(section_count)[..2]);
    put(&mut header, 62, &[NAMES_SECTION, 0]);
    header
}

fn section(kind: u32, address: u64, offset: usize, size: usize) -> Vec<u8> {
    let mut header = vec![0; SECTION_HEADER_BYTES];
    put(&mut header, 4, &kind.to_le_bytes());
    put(&mut header, 16, &address.to_le_bytes());
    put(&mut header, 24, &word(offset));
    put(&mut header, 32, &word(size));
    if kind == 11 {
        put(&mut header, 40, &[NAMES_SECTION, 0, 0, 0, 1]);
        put(&mut header, 56, &word(24));
    }
    header
}

fn symbol(name: u32, section: u16, address: u64, size: usize) -> Vec<u8> {
    let info_and_section = [&[0x11, 0], section.to_le_bytes().as_slice()].concat();
    [
        name.to_le_bytes().as_slice(),
        &info_and_section,
        &address.to_le_bytes(),
        &word(size),
    ]
    .concat()
}

fn word(length: usize) -> [u8; 8] {
    u64::try_from(length)
        .expect("a test's length is short")
        .to_le_bytes()
}

fn put(bytes: &mut [u8], offset: usize, value: &[u8]) {
    bytes[offset..offset + value.len()].copy_from_slice(value);
}
