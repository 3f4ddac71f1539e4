use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

/// What a guest may take of what is its own. Its root can lift them again: they keep programs from
/// harming each other, not the host from harm.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// The most processes and threads of all commands together.
    pub pids: Option<NonZeroU32>,
    /// Size of `/dev/shm`, in bytes; half of the memory where it is missing.
    pub shm_bytes: Option<u64>,
    /// Size of `/tmp`, in bytes; half of the memory where it is missing.
    pub tmp_bytes: Option<u64>,
}

impl Limits {
    /// What the guest's agent is told.
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
