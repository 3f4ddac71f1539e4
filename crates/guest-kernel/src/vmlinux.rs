use object::LittleEndian as Le;
use object::elf::{EM_X86_64, FileHeader64, PT_LOAD, PT_NOTE};
use object::read::elf::{FileHeader as _, ProgramHeader as _};

use crate::KernelError;
use crate::error::CorruptKind;
use crate::pvh;

/// Checks that `file` is an x86-64 kernel that both VMMs can start.
///
/// Every loaded segment must lie in the file, the 64-bit entry point in one of them, and a note
/// segment must hold the PVH note.
pub(crate) fn check(file: &[u8]) -> Result<(), KernelError> {
    let header = FileHeader64::<Le>::parse(file)?;
    if header.e_machine(Le) != EM_X86_64 {
        return Err(KernelError::Unsupported {
            reason: "an arm64 vmlinux, and msb boots the Image that is made from it",
        });
    }
    let (mut has_entry, mut has_pvh_note) = (false, false);
    let entry = header.e_entry(Le);
    for segment in header.program_headers(Le, file)? {
        let (offset, size_bytes) = segment.file_range(Le);
        let data = || {
            let corrupt = CorruptKind::Segment { offset, size_bytes };
            segment.data(Le, file).map_err(|()| corrupt)
        };
        match segment.p_type(Le) {
            PT_LOAD => {
                data()?;
                let from_start = entry.checked_sub(segment.p_paddr(Le));
                has_entry |= from_start.is_some_and(|distance| distance < size_bytes);
            }
            PT_NOTE => has_pvh_note |= pvh::find(data()?, |_| true).is_some(),
            _ => {}
        }
    }
    match (has_entry, has_pvh_note) {
        (true, true) => Ok(()),
        (false, _) => Err(KernelError::Unsupported {
            reason: "its entry is in no segment",
        }),
        (_, false) => Err(KernelError::Unsupported {
            reason: "the kernel has no PVH note",
        }),
    }
}
