use serde::{Deserialize, Serialize};

/// The amount of work of each workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sizes {
    /// The number of small files that are created, renamed and deleted.
    pub many: usize,
    /// The number of files in the directory with thousands.
    pub names: usize,
    /// The number of files of 64 KiB that are created.
    pub middle: usize,
    /// The size of the file that is streamed, in MiB.
    pub stream_mib: u64,
    /// The number of levels of the deep tree below its root.
    pub depth: u32,
    /// The number of directories in each directory of the deep tree.
    pub width: u32,
    /// The number of library files that are read at random.
    pub picked: usize,
    /// The number of reads of library files, with as many writes between them.
    pub mixed: usize,
    /// The number of names that are looked up.
    pub lookups: usize,
    /// The size of the file that is accessed with requests of 4 KiB, in MiB.
    pub file_mib: u64,
    /// The number of files in the git repository, which has about a seventh as many directories.
    pub repository_files: usize,
    /// The number of transactions on the database.
    pub transactions: usize,
    /// The number of files in the package.
    pub package_files: usize,
    /// The number of lower files that each copy-up workload changes in a round.
    pub changed: usize,
}

impl Sizes {
    /// Returns the sizes of the published results.
    #[must_use]
    pub const fn full(file_mib: u64) -> Self {
        Self {
            many: 1000,
            names: 10_000,
            middle: 100,
            stream_mib: 16,
            depth: 3,
            width: 8,
            picked: 200,
            mixed: 500,
            lookups: 2000,
            file_mib,
            repository_files: 4600,
            transactions: 200,
            package_files: 500,
            changed: 16,
        }
    }

    /// Returns sizes to check that everything works. The figures mean nothing.
    #[must_use]
    pub const fn quick() -> Self {
        Self {
            many: 20,
            names: 40,
            middle: 4,
            stream_mib: 1,
            depth: 2,
            width: 2,
            picked: 10,
            mixed: 10,
            lookups: 50,
            file_mib: 16,
            repository_files: 60,
            transactions: 5,
            package_files: 10,
            changed: 2,
        }
    }
}
