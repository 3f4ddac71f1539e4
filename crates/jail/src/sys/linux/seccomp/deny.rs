//! The deny list: calls that no VMM needs once it runs.

use libc::c_long;
use seccompiler::{BackendError, SeccompCmpOp};

use super::{Rules, conditional, unconditional};
use crate::Calls;

/// Starting programs.
const PROGRAMS: &[c_long] = &[libc::SYS_execve, libc::SYS_execveat];

/// Creating processes, by calls that can create nothing else.
#[cfg(target_arch = "x86_64")]
const FORKS: &[c_long] = &[libc::SYS_fork, libc::SYS_vfork];
#[cfg(not(target_arch = "x86_64"))]
const FORKS: &[c_long] = &[];

/// Sockets: a VMM gets those that it uses, or creates them in pairs.
const SOCKETS: &[c_long] = &[
    libc::SYS_socket,
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_listen,
];

/// Other processes: their memory, descriptors, limits and lifetime.
const PROCESSES: &[c_long] = &[
    libc::SYS_kcmp,
    libc::SYS_kill,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    libc::SYS_pidfd_getfd,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_send_signal,
    libc::SYS_process_madvise,
    libc::SYS_process_mrelease,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
];

/// Mounts, roots and namespaces.
const NAMESPACES: &[c_long] = &[
    libc::SYS_chroot,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    OPEN_TREE_ATTR,
    libc::SYS_pivot_root,
    libc::SYS_setns,
    libc::SYS_umount2,
    libc::SYS_unshare,
];

/// `open_tree_attr` (asm-generic/unistd.h), newer than the C library's names.
const OPEN_TREE_ATTR: c_long = 467;

/// The identity of the process.
const IDENTITY: &[c_long] = &[
    libc::SYS_personality,
    libc::SYS_setfsgid,
    libc::SYS_setfsuid,
    libc::SYS_setgid,
    libc::SYS_setgroups,
    libc::SYS_setregid,
    libc::SYS_setresgid,
    libc::SYS_setresuid,
    libc::SYS_setreuid,
    libc::SYS_setuid,
];

/// Attributes of files, by path or by descriptor, which Landlock does not restrict.
const ATTRIBUTES: &[c_long] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    FCHMODAT2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_fremovexattr,
    libc::SYS_fsetxattr,
    libc::SYS_lremovexattr,
    libc::SYS_lsetxattr,
    libc::SYS_removexattr,
    libc::SYS_setxattr,
    libc::SYS_utimensat,
];

/// `fchmodat2` (asm-generic/unistd.h), newer than the C library's names.
const FCHMODAT2: c_long = 452;

/// `setxattrat`, `removexattrat` and `file_setattr` (asm-generic/unistd.h). They also change
/// attributes, and no process of msb makes them, not even the one that serves a host directory.
const ATTRIBUTES_OF_NONE: &[c_long] = &[463, 466, 469];

/// Memory, messages and semaphores that every process of the user can open.
const SHARED: &[c_long] = &[
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_msgget,
    libc::SYS_msgrcv,
    libc::SYS_msgsnd,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_shmat,
    libc::SYS_shmget,
];

/// Large parts of the kernel that had many vulnerabilities.
const WIDE: &[c_long] = &[
    libc::SYS_add_key,
    libc::SYS_bpf,
    libc::SYS_fanotify_init,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_keyctl,
    libc::SYS_lookup_dcookie,
    libc::SYS_name_to_handle_at,
    libc::SYS_nfsservctl,
    libc::SYS_open_by_handle_at,
    libc::SYS_perf_event_open,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_request_key,
    libc::SYS_syslog,
    libc::SYS_userfaultfd,
    libc::SYS_vhangup,
];

/// The state of the host as a whole.
const HOST: &[c_long] = &[
    libc::SYS_acct,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_finit_module,
    libc::SYS_init_module,
    libc::SYS_kexec_file_load,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
];

/// Calls of these kinds that exist only on x86-64.
#[cfg(target_arch = "x86_64")]
const OF_X86: &[c_long] = &[
    libc::SYS__sysctl,
    libc::SYS_ioperm,
    libc::SYS_iopl,
    libc::SYS_modify_ldt,
    libc::SYS_mknod,
    libc::SYS_uselib,
    libc::SYS_ustat,
];
#[cfg(not(target_arch = "x86_64"))]
const OF_X86: &[c_long] = &[];

/// Attributes of files, by older calls.
#[cfg(target_arch = "x86_64")]
const ATTRIBUTES_OF_X86: &[c_long] = &[
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_futimesat,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
];
#[cfg(not(target_arch = "x86_64"))]
const ATTRIBUTES_OF_X86: &[c_long] = &[];

/// The bit that marks a call of the x32 ABI (`__X32_SYSCALL_BIT`). The range below holds the
/// numbers that exist only in that ABI.
#[cfg(target_arch = "x86_64")]
const X32_BIT: c_long = 0x4000_0000;
#[cfg(target_arch = "x86_64")]
const X32_ONLY: std::ops::RangeInclusive<c_long> = 512..=547;

/// Returns the rules of the refused calls.
///
/// For [`Calls::Starter`] they leave out programs and processes; for [`Calls::Share`], attributes
/// of files.
pub(super) fn rules(left: Calls) -> Result<Rules, BackendError> {
    let starter = left == Calls::Starter;
    let mut calls = [
        SOCKETS,
        PROCESSES,
        NAMESPACES,
        IDENTITY,
        ATTRIBUTES_OF_NONE,
        SHARED,
        WIDE,
        HOST,
        OF_X86,
    ]
    .concat();
    if left != Calls::Share {
        calls.extend(ATTRIBUTES);
        calls.extend(ATTRIBUTES_OF_X86);
    }
    if starter {
        // A starter may watch the programs that it starts, each by a pidfd.
        calls.retain(|call| *call != libc::SYS_pidfd_open);
    } else {
        calls.extend(PROGRAMS);
        calls.extend(FORKS);
    }
    #[cfg(target_arch = "x86_64")]
    {
        let twins: Vec<_> = calls.iter().map(|call| call | X32_BIT).collect();
        calls.extend(twins);
        calls.extend(X32_ONLY.map(|call| call | X32_BIT));
    }
    let mut rules = unconditional(&calls);
    // The limits of other processes.
    let another = conditional(0, SeccompCmpOp::Ne, 0)?;
    rules.insert(libc::SYS_prlimit64, vec![another]);
    if !starter {
        let is_thread = libc::CLONE_THREAD.unsigned_abs().into();
        let no_thread = conditional(0, SeccompCmpOp::MaskedEq(is_thread), 0)?;
        rules.insert(libc::SYS_clone, vec![no_thread]);
    }
    Ok(rules)
}
