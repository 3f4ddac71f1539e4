//! The guest's clock, which follows the host's.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use msb_agent_protocol::Client;
use msb_agent_protocol::v1::FollowClockRequest;
use tokio::time::{sleep, timeout};

/// The time between two comparisons while no client calls.
const INTERVAL: Duration = Duration::from_secs(30);
/// The time for which a comparison holds when a client calls.
const FRESH: Duration = Duration::from_secs(2);
/// The time that a client's call waits for a comparison. A guest that is slower is compared beside the call.
const CALL_WAIT: Duration = Duration::from_secs(1);
/// The timeout of a comparison: a guest may answer pings and never a call.
const COMPARISON_TIMEOUT: Duration = Duration::from_secs(10);
/// The difference that is left alone, in nanoseconds, beyond what the duration of the call hides.
const TOLERATED_NS: i128 = 10_000_000;

/// Compares the guest's clock with the host's. Clones share the state.
#[derive(Debug, Clone)]
pub(super) struct Clock {
    agent: Client,
    /// The beginning of the last comparison by both clocks of the host: one of them stands still while the
    /// host sleeps, the other can be set.
    compared: Arc<Mutex<Option<(Instant, SystemTime)>>>,
    /// Held during a comparison.
    turn: Arc<tokio::sync::Mutex<()>>,
}

impl Clock {
    pub(super) fn new(agent: Client) -> Self {
        Self {
            agent,
            compared: Arc::default(),
            turn: Arc::default(),
        }
    }

    /// Compares the clocks every 30 s.
    pub(super) async fn follow(self) {
        loop {
            sleep(INTERVAL).await;
            self.compare().await;
        }
    }

    /// Compares the clocks before a client's call, unless that was done a moment ago.
    pub(super) async fn before_call(&self) {
        if self.is_fresh() {
            return;
        }
        let clock = self.clone();
        // A slow guest is set right even if the call does not wait for that.
        let comparing = tokio::spawn(async move { clock.compare().await });
        let _ = timeout(CALL_WAIT, comparing).await;
    }

    fn is_fresh(&self) -> bool {
        let compared = self.compared.lock();
        let compared = *compared.unwrap_or_else(PoisonError::into_inner);
        compared.is_some_and(|(instant, time)| {
            let is_recent = time.elapsed().is_ok_and(|elapsed| elapsed < FRESH);
            is_recent && instant.elapsed() < FRESH
        })
    }

    /// Compares the clocks, unless another task does.
    async fn compare(&self) {
        let Ok(_turn) = self.turn.try_lock() else {
            return;
        };
        let now = Some((Instant::now(), SystemTime::now()));
        *self.compared.lock().unwrap_or_else(PoisonError::into_inner) = now;
        // A guest that does not answer, or whose agent is older, keeps its clock.
        let _ = timeout(COMPARISON_TIMEOUT, self.set_right()).await;
    }

    async fn set_right(&self) -> Option<()> {
        let mut agent = self.agent.raw();
        let (sent, sent_at) = (SystemTime::now(), Instant::now());
        let request = FollowClockRequest { behind_ns: None };
        let guest_ns = agent.follow_clock(request).await.ok()?.into_inner().now_ns;
        let behind_ns = Some(behind_ns(sent, sent_at.elapsed(), guest_ns)?);
        let request = FollowClockRequest { behind_ns };
        agent.follow_clock(request).await.ok().map(drop)
    }
}

/// Returns the time by which the guest is behind the host, negative if it is ahead. `None` if the two may
/// well be equal: the guest read its clock at some moment of the call.
fn behind_ns(sent: SystemTime, took: Duration, guest_ns: i64) -> Option<i64> {
    let ns = |duration: Duration| i128::try_from(duration.as_nanos()).unwrap_or(i128::MAX);
    let sent_ns = ns(sent.duration_since(UNIX_EPOCH).ok()?);
    let uncertain_ns = ns(took) / 2;
    let behind_ns = sent_ns + uncertain_ns - i128::from(guest_ns);
    if behind_ns.abs() <= uncertain_ns + TOLERATED_NS {
        return None;
    }
    i64::try_from(behind_ns).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: i64 = 1_000_000_000;

    /// Returns the difference of a guest that has `guest_ns` in a call that took `took_ms`, sent 1,000 s after
    /// the epoch.
    fn difference(guest_ns: i64, took_ms: u64) -> Option<i64> {
        let sent = UNIX_EPOCH + Duration::from_secs(1000);
        behind_ns(sent, Duration::from_millis(took_ms), guest_ns)
    }

    #[test]
    fn what_the_call_may_hide_is_no_difference() {
        let sent_ns = 1000 * SECOND_NS;
        assert_eq!(difference(sent_ns, 0), None);
        assert_eq!(difference(sent_ns - 5_000_000, 0), None);
        // The guest may have read its clock at the begin or at the end of the call.
        assert_eq!(difference(sent_ns, 2000), None);
        assert_eq!(difference(sent_ns + 2 * SECOND_NS, 2000), None);
        assert_eq!(difference(sent_ns - SECOND_NS, 0), Some(SECOND_NS));
        assert_eq!(
            difference(sent_ns + 4 * SECOND_NS, 2000),
            Some(-3 * SECOND_NS)
        );
        let hour_ns = 3600 * SECOND_NS;
        assert_eq!(
            difference(sent_ns - hour_ns, 100),
            Some(hour_ns + 50_000_000)
        );
    }

    #[test]
    fn a_guest_may_answer_anything() {
        assert!(difference(i64::MIN, 0).is_none());
        assert!(difference(i64::MAX, 0).is_some_and(|behind_ns| behind_ns < 0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_waits_a_moment_for_a_silent_guest_and_the_next_one_does_not() {
        let (host, mut guest) = tokio::io::duplex(4096);
        tokio::spawn(async move {
            use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
            guest.write_all(b"msb guest \r\n\0\0\0\x02").await?;
            guest.write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0]).await?;
            tokio::io::copy(&mut guest, &mut tokio::io::sink()).await?;
            guest.read_u8().await
        });
        let clock = Clock::new(Client::connect_port(host).await.expect("greeted"));
        let began = tokio::time::Instant::now();
        clock.before_call().await;
        assert!(began.elapsed() >= CALL_WAIT && began.elapsed() < CALL_WAIT * 2);
        let began = tokio::time::Instant::now();
        clock.before_call().await;
        assert!(began.elapsed() < CALL_WAIT, "{:?}", began.elapsed());
    }
}
