use msb_sandbox_model::Size;
use serde::{Deserialize, Serialize};

/// The options of a read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ReadOptions {
    /// The most bytes that the file may have; 32 MiB if `None`.
    pub max_size: Option<Size>,
}

impl ReadOptions {
    /// Sets the most bytes that the file may have.
    #[must_use]
    pub const fn max_size(mut self, size: Size) -> Self {
        self.max_size = Some(size);
        self
    }
}

/// The options of a write.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct WriteOptions {
    /// The 12 permission bits. An existing file keeps its own, and a new one gets 0644, if `None`.
    pub mode: Option<u32>,
    /// True to make missing directories above the file.
    pub parents: bool,
}

impl WriteOptions {
    /// Sets the permission bits.
    #[must_use]
    pub const fn mode(mut self, mode: u32) -> Self {
        self.mode = Some(mode);
        self
    }

    /// Makes missing directories above the file.
    #[must_use]
    pub const fn parents(mut self) -> Self {
        self.parents = true;
        self
    }
}

/// The options of a new directory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct MkdirOptions {
    /// True to make missing directories above it, and to accept an existing directory.
    pub parents: bool,
    /// The 12 permission bits; 0755 if `None`.
    pub mode: Option<u32>,
}

impl MkdirOptions {
    /// Makes missing directories above it, and accepts an existing directory.
    #[must_use]
    pub const fn parents(mut self) -> Self {
        self.parents = true;
        self
    }

    /// Sets the permission bits.
    #[must_use]
    pub const fn mode(mut self, mode: u32) -> Self {
        self.mode = Some(mode);
        self
    }
}

/// The options of a removal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct RemoveOptions {
    /// True to remove a directory with everything in it.
    pub recursive: bool,
    /// True if a missing file is no error.
    pub missing_ok: bool,
}

impl RemoveOptions {
    /// Removes a directory with everything in it.
    #[must_use]
    pub const fn recursive(mut self) -> Self {
        self.recursive = true;
        self
    }

    /// Accepts that the file does not exist.
    #[must_use]
    pub const fn missing_ok(mut self) -> Self {
        self.missing_ok = true;
        self
    }
}
