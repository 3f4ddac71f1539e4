use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A limited number of bytes that several holders share. Clones share the limit and the account.
#[derive(Debug, Clone)]
pub(crate) struct Budget(Arc<Account>);

#[derive(Debug)]
struct Account {
    limit_bytes: AtomicUsize,
    taken_bytes: AtomicUsize,
}

/// Bytes that were taken from a budget. Dropping the claim gives them back.
#[derive(Debug)]
pub(crate) struct Claim {
    budget: Budget,
    bytes: usize,
}

impl Budget {
    pub(crate) fn new(limit_bytes: usize) -> Self {
        Self(Arc::new(Account {
            limit_bytes: AtomicUsize::new(limit_bytes),
            taken_bytes: AtomicUsize::new(0),
        }))
    }

    /// Sets another limit. Bytes that were taken before stay taken.
    pub(crate) fn set_limit(&self, limit_bytes: usize) {
        self.0.limit_bytes.store(limit_bytes, Ordering::Relaxed);
    }

    /// Takes `bytes` from the budget. `None` if fewer are left.
    pub(crate) fn take(&self, bytes: usize) -> Option<Claim> {
        let limit_bytes = self.0.limit_bytes.load(Ordering::Relaxed);
        let add = |taken: usize| taken.checked_add(bytes).filter(|sum| *sum <= limit_bytes);
        let taken = &self.0.taken_bytes;
        taken
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, add)
            .ok()?;
        Some(Claim {
            budget: self.clone(),
            bytes,
        })
    }

    /// Returns the number of bytes that can still be taken.
    pub(crate) fn left_bytes(&self) -> usize {
        let limit_bytes = self.0.limit_bytes.load(Ordering::Relaxed);
        limit_bytes.saturating_sub(self.0.taken_bytes.load(Ordering::Relaxed))
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let taken = &self.budget.0.taken_bytes;
        taken.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_taken_than_the_limit_and_what_is_dropped_is_given_back() {
        let budget = Budget::new(100);
        let first = budget.take(60).unwrap();
        assert!(budget.take(41).is_none());
        let second = budget.clone().take(40).unwrap();
        assert_eq!(budget.left_bytes(), 0);
        drop(first);
        assert_eq!(budget.left_bytes(), 60);
        assert!(budget.take(usize::MAX).is_none());
        budget.set_limit(0);
        assert!(budget.take(1).is_none());
        drop(second);
        assert_eq!((budget.left_bytes(), budget.take(0).is_some()), (0, true));
    }
}
