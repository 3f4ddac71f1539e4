//! The changes for directories of the host that a client has seen and not made yet.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use msb_sdk::ApplyPlan;

/// The time for which a plan is held. Meanwhile the sandbox cannot be started anew, and no other process applies
/// changes to the directories.
const HOLD_TIME: Duration = Duration::from_secs(10 * 60);

/// The one plan that is held, so that what is made later is what was seen.
#[derive(Debug, Clone, Default)]
pub(crate) struct HeldPlan(Arc<Mutex<Option<Held>>>);

#[derive(Debug)]
struct Held {
    token: String,
    plan: ApplyPlan,
}

impl HeldPlan {
    /// Holds a plan in place of an earlier one, and returns the token with which it is taken back.
    pub(crate) fn hold(&self, plan: ApplyPlan) -> String {
        let token = format!("{:016x}", fastrand::u64(..));
        *self.lock() = Some(Held {
            token: token.clone(),
            plan,
        });
        let (held, ended) = (self.clone(), token.clone());
        tokio::spawn(async move {
            tokio::time::sleep(HOLD_TIME).await;
            drop(held.take(&ended));
        });
        token
    }

    /// Takes the plan with this token; `None` if it is no longer held.
    pub(crate) fn take(&self, token: &str) -> Option<ApplyPlan> {
        let mut held = self.lock();
        if held.as_ref()?.token != token {
            return None;
        }
        held.take().map(|held| held.plan)
    }

    /// Drops the plan.
    pub(crate) fn clear(&self) {
        drop(self.lock().take());
    }

    fn lock(&self) -> MutexGuard<'_, Option<Held>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
