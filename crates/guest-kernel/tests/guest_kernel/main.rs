//! Kernels as files: a libkrunfw library wrapped as ELF, a `vmlinux` returned unchanged, and
//! corrupt bytes.

mod fixture;
mod hostile;
mod wrapping;

use guest_kernel::{Architecture, GuestKernel, KernelError};

/// Wraps a kernel for x86-64, on any host.
fn wrap(bytes: &[u8]) -> Result<GuestKernel, KernelError> {
    guest_kernel::wrap(bytes, Architecture::X86_64)
}
