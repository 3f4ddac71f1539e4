use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use msb_agent_protocol::Status;
use msb_agent_protocol::v1::ExecEvent;
use msb_agent_protocol::v1::exec_event::Event;
use tokio::sync::{mpsc, watch};

/// Events that are queued for one attached client; if the queue is full, the command waits.
const PENDING_EVENTS: usize = 4;
/// Maximum number of attached clients.
const WATCHERS_MAX: usize = 64;

/// The timeout for a client that does not read, once the sandbox is to end.
const LAST_EVENT_TIMEOUT: Duration = Duration::from_secs(1);

type Sender = mpsc::Sender<Result<ExecEvent, Status>>;

/// The attached clients of a command.
/// A client that does not read blocks the command, until the sandbox is to end.
#[derive(Debug, Clone)]
pub(super) struct AttachedClients {
    senders: Arc<Mutex<Vec<Sender>>>,
    /// Number of clients that have not yet confirmed the end.
    listening: watch::Sender<usize>,
    /// Number of clients that have ever attached.
    seen: watch::Sender<usize>,
    abandoned: watch::Sender<bool>,
}

impl Default for AttachedClients {
    fn default() -> Self {
        Self {
            senders: Arc::default(),
            listening: watch::Sender::new(0),
            seen: watch::Sender::new(0),
            abandoned: watch::Sender::new(false),
        }
    }
}

/// A guard that keeps the machine for an attached client while it lives.
#[derive(Debug)]
pub(super) struct Listening(watch::Sender<usize>);

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

impl AttachedClients {
    /// Returns the two ends of a client's queue, which begins with the event that it missed.
    pub(super) fn channel(
        past: Option<Event>,
    ) -> (mpsc::Receiver<Result<ExecEvent, Status>>, Sender) {
        let (sender, events) = mpsc::channel(PENDING_EVENTS);
        if let Some(event) = past {
            // The queue is empty, so it has room.
            let _ = sender.try_send(Ok(ExecEvent { event: Some(event) }));
        }
        (events, sender)
    }

    pub(super) fn add(&self, sender: Sender) -> Result<(), Status> {
        let mut senders = self.senders();
        senders.retain(|sender| !sender.is_closed());
        if senders.len() >= WATCHERS_MAX {
            return Err(Status::resource_exhausted(format!(
                "{WATCHERS_MAX} clients are attached to this command, which is the limit"
            )));
        }
        senders.push(sender);
        self.seen.send_modify(|count| *count += 1);
        Ok(())
    }

    /// Returns a guard that the client's task drops once the client has received the end.
    pub(super) fn listen(&self) -> Listening {
        self.listening.send_modify(|count| *count += 1);
        Listening(self.listening.clone())
    }

    /// Sends an event to all attached clients, at the pace of the slowest.
    pub(super) async fn send(&self, event: Event) {
        let senders = self.senders().clone();
        for sender in senders {
            let event = ExecEvent {
                event: Some(event.clone()),
            };
            let told = tokio::select! {
                biased;
                told = sender.send(Ok(event)) => told.is_ok(),
                () = self.given_up() => false,
            };
            if !told {
                self.senders().retain(|other| !other.same_channel(&sender));
            }
        }
    }

    /// Sends the last event to all attached clients, and detaches them.
    pub(super) async fn dismiss(&self, event: Event) {
        self.send(event).await;
        self.senders().clear();
    }

    /// Waits until a client has attached.
    pub(super) async fn seen(&self) {
        let mut seen = self.seen.subscribe();
        // The sender lives as long as `self`.
        let _ = seen.wait_for(|&count| count > 0).await;
    }

    /// Waits until all clients have confirmed the end, or the last timeout is over.
    pub(super) async fn heard(&self) {
        let mut listening = self.listening.subscribe();
        tokio::select! {
            _ = listening.wait_for(|&count| count == 0) => {}
            () = self.given_up() => {}
        }
    }

    /// Marks the sandbox as ending, after which no client is waited for much longer.
    pub(super) fn abandon(&self) {
        self.abandoned.send_replace(true);
    }

    pub(super) fn are_abandoned(&self) -> bool {
        *self.abandoned.borrow()
    }

    /// Waits for `pause` or until the sandbox is to end. Returns true if the pause is over.
    pub(super) async fn are_kept_for(&self, pause: Duration) -> bool {
        tokio::time::timeout(pause, self.abandonment())
            .await
            .is_err()
    }

    async fn given_up(&self) {
        self.abandonment().await;
        tokio::time::sleep(LAST_EVENT_TIMEOUT).await;
    }

    async fn abandonment(&self) {
        let mut abandoned = self.abandoned.subscribe();
        // The sender lives as long as `self`.
        let _ = abandoned.wait_for(|&abandoned| abandoned).await;
    }

    fn senders(&self) -> MutexGuard<'_, Vec<Sender>> {
        self.senders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;

    const SOON: Duration = Duration::from_millis(50);

    fn output(number: u8) -> Event {
        Event::Stdout(vec![number].into())
    }

    #[tokio::test]
    async fn all_are_told_all_at_the_pace_of_the_slowest() {
        let attached = AttachedClients::default();
        let (mut quick, sender) = AttachedClients::channel(None);
        attached.add(sender).expect("there is room");
        let (mut slow, sender) = AttachedClients::channel(Some(output(100)));
        attached.add(sender).expect("there is room");
        let telling = attached.clone();
        let told = tokio::spawn(async move {
            for number in 0..20 {
                telling.send(output(number)).await;
            }
            telling.dismiss(output(99)).await;
        });
        let mut seen = 0;
        while timeout(SOON, quick.recv()).await.is_ok() {
            seen += 1;
        }
        assert!(seen < 10, "one who does not read did not stop it: {seen}");
        let rest = tokio::spawn(async move { while quick.recv().await.is_some() {} });
        let mut events = Vec::new();
        while let Some(event) = slow.recv().await {
            events.push(
                event
                    .expect("an event")
                    .event
                    .expect("one that says something"),
            );
        }
        let expected: Vec<Event> = [100]
            .into_iter()
            .chain(0..20)
            .chain([99])
            .map(output)
            .collect();
        assert_eq!(events, expected);
        told.await.expect("told all");
        rest.await.expect("heard all");
    }

    #[tokio::test(start_paused = true)]
    async fn a_sandbox_that_is_to_end_waits_for_nobody_for_long() {
        let attached = AttachedClients::default();
        let (_deaf, sender) = AttachedClients::channel(None);
        attached.add(sender).expect("there is room");
        let _listening = attached.listen();
        let telling = attached.clone();
        let told = tokio::spawn(async move {
            for number in 0..20 {
                telling.send(output(number)).await;
            }
            telling.heard().await;
        });
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert!(!told.is_finished(), "it did not wait");
        attached.abandon();
        timeout(LAST_EVENT_TIMEOUT * 3, told)
            .await
            .expect("in time")
            .expect("told all");
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_ends_with_the_sandbox() {
        let attached = AttachedClients::default();
        let pause = Duration::from_secs(60);
        assert!(attached.are_kept_for(pause).await);
        let pausing = attached.clone();
        let goes_on = tokio::spawn(async move { pausing.are_kept_for(pause).await });
        tokio::time::sleep(SOON).await;
        attached.abandon();
        let goes_on = timeout(SOON, goes_on).await.expect("at once");
        assert!(!goes_on.expect("no panic"));
        assert!(!attached.are_kept_for(Duration::ZERO).await);
    }

    #[tokio::test]
    async fn the_end_is_heard_once_all_have_said_so() {
        let attached = AttachedClients::default();
        let listening = attached.listen();
        assert!(timeout(SOON, attached.heard()).await.is_err());
        drop(listening);
        attached.heard().await;
    }
}
