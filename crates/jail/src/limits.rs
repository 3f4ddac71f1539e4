/// The limits of a process as a whole. A limit can be lowered further, but not raised.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    /// The largest number of open descriptors.
    pub open_files: Option<u64>,
    /// The largest size of a file, in bytes. A process that writes beyond it is killed.
    pub file_bytes: Option<u64>,
    /// The largest size of the process's private memory, in bytes. Allocations beyond it fail.
    pub data_bytes: Option<u64>,
    /// True if root keeps its right to files of other users (`CAP_DAC_OVERRIDE`), and no other.
    pub any_owner: bool,
}
