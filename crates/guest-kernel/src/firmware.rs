use object::read::elf::ElfFile64;
use object::{LittleEndian, Object as _, ObjectSection as _, ObjectSymbol as _};

use crate::KernelError;
use crate::elf::RawKernel;
use crate::error::CorruptKind;

/// The symbol of the kernel's bytes. Its size is the kernel's, rounded up by at most a page.
const BUNDLE: &str = "KERNEL_BUNDLE";

/// The function that returns the load address, the entry point and the size, all as constants.
const GET_KERNEL: &str = "krunfw_get_kernel";

/// The longest code to search: the function has about 60 bytes.
const CODE_MAX_BYTES: usize = 512;

const PAGE_BYTES: u64 = 4096;

/// The parts of a libkrunfw library that msb uses.
pub(crate) struct Firmware<'data> {
    /// The kernel's bytes as the library holds them.
    pub(crate) bundle: &'data [u8],
    /// The machine code of `krunfw_get_kernel`.
    get_kernel_code: &'data [u8],
}

impl<'data> Firmware<'data> {
    /// Finds the kernel in a shared library.
    pub(crate) fn read(library: &'data [u8]) -> Result<Self, KernelError> {
        let file = ElfFile64::<LittleEndian>::parse(library)?;
        let bundle = symbol_data(&file, BUNDLE)?;
        let code = symbol_data(&file, GET_KERNEL)?;
        let get_kernel_code = code.get(..CODE_MAX_BYTES).unwrap_or(code);
        Ok(Self {
            bundle,
            get_kernel_code,
        })
    }

    /// Returns the x86-64 kernel, with the addresses that `krunfw_get_kernel` would return.
    ///
    /// The library is not executed. The three numbers are the only 32-bit constants that the
    /// function's code stores through pointers, and their values tell them apart: the size is that
    /// of the bundle, and of the two addresses the load address is the lower.
    pub(crate) fn raw_kernel(&self) -> Result<RawKernel<'data>, KernelError> {
        let bundle_bytes = u64::try_from(self.bundle.len()).unwrap_or(u64::MAX);
        let (sizes, mut addresses): (Vec<_>, Vec<_>) = stored_constants(self.get_kernel_code)
            .partition(|constant| constant.abs_diff(bundle_bytes) < PAGE_BYTES);
        addresses.sort_unstable();
        let (&[size_bytes], &[load_address, entry]) = (sizes.as_slice(), addresses.as_slice())
        else {
            return Err(CorruptKind::Constants.into());
        };
        let size = usize::try_from(size_bytes).unwrap_or(usize::MAX);
        let image = self.bundle.get(..size).unwrap_or(self.bundle);
        RawKernel::new(image, load_address, entry)
    }
}

fn symbol_data<'data>(
    file: &ElfFile64<'data, LittleEndian>,
    name: &'static str,
) -> Result<&'data [u8], KernelError> {
    let symbol = file
        .dynamic_symbols()
        .find(|symbol| symbol.name_bytes() == Ok(name.as_bytes()))
        .ok_or(KernelError::Unsupported {
            reason: "a shared library other than libkrunfw",
        })?;
    let section = symbol
        .section_index()
        .ok_or(CorruptKind::SymbolData { symbol: name })?;
    let data = file
        .section_by_index(section)?
        .data_range(symbol.address(), symbol.size())?
        .ok_or(CorruptKind::SymbolData { symbol: name })?;
    Ok(data)
}

/// Returns the constants of all `mov qword [register], imm32` in x86-64 machine code.
///
/// The encoding is REX.W, opcode C7 /0, and a register-indirect operand without displacement.
fn stored_constants(code: &[u8]) -> impl Iterator<Item = u64> {
    code.windows(7).filter_map(|window| match *window {
        [0x48, 0xc7, 0 | 1 | 2 | 3 | 6 | 7, a, b, c, d] => {
            Some(u64::from(u32::from_le_bytes([a, b, c, d])))
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store(register: u8, constant: u32) -> Vec<u8> {
        [&[0x48, 0xc7, register], constant.to_le_bytes().as_slice()].concat()
    }

    fn read(bundle: &[u8], code: &[Vec<u8>]) -> Result<(u64, u64, usize), KernelError> {
        let code = code.concat();
        let kernel = Firmware {
            bundle,
            get_kernel_code: &code,
        }
        .raw_kernel()?;
        Ok((kernel.load_address, kernel.entry, kernel.image.len()))
    }

    #[test]
    fn tells_the_three_numbers_apart_in_any_order() {
        let bundle = vec![0; 0x5001];
        let numbers = [store(0, 0x5000), store(6, 0x100_0123), store(7, 0x100_0000)];
        assert_eq!(
            read(&bundle, &numbers).unwrap(),
            (0x100_0000, 0x100_0123, 0x5000)
        );
    }

    #[test]
    fn refuses_other_code() {
        let bundle = vec![0; 0x5001];
        let two = [store(0, 0x5000), store(6, 0x100_0123)];
        let outside = [store(0, 0x5000), store(0, 0x200_0000), store(7, 0x100_0000)];
        for code in [two.as_slice(), &outside, &[]] {
            assert!(
                matches!(read(&bundle, code), Err(KernelError::Corrupt(_))),
                "{code:x?}"
            );
        }
    }
}
