use object::elf::{
    self, ELFCLASS64, ELFDATA2LSB, ELFMAG, EM_X86_64, ET_DYN, ET_EXEC, EV_CURRENT, FileHeader64,
    Ident, PF_R, PF_W, PF_X, PT_LOAD, PT_NOTE, ProgramFlags, ProgramHeader64, ProgramType,
};
use object::endian::{LittleEndian as Le, U16, U32, U64};
use object::pod;

use crate::error::CorruptKind;
use crate::pvh::{self, PvhNote};
use crate::{Architecture, KernelError};

/// The difference between virtual and physical addresses of the kernel's own image. This is
/// `__START_KERNEL_map` (arch/x86/include/asm/page_64_types.h).
const KERNEL_MAP: u64 = 0xffff_ffff_8000_0000;

/// The offset of the image in the file: page-aligned, so that a loader may map it.
const IMAGE_OFFSET_BYTES: usize = 4096;

/// The magic number of a bzImage (Documentation/arch/x86/boot.rst).
const BZIMAGE_MAGIC: &[u8] = b"HdrS";
const BZIMAGE_MAGIC_OFFSET: usize = 0x202;

const FILE_HEADER_BYTES: u16 = 64;
const PROGRAM_HEADER_BYTES: u16 = 56;
const _: () = assert!(size_of::<FileHeader64<Le>>() == 64);
const _: () = assert!(size_of::<ProgramHeader64<Le>>() == 56);

/// The memory image of an x86-64 `vmlinux`, with its load address and its entry point.
#[derive(Debug)]
pub(crate) struct RawKernel<'data> {
    /// The bytes as they lie in guest memory.
    pub(crate) image: &'data [u8],
    /// The physical address of the first byte.
    pub(crate) load_address: u64,
    /// The physical address of `startup_64`.
    pub(crate) entry: u64,
}

impl<'data> RawKernel<'data> {
    /// Checks that the entry point lies in the image, and that the image starts below 4 GiB.
    pub(crate) fn new(
        image: &'data [u8],
        load_address: u64,
        entry: u64,
    ) -> Result<Self, KernelError> {
        let kernel = Self {
            image,
            load_address,
            entry,
        };
        if kernel.holds(entry) && load_address <= u64::from(u32::MAX) {
            return Ok(kernel);
        }
        let size_bytes = file_word(image.len());
        Err(CorruptKind::Entry {
            entry,
            load_address,
            size_bytes,
        }
        .into())
    }

    fn holds(&self, address: u64) -> bool {
        address
            .checked_sub(self.load_address)
            .is_some_and(|offset| offset < file_word(self.image.len()))
    }
}

/// Returns true for a 64-bit little-endian ELF shared library, and false for an executable.
/// Anything else is an error, and so is a file for another architecture.
pub(crate) fn is_shared_library(
    bytes: &[u8],
    architecture: Architecture,
) -> Result<bool, KernelError> {
    if bytes
        .get(BZIMAGE_MAGIC_OFFSET..)
        .is_some_and(|rest| rest.starts_with(BZIMAGE_MAGIC))
    {
        architecture.check(Architecture::X86_64)?;
        return Err(KernelError::Unsupported {
            reason: "a bzImage, and msb boots the vmlinux that it was made from",
        });
    }
    let Ok((header, _)) = pod::from_bytes::<FileHeader64<Le>>(bytes) else {
        return Err(KernelError::NotAKernel);
    };
    if header.e_ident.magic != ELFMAG {
        return Err(KernelError::NotAKernel);
    }
    if (header.e_ident.class, header.e_ident.data) != (ELFCLASS64, ELFDATA2LSB) {
        return Err(KernelError::Unsupported {
            reason: "not a 64-bit little-endian ELF",
        });
    }
    architecture.check_machine(header.e_machine.get(Le))?;
    match header.e_type.get(Le) {
        ET_DYN => Ok(true),
        ET_EXEC => Ok(false),
        _ => Err(KernelError::Unsupported {
            reason: "neither a shared library nor an executable",
        }),
    }
}

/// Encodes `kernel` as an ELF file. libkrun enters it in 64-bit mode, and QEMU through the PVH
/// note.
pub(crate) fn wrap(kernel: &RawKernel<'_>) -> Result<Vec<u8>, KernelError> {
    let note =
        pvh::find(kernel.image, |entry| kernel.holds(entry)).ok_or(KernelError::Unsupported {
            reason: "the kernel has no PVH note",
        })?;
    let mut file = Vec::with_capacity(IMAGE_OFFSET_BYTES + kernel.image.len());
    file.extend_from_slice(pod::bytes_of(&file_header(kernel.entry)));
    file.extend_from_slice(pod::bytes_of(&load_segment(kernel)));
    file.extend_from_slice(pod::bytes_of(&note_segment(kernel, note)));
    file.resize(IMAGE_OFFSET_BYTES, 0);
    file.extend_from_slice(kernel.image);
    Ok(file)
}

fn file_header(entry: u64) -> FileHeader64<Le> {
    FileHeader64 {
        e_ident: Ident {
            magic: ELFMAG,
            class: ELFCLASS64,
            data: ELFDATA2LSB,
            version: EV_CURRENT,
            os_abi: elf::ELFOSABI_SYSV,
            abi_version: 0,
            padding: [0; 7],
        },
        e_type: U16::new(Le, ET_EXEC),
        e_machine: U16::new(Le, EM_X86_64),
        e_version: U32::new(Le, EV_CURRENT.0.into()),
        e_entry: U64::new(Le, entry),
        e_phoff: U64::new(Le, u64::from(FILE_HEADER_BYTES)),
        e_shoff: U64::new(Le, 0),
        e_flags: U32::new(Le, elf::FileFlags(0)),
        e_ehsize: U16::new(Le, FILE_HEADER_BYTES),
        e_phentsize: U16::new(Le, PROGRAM_HEADER_BYTES),
        e_phnum: U16::new(Le, 2),
        e_shentsize: U16::new(Le, 0),
        e_shnum: U16::new(Le, 0),
        e_shstrndx: U16::new(Le, elf::SHN_UNDEF),
    }
}

fn load_segment(kernel: &RawKernel<'_>) -> ProgramHeader64<Le> {
    let flags = PF_R | PF_W | PF_X;
    segment(PT_LOAD, flags, kernel, 0..kernel.image.len())
}

fn note_segment(kernel: &RawKernel<'_>, note: PvhNote) -> ProgramHeader64<Le> {
    segment(
        PT_NOTE,
        PF_R,
        kernel,
        note.offset..note.offset + note.size_bytes,
    )
}

/// Returns the program header for a range of the image.
fn segment(
    kind: ProgramType,
    flags: ProgramFlags,
    kernel: &RawKernel<'_>,
    range: std::ops::Range<usize>,
) -> ProgramHeader64<Le> {
    let address = kernel.load_address + file_word(range.start);
    let size_bytes = U64::new(Le, file_word(range.len()));
    let align_bytes = if kind == PT_NOTE {
        4
    } else {
        file_word(IMAGE_OFFSET_BYTES)
    };
    ProgramHeader64 {
        p_type: U32::new(Le, kind),
        p_flags: U32::new(Le, flags),
        p_offset: U64::new(Le, file_word(IMAGE_OFFSET_BYTES + range.start)),
        p_vaddr: U64::new(Le, KERNEL_MAP.wrapping_add(address)),
        p_paddr: U64::new(Le, address),
        p_filesz: size_bytes,
        p_memsz: size_bytes,
        p_align: U64::new(Le, align_bytes),
    }
}

/// Returns a length in memory as ELF stores it.
fn file_word(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
