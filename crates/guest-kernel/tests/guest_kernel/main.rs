//! Kernels as files: a libkrunfw library wrapped as ELF, a `vmlinux` passed through, and bytes
//! that lie.

mod fixture;
mod hostile;
mod wrapping;
