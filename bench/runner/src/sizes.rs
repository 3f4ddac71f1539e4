use serde::{Deserialize, Serialize};

/// How much each workload does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sizes {
    /// Small files that are made, renamed, deleted.
    pub many: usize,
    /// Files of the directory that has thousands.
    pub names: usize,
    /// Files of 64 KiB that are made.
    pub middle: usize,
    /// The file that is streamed, in MiB.
    pub stream_mib: u64,
    /// Levels of the deep tree below its root.
    pub depth: u32,
    /// Directories in each directory of the deep tree.
    pub width: u32,
    /// Files of the library that are read at random.
    pub picked: usize,
    /// Reads of library files among as many writes.
    pub mixed: usize,
    /// Names that are looked up.
    pub lookups: usize,
    /// The file that is worked on with 4 KiB requests, in MiB.
    pub file_mib: u64,
    /// Files of the git repository, about a seventh as many directories.
    pub repository_files: usize,
    /// Transactions on the database.
    pub transactions: usize,
    /// Files of the package.
    pub package_files: usize,
    /// Lower files that each copy-up workload changes in a round.
    pub changed: usize,
}

impl Sizes {
    /// As the suites are published.
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

    /// To see that everything works: the figures mean nothing.
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
