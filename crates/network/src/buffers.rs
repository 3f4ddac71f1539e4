use crate::budget::{Budget, Claim};
use crate::limits::{TCP_BUFFER_MAX_BYTES, TCP_BUFFER_MIN_BYTES};

/// A buffer takes at most one part in this many of what is left of its budget.
const PARTS: usize = 64;

/// The size of a connection's two buffers: the fewer bytes are left, the smaller they are. Every
/// connection gets the smallest size, which is not counted.
#[derive(Debug)]
pub(crate) struct Buffers {
    pub(crate) bytes: usize,
    _claim: Option<Claim>,
}

impl Buffers {
    pub(crate) fn new(budget: &Budget) -> Self {
        let left_bytes = budget.left_bytes();
        let mut bytes = TCP_BUFFER_MAX_BYTES;
        while bytes > TCP_BUFFER_MIN_BYTES && bytes * PARTS > left_bytes {
            bytes /= 2;
        }
        let claim = if bytes > TCP_BUFFER_MIN_BYTES {
            budget.take(2 * bytes)
        } else {
            None
        };
        Self {
            bytes,
            _claim: claim,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{TCP_BUFFERS_BYTES, TCP_FLOWS_MAX};

    #[test]
    fn the_first_connections_have_large_buffers_and_all_together_a_bounded_sum() {
        let budget = Budget::new(TCP_BUFFERS_BYTES);
        let all: Vec<_> = (0..TCP_FLOWS_MAX).map(|_| Buffers::new(&budget)).collect();
        assert!(
            all[..16]
                .iter()
                .all(|buffers| buffers.bytes == TCP_BUFFER_MAX_BYTES)
        );
        assert_eq!(all[TCP_FLOWS_MAX - 1].bytes, TCP_BUFFER_MIN_BYTES);
        let sum: usize = all.iter().map(|buffers| 2 * buffers.bytes).sum();
        assert!(sum <= TCP_BUFFERS_BYTES + 2 * TCP_FLOWS_MAX * TCP_BUFFER_MIN_BYTES);
        drop(all);
        assert_eq!(Buffers::new(&budget).bytes, TCP_BUFFER_MAX_BYTES);
    }
}
