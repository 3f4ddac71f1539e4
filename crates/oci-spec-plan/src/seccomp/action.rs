//! The actions of a filter, as the numbers that it returns (`include/uapi/linux/seccomp.h`).

use crate::Refusal;
use crate::node::Node;

/// The error number `EPERM`, which a profile means if it gives none.
const EPERM: u32 = 1;
/// The error number `ENOSYS`: the call does not exist.
const ENOSYS: u32 = 38;
/// The largest error number that the kernel returns, `MAX_ERRNO`.
const ERRNO_MAX: u32 = 4095;

const KILL_PROCESS: u32 = 0x8000_0000;
const KILL_THREAD: u32 = 0;
const TRAP: u32 = 0x0003_0000;
const ERRNO: u32 = 0x0005_0000;
const TRACE: u32 = 0x7ff0_0000;
const LOG: u32 = 0x7ffc_0000;
const ALLOW: u32 = 0x7fff_0000;

/// An action: the kind in the upper 16 bits, its data in the lower ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Action(u32);

impl Action {
    /// The action for calls of an unknown interface.
    pub(super) const KILL_PROCESS: Self = Self(KILL_PROCESS);
    /// The action for a call that does not exist.
    pub(super) const NO_SUCH_CALL: Self = Self(ERRNO | ENOSYS);

    /// Reads an action and the error number beside it.
    pub(super) fn read(name: &Node, error: Option<Node>) -> Result<Self, Refusal> {
        let error = match error {
            None => EPERM,
            Some(node) => match node.number()? {
                number @ 0..=ERRNO_MAX => number,
                _ => return Err(node.refuse("it must be an error number up to 4,095", None)),
            },
        };
        Ok(Self(match name.text()? {
            "SCMP_ACT_KILL" | "SCMP_ACT_KILL_THREAD" => KILL_THREAD,
            "SCMP_ACT_KILL_PROCESS" => KILL_PROCESS,
            "SCMP_ACT_TRAP" => TRAP,
            "SCMP_ACT_ERRNO" => ERRNO | error,
            "SCMP_ACT_TRACE" => TRACE | error,
            "SCMP_ACT_LOG" => LOG,
            "SCMP_ACT_ALLOW" => ALLOW,
            "SCMP_ACT_NOTIFY" => {
                return Err(name.refuse(
                    "a program of the host cannot answer system calls of a guest",
                    Some("use a profile without SCMP_ACT_NOTIFY"),
                ));
            }
            _ => return Err(name.refuse("it must be an action such as SCMP_ACT_ERRNO", None)),
        }))
    }

    /// Returns the number that a filter returns.
    pub(super) const fn number(self) -> u32 {
        self.0
    }

    /// Returns the kernel's order of actions, the strictest first.
    pub(super) const fn rank(self) -> i32 {
        self.0.cast_signed()
    }

    /// Returns true if the call is made.
    pub(super) const fn is_permissive(self) -> bool {
        self.rank() >= TRACE.cast_signed()
    }

    #[cfg(test)]
    pub(super) const fn from_number(number: u32) -> Self {
        Self(number)
    }
}
