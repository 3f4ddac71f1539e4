//! The allow list of the network process: the calls that `cargo xtask seccomp-list` measures, and
//! those that the same libraries make for the same purposes after a failure, with another C
//! library, or with another version of it.

use libc::c_long;
use seccompiler::{BackendError, SeccompCmpOp};

use super::allow::{COMMANDS, EVENTS, MEMORY};
use super::{Rules, conditional, unconditional};

/// Opening files, to find the resolvers, and accepting connections of sockets that were bound before.
const OWN: &[c_long] = &[libc::SYS_accept4, libc::SYS_lseek, libc::SYS_openat];

/// Use of files that are already open, such as the log.
const FILES: &[c_long] = &[
    libc::SYS_close,
    libc::SYS_fcntl,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_statx,
    libc::SYS_write,
    libc::SYS_writev,
];

/// Sockets that transfer data.
const SOCKETS: &[c_long] = &[
    libc::SYS_connect,
    libc::SYS_getpeername,
    libc::SYS_getsockname,
    libc::SYS_getsockopt,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_sendmsg,
    libc::SYS_sendto,
    libc::SYS_setsockopt,
    libc::SYS_shutdown,
];

/// The process itself: its one thread, its signals and its exit.
const PROCESS: &[c_long] = &[
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_futex,
    libc::SYS_getpid,
    libc::SYS_getppid,
    libc::SYS_getrandom,
    libc::SYS_gettid,
    libc::SYS_membarrier,
    libc::SYS_restart_syscall,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sched_yield,
    libc::SYS_sigaltstack,
    libc::SYS_tgkill,
];

/// Calls that the C library makes on x86-64 in place of some of the above.
#[cfg(target_arch = "x86_64")]
const OF_X86: &[c_long] = &[libc::SYS_epoll_wait, libc::SYS_poll];
#[cfg(not(target_arch = "x86_64"))]
const OF_X86: &[c_long] = &[];

/// The address families of the sockets that the process may create.
const FAMILIES: [libc::c_int; 2] = [libc::AF_INET, libc::AF_INET6];

/// Returns the rules of the allowed calls.
pub(super) fn rules() -> Result<Rules, BackendError> {
    let mut rules = of_client(&FAMILIES)?;
    rules.extend(unconditional(OWN));
    Ok(rules)
}

/// Returns the rules of a process with one thread that creates sockets of these families and connects them.
pub(super) fn of_client(families: &[libc::c_int]) -> Result<Rules, BackendError> {
    let mut rules = unconditional(&[FILES, SOCKETS, EVENTS, MEMORY, PROCESS, OF_X86].concat());
    let commands = COMMANDS.map(|command| conditional(1, SeccompCmpOp::Eq, command));
    rules.insert(
        libc::SYS_ioctl,
        commands.into_iter().collect::<Result<_, _>>()?,
    );
    // The process's own limits, which can only be lowered.
    let own = conditional(0, SeccompCmpOp::Eq, 0)?;
    rules.insert(libc::SYS_prlimit64, vec![own]);
    let families = families.iter().map(|family| {
        let family = u64::from(family.unsigned_abs());
        conditional(0, SeccompCmpOp::Eq, family)
    });
    rules.insert(libc::SYS_socket, families.collect::<Result<_, _>>()?);
    Ok(rules)
}
