//! What differs between the kernels of two architectures.

use std::env::consts::ARCH;
use std::path::{Path, PathBuf};

/// A patch, and the name that it has beside the kernel.
pub(crate) type Patch = (&'static str, &'static str);

/// An architecture of guests.
#[derive(Debug)]
pub(crate) struct Architecture {
    /// The name that `uname -m` prints.
    pub(crate) name: &'static str,
    /// The name in comments of the fragments: the options below such a comment are its alone.
    pub(crate) in_comments: &'static str,
    /// The fragment that is its alone.
    pub(crate) fragment: Option<&'static str>,
    /// The value of `ARCH` of the kernel's makefile.
    in_makefile: &'static str,
    /// The start of the names of Debian's cross-compiler and its tools.
    cross_compiler: &'static str,
    /// The kernel's file, and the target of its makefile: what the VMMs boot.
    pub(crate) kernel: &'static str,
    /// The path of that file in a tree.
    built: &'static str,
    /// The name of the way to compile. It changes together with `compile.rs`, so that no kernel of
    /// the earlier way is taken from the cache.
    pub(crate) way: &'static str,
    /// The patches by which the kernel differs from Debian's source. Each says what it is for.
    pub(crate) patches: &'static [Patch],
}

/// The architectures that the fragments are written for.
pub(crate) const ALL: [Architecture; 2] = [
    Architecture {
        name: "x86_64",
        in_comments: "x86-64",
        fragment: None,
        in_makefile: "x86",
        cross_compiler: "x86_64-linux-gnu-",
        kernel: "vmlinux",
        built: "vmlinux",
        way: "vmlinux-3",
        patches: &[
            (
                "patches/data-hole.patch",
                include_str!("../patches/data-hole.patch"),
            ),
            (
                "patches/file-alignment.patch",
                include_str!("../patches/file-alignment.patch"),
            ),
            ("patches/halt.patch", include_str!("../patches/halt.patch")),
            (
                "patches/lapic-timer.patch",
                include_str!("../patches/lapic-timer.patch"),
            ),
            (
                "patches/virtio-queue-size.patch",
                include_str!("../patches/virtio-queue-size.patch"),
            ),
        ],
    },
    Architecture {
        name: "aarch64",
        in_comments: "aarch64",
        fragment: Some("aarch64.config"),
        in_makefile: "arm64",
        cross_compiler: "aarch64-linux-gnu-",
        kernel: "Image",
        built: "arch/arm64/boot/Image",
        way: "Image-1",
        patches: &[],
    },
];

impl Architecture {
    /// Returns the architecture of this name; `None` if the fragments are not written for it.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|architecture| architecture.name == name)
    }

    /// Returns the name of one of the compiler's programs, such as `gcc`.
    pub(crate) fn tool(&self, name: &str) -> String {
        let prefix = if self.is_hosts() {
            ""
        } else {
            self.cross_compiler
        };
        format!("{prefix}{name}")
    }

    /// Returns the variables by which the kernel's makefile builds for another architecture than this
    /// host's.
    pub(crate) fn make_variables(&self) -> Vec<String> {
        if self.is_hosts() {
            return Vec::new();
        }
        vec![
            format!("ARCH={}", self.in_makefile),
            format!("CROSS_COMPILE={}", self.cross_compiler),
        ]
    }

    /// Returns true if this host's own compiler compiles for the architecture.
    pub(crate) fn is_hosts(&self) -> bool {
        self.name == ARCH
    }

    /// Returns the path of the built kernel in a tree.
    pub(crate) fn built(&self, tree: &Path) -> PathBuf {
        tree.join(self.built)
    }

    /// Returns true if the built kernel is an ELF file, which has symbols to strip. A flat image has
    /// none.
    pub(crate) fn has_symbols(&self) -> bool {
        self.kernel == "vmlinux"
    }
}
