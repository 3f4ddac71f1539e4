//! The allow list of msb's own threads: the calls that `cargo xtask seccomp-list` measures, and
//! those that the same libraries make for the same purposes after a failure, with another C
//! library, or with another version of it.

use libc::c_long;
use seccompiler::{BackendError, SeccompCmpOp};

use super::{Rules, conditional, unconditional};

const FILES: &[c_long] = &[
    libc::SYS_close,
    libc::SYS_fcntl,
    libc::SYS_fstat,
    libc::SYS_fsync,
    libc::SYS_ftruncate,
    libc::SYS_getdents64,
    libc::SYS_lseek,
    libc::SYS_mkdirat,
    libc::SYS_newfstatat,
    libc::SYS_openat,
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_statfs,
    libc::SYS_statx,
    libc::SYS_unlinkat,
    libc::SYS_write,
    libc::SYS_writev,
];

/// Calls on existing sockets: to accept connections, and to transfer data.
const SOCKETS: &[c_long] = &[
    libc::SYS_accept4,
    libc::SYS_getpeername,
    libc::SYS_getsockname,
    libc::SYS_getsockopt,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_sendmsg,
    libc::SYS_sendto,
    libc::SYS_setsockopt,
    libc::SYS_shutdown,
    libc::SYS_socketpair,
];

pub(super) const EVENTS: &[c_long] = &[
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_eventfd2,
    libc::SYS_ppoll,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
];

pub(super) const MEMORY: &[c_long] = &[
    libc::SYS_brk,
    libc::SYS_madvise,
    libc::SYS_mmap,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_munmap,
];

/// The process itself: its threads, signals and exit.
const PROCESS: &[c_long] = &[
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_flock,
    libc::SYS_futex,
    libc::SYS_getpid,
    libc::SYS_getppid,
    libc::SYS_getrandom,
    libc::SYS_gettid,
    libc::SYS_membarrier,
    libc::SYS_restart_syscall,
    libc::SYS_rseq,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_yield,
    libc::SYS_set_robust_list,
    libc::SYS_sigaltstack,
    libc::SYS_tgkill,
    libc::SYS_wait4,
    libc::SYS_waitid,
    // A separate filter answers this call.
    libc::SYS_clone3,
];

/// Calls that the C library makes on x86-64 in place of some of the above.
#[cfg(target_arch = "x86_64")]
const OF_X86: &[c_long] = &[
    libc::SYS_epoll_wait,
    libc::SYS_mkdir,
    libc::SYS_poll,
    libc::SYS_rename,
    libc::SYS_unlink,
];
#[cfg(not(target_arch = "x86_64"))]
const OF_X86: &[c_long] = &[];

/// `FIONBIO` and `FIOCLEX` (asm-generic/ioctls.h).
pub(super) const COMMANDS: [u64; 2] = [0x5421, 0x5451];

/// Returns the rules of the allowed calls.
pub(super) fn rules() -> Result<Rules, BackendError> {
    let mut rules = unconditional(&[FILES, SOCKETS, EVENTS, MEMORY, PROCESS, OF_X86].concat());
    let commands = COMMANDS.map(|command| conditional(1, SeccompCmpOp::Eq, command));
    rules.insert(
        libc::SYS_ioctl,
        commands.into_iter().collect::<Result<_, _>>()?,
    );
    // The process's own limits, which can only be lowered.
    let own = conditional(0, SeccompCmpOp::Eq, 0)?;
    rules.insert(libc::SYS_prlimit64, vec![own]);
    let thread_name = libc::PR_SET_NAME.unsigned_abs().into();
    rules.insert(
        libc::SYS_prctl,
        vec![conditional(0, SeccompCmpOp::Eq, thread_name)?],
    );
    let is_thread = u64::from(libc::CLONE_THREAD.unsigned_abs());
    let a_thread = conditional(0, SeccompCmpOp::MaskedEq(is_thread), is_thread)?;
    rules.insert(libc::SYS_clone, vec![a_thread]);
    Ok(rules)
}
