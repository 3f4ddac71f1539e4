//! Removals that go on after the operation or the handle that began them has ended.

use tokio::sync::watch;

/// The removals that have not ended yet.
#[derive(Debug, Clone)]
pub struct Cleanups(watch::Sender<usize>);

/// A removal that has not ended yet.
#[derive(Debug)]
pub struct Cleanup(watch::Sender<usize>);

impl Default for Cleanups {
    fn default() -> Self {
        Self(watch::Sender::new(0))
    }
}

impl Cleanups {
    /// Counts a removal, until the returned value is dropped.
    pub fn begin(&self) -> Cleanup {
        self.0.send_modify(|count| *count += 1);
        Cleanup(self.0.clone())
    }

    /// Waits until no removal goes on.
    pub async fn settled(&self) {
        // The sender lives as long as this value.
        let _ = self.0.subscribe().wait_for(|&count| count == 0).await;
    }
}

impl Drop for Cleanup {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_last_removal_settles() {
        let cleanups = Cleanups::default();
        cleanups.settled().await;
        let (one, other) = (cleanups.begin(), cleanups.begin());
        drop(one);
        let settled = tokio::time::timeout(Duration::from_millis(20), cleanups.settled());
        assert!(settled.await.is_err());
        drop(other);
        cleanups.settled().await;
    }
}
