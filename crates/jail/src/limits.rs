/// What is left to a process as a whole. A limit can be lowered again, not raised.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    /// How many descriptors may be open.
    pub open_files: Option<u64>,
    /// How long a file may become, in bytes. Whoever writes past it is killed.
    pub file_bytes: Option<u64>,
    /// How much memory of its own the process may have, in bytes. Beyond it the process has no more.
    pub data_bytes: Option<u64>,
    /// Root keeps its right to files of other users (`CAP_DAC_OVERRIDE`), and no other.
    pub any_owner: bool,
}
