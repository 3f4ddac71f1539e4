//! The values of the secrets: held, missing, expired, removed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use msb_secrets::{SecretName, SecretState, SecretValue, ValueState};
use thiserror::Error;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use crate::needle::Needle;

/// The time that a request waits for a value.
const WAIT: Duration = Duration::from_secs(10);

/// The values of the secrets of one sandbox. A clone is the same values.
#[derive(Debug, Clone)]
pub struct Values(Arc<State>);

#[derive(Debug)]
struct State {
    slots: Mutex<BTreeMap<SecretName, Slot>>,
    changed: Notify,
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
        let slots = names
            .into_iter()
            .map(|name| (name, Slot::Absent(Absence::Missing)));
        Self(Arc::new(State {
            slots: Mutex::new(slots.collect()),
            changed: Notify::new(),
        }))
    }

    /// Sets the value of a secret, for a time if one is given. The next request has it.
    ///
    /// # Errors
    ///
    /// Fails if the sandbox has no secret of this name.
    pub fn set(
        &self,
        name: &SecretName,
        value: SecretValue,
        lifetime: Option<Duration>,
    ) -> Result<(), NoSuchSecret> {
        let until = lifetime.and_then(|lifetime| SystemTime::now().checked_add(lifetime));
        let value = Arc::new(HeldValue::new(name.clone(), value));
        self.put(name, Slot::Held { value, until })
    }

    /// Removes the value of a secret. Requests with its placeholder fail from then on, until a value is set.
    ///
    /// # Errors
    ///
    /// Fails if the sandbox has no secret of this name.
    pub fn remove(&self, name: &SecretName) -> Result<(), NoSuchSecret> {
        self.put(name, Slot::Absent(Absence::Removed))
    }

    fn put(&self, name: &SecretName, new: Slot) -> Result<(), NoSuchSecret> {
        let mut slots = self.slots();
        let Some(slot) = slots.get_mut(name) else {
            return Err(NoSuchSecret { name: name.clone() });
        };
        *slot = new;
        drop(slots);
        self.0.changed.notify_waiters();
        Ok(())
    }

    /// Returns the state of each secret's value, in the order of their names.
    pub fn list(&self) -> Vec<SecretState> {
        let now = SystemTime::now();
        let mut slots = self.slots();
        let states = slots.iter_mut().map(|(name, slot)| {
            let state = match slot.at(now) {
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

    /// Returns the value of a secret. Waits at most 10 s for one that is missing or has expired.
    ///
    /// # Errors
    ///
    /// Fails if no value has come in this time, and at once if the value was removed.
    pub(crate) async fn wait(&self, name: &SecretName) -> Result<Arc<HeldValue>, NoValue> {
        let deadline = Instant::now() + WAIT;
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
        let mut slots = self.slots();
        let slot = slots.get_mut(name).ok_or(Absence::Missing)?;
        slot.at(SystemTime::now())
    }

    fn slots(&self) -> MutexGuard<'_, BTreeMap<SecretName, Slot>> {
        self.0.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The sandbox has no secret of a name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the sandbox has no secret {name}")]
pub struct NoSuchSecret {
    /// The name.
    pub name: SecretName,
}

/// A reason why a request cannot have a secret's value.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NoValue {
    /// No value was given in time.
    #[error("secret {name} has no value yet, set one with msb secret set")]
    Missing {
        /// The name of the secret.
        name: SecretName,
    },
    /// The value has expired, and no other one was given in time.
    #[error("the value of secret {name} has expired, set another one with msb secret set")]
    Expired {
        /// The name of the secret.
        name: SecretName,
    },
    /// The value was removed.
    #[error("the value of secret {name} was removed, set another one with msb secret set")]
    Removed {
        /// The name of the secret.
        name: SecretName,
    },
}

impl Diagnose for NoSuchSecret {
    fn diagnosis(&self) -> Diagnosis {
        Diagnosis::new(ErrorKind::NotFound).detail("secret", self.name.to_string())
    }
}

impl Diagnose for NoValue {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Missing { name } | Self::Expired { name } | Self::Removed { name } => {
                Diagnosis::new(ErrorKind::NotFound).detail("secret", name.to_string())
            }
        }
    }
}

#[cfg(test)]
mod tests;
