#![expect(unsafe_code, reason = "seccomp(2) has no safe form")]

use std::io;

use container_plan::SeccompFilter;

/// `SECCOMP_FILTER_FLAG_LOG` (include/uapi/linux/seccomp.h).
const LOG: libc::c_ulong = 2;
/// `SECCOMP_FILTER_FLAG_SPEC_ALLOW`.
const SPEC_ALLOW: libc::c_ulong = 4;

/// Puts a filter of system calls on this thread, for good. The kernel checks the program. Without `no_new_privs` the
/// thread needs `CAP_SYS_ADMIN`.
pub(crate) fn put_on(filter: &SeccompFilter) -> io::Result<()> {
    let instructions = filter.instructions();
    let mut program: Vec<libc::sock_filter> = instructions
        .map(|instruction| libc::sock_filter {
            code: instruction.code,
            jt: instruction.jt,
            jf: instruction.jf,
            k: instruction.k,
        })
        .collect();
    let length = u16::try_from(program.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let program = libc::sock_fprog {
        len: length,
        filter: program.as_mut_ptr(),
    };
    let log = if filter.is_logged { LOG } else { 0 };
    let allow = if filter.allows_speculation {
        SPEC_ALLOW
    } else {
        0
    };
    // SAFETY: the structure has the length of the list that it points to. Both live until the call returns.
    let result = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::c_ulong::from(libc::SECCOMP_SET_MODE_FILTER),
            log | allow,
            &raw const program,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
