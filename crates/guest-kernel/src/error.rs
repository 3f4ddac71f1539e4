use crate::Architecture;

/// The error for bytes that are not a kernel that msb can boot.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// The bytes are neither an ELF file nor an arm64 `Image`.
    #[error("the file is neither a libkrunfw library nor a kernel")]
    NotAKernel,
    /// The file is valid, but of a kind that msb does not support.
    #[error("unsupported kernel file: {reason}")]
    Unsupported {
        /// The unsupported or missing property.
        reason: &'static str,
    },
    /// The kernel is for another architecture than the guests of this host.
    #[error("the kernel is for {found}, and a sandbox of this host needs one for {wanted}")]
    OtherArchitecture {
        /// The architecture of the kernel.
        found: String,
        /// The architecture of this host.
        wanted: Architecture,
    },
    /// The kernel lacks drivers, as loadable modules do not count.
    #[error("the kernel was built without {}, which every sandbox needs", .missing.join(", "))]
    MissingOptions {
        /// The options of the missing drivers.
        missing: Vec<&'static str>,
    },
    /// The file is inconsistent.
    #[error("the kernel file is truncated or damaged")]
    Corrupt(#[from] CorruptKernel),
}

/// The inconsistency in a kernel file.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct CorruptKernel(#[from] pub(crate) CorruptKind);

#[derive(Debug, thiserror::Error)]
pub(crate) enum CorruptKind {
    #[error("cannot parse its ELF structure")]
    Elf(#[source] object::Error),
    #[error("the bytes of symbol {symbol} are not in the file")]
    SymbolData { symbol: &'static str },
    #[error("krunfw_get_kernel does not return a load address, an entry and a size")]
    Constants,
    #[error(
        "entry {entry:#x} is not inside the kernel of {size_bytes} bytes loaded at {load_address:#x}"
    )]
    Entry {
        entry: u64,
        load_address: u64,
        size_bytes: u64,
    },
    #[error(
        "segment at file offset {offset} with {size_bytes} bytes ends after the end of the file"
    )]
    Segment { offset: u64, size_bytes: u64 },
    #[error("the header of an Image has 64 bytes, and the file {size_bytes}")]
    Header { size_bytes: u64 },
    #[error("neither of the first two instructions of the Image jumps to its entry")]
    NoJump,
    #[error("the Image jumps to its entry at byte {entry}, and the file has {size_bytes} bytes")]
    Jump { entry: u64, size_bytes: u64 },
}

impl From<CorruptKind> for KernelError {
    fn from(kind: CorruptKind) -> Self {
        Self::Corrupt(CorruptKernel(kind))
    }
}

impl From<object::Error> for KernelError {
    fn from(error: object::Error) -> Self {
        CorruptKind::Elf(error).into()
    }
}
