use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

use crate::limits::{ALLOWED_ONCE, ALLOWED_ONCE_MAX};
use crate::name::DomainName;

/// The names that the user has allowed once, for a moment. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct AllowedOnce(Arc<Mutex<VecDeque<(DomainName, Instant)>>>);

impl AllowedOnce {
    /// Allows a name from now on for [`ALLOWED_ONCE`].
    pub(crate) fn add(&self, name: &DomainName, now: Instant) {
        let mut names = self.lock();
        names.retain(|(known, until)| known != name && now < *until);
        if names.len() >= ALLOWED_ONCE_MAX {
            names.pop_front();
        }
        names.push_back((name.clone(), now + ALLOWED_ONCE));
    }

    pub(crate) fn has(&self, name: &DomainName, now: Instant) -> bool {
        let names = self.lock();
        names
            .iter()
            .any(|(known, until)| known == name && now < *until)
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(DomainName, Instant)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_allowed_for_a_moment_and_few_are() {
        let (names, now) = (AllowedOnce::default(), Instant::now());
        let name = |number: usize| DomainName::parse(&format!("{number}.test")).unwrap();
        names.add(&name(0), now);
        assert!(names.has(&name(0), now) && !names.has(&name(1), now));
        assert!(!names.has(&name(0), now + ALLOWED_ONCE));
        for number in 1..=ALLOWED_ONCE_MAX {
            names.add(&name(number), now);
        }
        assert!(!names.has(&name(0), now) && names.has(&name(1), now));
        assert_eq!(names.lock().len(), ALLOWED_ONCE_MAX);
    }
}
