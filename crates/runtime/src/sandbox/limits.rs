use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

/// Limits inside the guest.
/// The guest's root can lift them: they protect programs from each other, not the host from the
/// guest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Maximum number of processes and threads of all commands together.
    pub pids: Option<NonZeroU32>,
    /// Size of `/dev/shm`, in bytes; half of the guest's memory if `None`.
    pub shm_bytes: Option<u64>,
    /// Size of `/tmp` in the guest's memory, in bytes; on the writable disk if `None`.
    pub tmp_bytes: Option<u64>,
}

impl Limits {
    /// Returns the kernel arguments from which the guest's agent reads the limits.
    pub(super) fn kernel_words(self) -> Vec<String> {
        let pids = self.pids.map(|pids| format!("msb_pids={pids}"));
        let shm = self.shm_bytes.map(|bytes| format!("msb_shm={bytes}"));
        let tmp = self.tmp_bytes.map(|bytes| format!("msb_tmp={bytes}"));
        [pids, shm, tmp].into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_agent_is_told_what_is_limited() {
        assert!(Limits::default().kernel_words().is_empty());
        let limits = Limits {
            pids: NonZeroU32::new(50),
            shm_bytes: Some(1 << 20),
            tmp_bytes: None,
        };
        assert_eq!(limits.kernel_words(), ["msb_pids=50", "msb_shm=1048576"]);
    }
}
