//! Kernels as files: a libkrunfw library wrapped as ELF, a `vmlinux` returned unchanged, and
//! corrupt bytes.

mod fixture;
mod hostile;
mod wrapping;
