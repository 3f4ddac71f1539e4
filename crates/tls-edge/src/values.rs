//! The values of the secrets: held, missing, expired, removed.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use msb_secrets::{SecretName, SecretState, SecretValue, ValueState};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

pub use self::error::{NoSuchSecret, NoValue, NotSet};
use crate::needle::Needle;

mod error;

/// The time that a request waits for all its values.
pub(crate) const WAIT: Duration = Duration::from_secs(10);

/// The number of values of a secret that answers are searched for: the present one, and the last ones before it.
const KNOWN_MAX: usize = 4;
/// The memory of the searched texts of a secret. The longest value takes less, so that the present one is always known.
pub(crate) const KNOWN_MAX_BYTES: usize = 1 << 20;

/// The values of the secrets of one sandbox. A clone is the same values.
#[derive(Debug, Clone)]
pub struct Values(Arc<State>);

#[derive(Debug)]
struct State {
    secrets: Mutex<BTreeMap<SecretName, Entry>>,
    /// The number of values that became known so far.
    generation: AtomicU64,
    changed: Notify,
}

/// One secret.
#[derive(Debug)]
struct Entry {
    slot: Slot,
    /// The values that the secret has or had, the present one last: a host may keep what it was sent.
    known: Vec<Arc<HeldValue>>,
}

impl Entry {
    fn new() -> Self {
        Self {
            slot: Slot::Absent(Absence::Missing),
            known: Vec::new(),
        }
    }

    /// Makes a value known, and forgets the oldest ones. Returns it, and false if it was known before.
    fn know(&mut self, value: HeldValue) -> (Arc<HeldValue>, bool) {
        let place = self
            .known
            .iter()
            .position(|known| known.value == value.value);
        let (value, is_new) = match place {
            Some(place) => (self.known.remove(place), false),
            None => (Arc::new(value), true),
        };
        self.known.push(Arc::clone(&value));
        while self.known.len() > KNOWN_MAX
            || (self.known.len() > 1 && self.memory_bytes() > KNOWN_MAX_BYTES)
        {
            self.known.remove(0);
        }
        (value, is_new)
    }

    fn memory_bytes(&self) -> usize {
        let needles = self.known.iter().flat_map(|value| &value.needles);
        needles.map(Needle::memory_bytes).sum()
    }
}

/// The state of one secret's value.
#[derive(Debug)]
enum Slot {
    Held {
        value: Arc<HeldValue>,
        until: Option<SystemTime>,
    },
    Absent(Absence),
}

impl Slot {
    /// Returns the value at a time. A value that has expired is dropped.
    fn at(&mut self, now: SystemTime) -> Result<Arc<HeldValue>, Absence> {
        match self {
            Self::Held { value, until } if until.is_none_or(|until| now < until) => {
                Ok(Arc::clone(value))
            }
            Self::Held { .. } => {
                *self = Self::Absent(Absence::Expired);
                Err(Absence::Expired)
            }
            Self::Absent(absence) => Err(*absence),
        }
    }
}

/// A reason why a secret has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Absence {
    Missing,
    Expired,
    Removed,
}

/// A value, and the texts that an answer may hold it as.
#[derive(Debug)]
pub(crate) struct HeldValue {
    /// The name of the secret.
    pub(crate) name: SecretName,
    /// The value.
    pub(crate) value: SecretValue,
    /// The texts that an answer is searched for.
    pub(crate) needles: Vec<Needle>,
}

impl HeldValue {
    /// Returns a value that can be placed and searched for.
    pub(crate) fn new(name: SecretName, value: SecretValue) -> Self {
        let needles = Needle::all_of(value.expose());
        Self {
            name,
            value,
            needles,
        }
    }
}

impl Values {
    /// Returns the values of these secrets, all missing.
    pub(crate) fn new(names: impl IntoIterator<Item = SecretName>) -> Self {
        let secrets = names.into_iter().map(|name| (name, Entry::new()));
        Self(Arc::new(State {
            secrets: Mutex::new(secrets.collect()),
            generation: AtomicU64::new(0),
            changed: Notify::new(),
        }))
    }

    /// Sets the value of a secret, for a time if one is given. The next request has it.
    ///
    /// # Errors
    ///
    /// Fails if the sandbox has no secret of this name, or had one: a command that was running when the secret was
    /// removed prints a value, which must not bring it back.
    pub fn set(
        &self,
        name: &SecretName,
        value: SecretValue,
        lifetime: Option<Duration>,
    ) -> Result<(), NotSet> {
        let until = lifetime.and_then(|lifetime| SystemTime::now().checked_add(lifetime));
        let value = HeldValue::new(name.clone(), value);
        self.change(name, |secret| {
            if matches!(secret.slot, Slot::Absent(Absence::Removed)) {
                return Err(NotSet::Removed { name: name.clone() });
            }
            let (value, is_new) = secret.know(value);
            secret.slot = Slot::Held { value, until };
            // Whoever sees the new number waits for the lock, and then sees the value.
            let added = u64::from(is_new);
            self.0.generation.fetch_add(added, Ordering::Relaxed);
            Ok(())
        })?
    }

    /// Removes a secret. Requests with its placeholder fail from then on, and answers are still searched for its values.
    ///
    /// # Errors
    ///
    /// Fails if the sandbox has no secret of this name.
    pub fn remove(&self, name: &SecretName) -> Result<(), NoSuchSecret> {
        self.change(name, |secret| {
            secret.slot = Slot::Absent(Absence::Removed);
        })
    }

    /// Returns the number of values that became known so far. While it is the same, [`known`](Self::known) is.
    pub(crate) fn generation(&self) -> u64 {
        self.0.generation.load(Ordering::Relaxed)
    }

    /// Returns the values that these secrets have or had, whether they were placed in a request or not.
    pub(crate) fn known(&self, names: &[SecretName]) -> Vec<Arc<HeldValue>> {
        let secrets = self.secrets();
        let known = names.iter().filter_map(|name| secrets.get(name));
        known.flat_map(|secret| secret.known.clone()).collect()
    }

    /// Changes a secret, and wakes the requests that wait for a value.
    fn change<T>(
        &self,
        name: &SecretName,
        change: impl FnOnce(&mut Entry) -> T,
    ) -> Result<T, NoSuchSecret> {
        let mut secrets = self.secrets();
        let Some(secret) = secrets.get_mut(name) else {
            return Err(NoSuchSecret { name: name.clone() });
        };
        let changed = change(secret);
        drop(secrets);
        self.0.changed.notify_waiters();
        Ok(changed)
    }

    /// Returns the state of each secret's value, in the order of their names.
    pub fn list(&self) -> Vec<SecretState> {
        let now = SystemTime::now();
        let mut secrets = self.secrets();
        let states = secrets.iter_mut().map(|(name, secret)| {
            let state = match secret.slot.at(now) {
                Ok(_) => ValueState::Held,
                Err(Absence::Missing) => ValueState::Missing,
                Err(Absence::Expired) => ValueState::Expired,
                Err(Absence::Removed) => ValueState::Removed,
            };
            SecretState {
                name: name.clone(),
                state,
            }
        });
        states.collect()
    }

    /// Returns the value of a secret. Waits until `deadline` for one that is missing or has expired.
    ///
    /// # Errors
    ///
    /// Fails if no value has come in this time, and at once if the value was removed.
    pub(crate) async fn wait(
        &self,
        name: &SecretName,
        deadline: Instant,
    ) -> Result<Arc<HeldValue>, NoValue> {
        loop {
            // Listens before it looks: a value that is set in between is not missed.
            let mut changed = std::pin::pin!(self.0.changed.notified());
            changed.as_mut().enable();
            let absence = match self.look(name) {
                Ok(value) => return Ok(value),
                Err(absence) => absence,
            };
            let is_over =
                absence == Absence::Removed || timeout_at(deadline, changed).await.is_err();
            if is_over {
                let name = name.clone();
                return Err(match absence {
                    Absence::Missing => NoValue::Missing { name },
                    Absence::Expired => NoValue::Expired { name },
                    Absence::Removed => NoValue::Removed { name },
                });
            }
        }
    }

    fn look(&self, name: &SecretName) -> Result<Arc<HeldValue>, Absence> {
        let mut secrets = self.secrets();
        let secret = secrets.get_mut(name).ok_or(Absence::Missing)?;
        secret.slot.at(SystemTime::now())
    }

    fn secrets(&self) -> MutexGuard<'_, BTreeMap<SecretName, Entry>> {
        let secrets = self.0.secrets.lock();
        secrets.unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
