use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::limits::RegistryLimits;

/// Connections that ranges ahead of their turn leave to blobs whose download begins.
const CONNECTIONS_LEFT: usize = 1;

/// The connections and the memory for blobs of one repository, shared by all of its downloads.
#[derive(Debug, Clone)]
pub(crate) struct Quota {
    connections: Arc<Semaphore>,
    /// One permit for each byte.
    memory: Arc<Semaphore>,
}

/// The right to a connection, until this is dropped.
#[derive(Debug)]
pub(crate) struct Connection {
    _permit: OwnedSemaphorePermit,
}

/// Memory for bytes that arrive before their turn, until it is given back or dropped.
#[derive(Debug)]
pub(crate) struct Memory(OwnedSemaphorePermit);

impl Quota {
    pub(crate) fn new(limits: &RegistryLimits) -> Self {
        let memory_bytes = usize::try_from(limits.range_memory_bytes).unwrap_or(usize::MAX);
        let permits = |count: usize| Arc::new(Semaphore::new(count.min(Semaphore::MAX_PERMITS)));
        Self {
            connections: permits(limits.connections.max(1)),
            memory: permits(memory_bytes),
        }
    }

    /// Waits for a connection.
    pub(crate) async fn connection(&self) -> Connection {
        let permit = Arc::clone(&self.connections).acquire_owned().await;
        Connection {
            _permit: permit.expect("the semaphore is never closed"),
        }
    }

    /// Returns a connection for a range ahead of its turn; `None` if too few are free. Whoever waits
    /// for a connection comes first.
    pub(crate) fn spare_connection(&self) -> Option<Connection> {
        if self.connections.available_permits() <= CONNECTIONS_LEFT {
            return None;
        }
        let permit = Arc::clone(&self.connections).try_acquire_owned().ok()?;
        Some(Connection { _permit: permit })
    }

    /// Returns memory for this many bytes; `None` if too little is free. It is never waited for, since
    /// the memory of one blob may be read only after the whole of another.
    pub(crate) fn memory(&self, bytes: u64) -> Option<Memory> {
        let bytes = u32::try_from(bytes).ok()?;
        let permits = Arc::clone(&self.memory).try_acquire_many_owned(bytes);
        permits.ok().map(Memory)
    }

    /// Returns the memory that is not reserved, in bytes.
    #[cfg(test)]
    pub(super) fn free_bytes(&self) -> usize {
        self.memory.available_permits()
    }
}

impl Memory {
    /// Gives the memory of this many bytes back.
    pub(crate) fn give_back(&mut self, bytes: usize) {
        drop(self.0.split(bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quota(connections: usize, range_memory_bytes: u64) -> Quota {
        Quota::new(&RegistryLimits {
            range_memory_bytes,
            connections,
            ..RegistryLimits::default()
        })
    }

    #[test]
    fn memory_is_reserved_up_to_the_limit_and_given_back_bit_by_bit() {
        let quota = quota(6, 100);
        let mut memory = quota.memory(60).expect("enough");
        assert!(quota.memory(41).is_none());
        let other = quota.memory(40).expect("enough");
        assert!(quota.memory(1).is_none());
        memory.give_back(10);
        assert_eq!(quota.free_bytes(), 10);
        drop((memory, other));
        assert_eq!(quota.free_bytes(), 100);
        assert!(quota.memory(u64::MAX).is_none());
    }

    #[tokio::test]
    async fn ranges_ahead_leave_a_connection() {
        let quota = quota(3, 0);
        let first = quota.connection().await;
        let ahead = quota.spare_connection().expect("two are free");
        assert!(quota.spare_connection().is_none());
        let last = quota.connection().await;
        drop((first, ahead, last));
        let ahead = [quota.spare_connection(), quota.spare_connection()];
        assert!(ahead.iter().all(Option::is_some));
    }
}
