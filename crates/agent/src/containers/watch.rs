use std::sync::Arc;

use msb_agent_protocol::Status;
use msb_agent_protocol::v1::container_event::Event;
use msb_agent_protocol::v1::{ContainerEvent, ContainersListening};
use tokio::sync::{broadcast, mpsc};
use tokio_stream::wrappers::ReceiverStream;

use super::{Containers, PENDING_EVENTS};
use crate::files::Answers;

/// The number of events that wait for the host beside those of the channel.
const PENDING_ANSWERS: usize = 4;

type Watcher = mpsc::Sender<Result<ContainerEvent, Status>>;

impl Containers {
    /// Reports the states of all containers, and then what happens to them.
    pub(super) fn watch(&self) -> Answers<ContainerEvent> {
        // Nothing is awaited between the two, so each change is in one of them.
        let events = self.0.events.subscribe();
        let states = self.states();
        let (watcher, answers) = mpsc::channel(PENDING_ANSWERS);
        tokio::spawn(async move {
            tokio::select! {
                () = pass_on(states, events, &watcher) => {}
                () = watcher.closed() => {}
            }
        });
        ReceiverStream::new(answers)
    }

    fn states(&self) -> Vec<ContainerEvent> {
        let table = self.table();
        let made = table.values().flatten().map(Arc::clone);
        let states = made.map(|container| ContainerEvent {
            container_id: container.id.clone(),
            event: Some(Event::State(container.describe())),
        });
        let listening = ContainerEvent {
            container_id: String::new(),
            event: Some(Event::Listening(ContainersListening {})),
        };
        states.chain([listening]).collect()
    }
}

/// Sends events until the watcher is gone, or too far behind.
async fn pass_on(
    states: Vec<ContainerEvent>,
    mut events: broadcast::Receiver<ContainerEvent>,
    watcher: &Watcher,
) {
    for state in states {
        if watcher.send(Ok(state)).await.is_err() {
            return;
        }
    }
    loop {
        let event = match events.recv().await {
            Ok(event) => Ok(event),
            Err(broadcast::error::RecvError::Lagged(_)) => Err(Status::resource_exhausted(
                format!("the client is more than {PENDING_EVENTS} events behind"),
            )),
            Err(broadcast::error::RecvError::Closed) => return,
        };
        let is_last = event.is_err();
        if watcher.send(event).await.is_err() || is_last {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use msb_agent_protocol::v1::ContainerDeleted;

    use super::*;

    fn deleted(number: usize) -> ContainerEvent {
        ContainerEvent {
            container_id: number.to_string(),
            event: Some(Event::Deleted(ContainerDeleted {})),
        }
    }

    #[tokio::test]
    async fn a_watcher_that_is_too_far_behind_is_told() {
        let (sender, events) = broadcast::channel(4);
        let (watcher, mut answers) = mpsc::channel(8);
        for number in 0..9 {
            sender.send(deleted(number)).expect("a watcher");
        }
        pass_on(vec![deleted(100)], events, &watcher).await;
        let state = answers.recv().await.expect("a state").expect("no error");
        assert_eq!(state.container_id, "100");
        let behind = answers
            .recv()
            .await
            .expect("an answer")
            .expect_err("behind");
        assert_eq!(behind.code(), msb_agent_protocol::Code::ResourceExhausted);
        drop(watcher);
        assert!(answers.recv().await.is_none());
    }

    #[tokio::test]
    async fn events_arrive_in_their_order() {
        let (sender, events) = broadcast::channel(16);
        let (watcher, mut answers) = mpsc::channel(1);
        tokio::spawn(async move { pass_on(Vec::new(), events, &watcher).await });
        for number in 0..9 {
            sender.send(deleted(number)).expect("a watcher");
        }
        drop(sender);
        for number in 0..9 {
            let event = answers.recv().await.expect("an event").expect("no error");
            assert_eq!(event, deleted(number));
        }
        assert!(answers.recv().await.is_none());
    }
}
