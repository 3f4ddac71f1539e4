//! Timeouts for an agent that is silent while a client waits for it.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use msb_agent_protocol::v1::Exec;
use msb_agent_protocol::{Client, ClientError, Command, Heartbeat, Silence, Status};
use tokio_stream::Stream;

/// The timeout for the answer to a call. The agent answers pings, one every 3 s, from an event loop
/// that waits for no disk. On a host with two processors that are overloaded with emulated guests,
/// such an answer takes seconds; after five pings a guest is stopped, or hung.
pub(super) const ANSWER_TIMEOUT: Duration = Duration::from_secs(15);
/// The timeout while a command runs.
/// It is longer than that of a call: a guest without free memory or with a blocked disk may
/// recover.
pub(super) const COMMAND_TIMEOUT: Duration = Duration::from_secs(120);

/// Waits for an answer, until the agent has been silent for `ANSWER_TIMEOUT`.
pub(super) async fn answered<T>(
    heartbeat: Heartbeat,
    answer: impl Future<Output = Result<T, Status>>,
) -> Result<T, Status> {
    tokio::select! {
        biased;
        answer = answer => answer,
        () = heartbeat.silence(ANSWER_TIMEOUT) => Err(silent(ANSWER_TIMEOUT)),
    }
}

/// Starts a command, unless the agent is silent for `ANSWER_TIMEOUT`.
pub(super) async fn started(agent: &Client, exec: Exec) -> Result<Command, ClientError> {
    let mut starting = agent.clone();
    let heartbeat = agent.heartbeat();
    tokio::select! {
        biased;
        command = starting.exec(exec) => command,
        () = heartbeat.silence(ANSWER_TIMEOUT) => Err(ClientError::Silent {
            call: "exec",
            message: not_answered(ANSWER_TIMEOUT),
        }),
    }
}

/// Waits until the agent has been silent for longer than `limit`, and returns the error that a client
/// gets then.
pub(super) fn silence(heartbeat: Heartbeat, limit: Duration) -> Silence {
    Box::pin(async move {
        heartbeat.silence(limit).await;
        silent(limit)
    })
}

fn silent(limit: Duration) -> Status {
    Status::deadline_exceeded(not_answered(limit))
}

fn not_answered(limit: Duration) -> String {
    format!(
        "the guest's agent has not answered for {} s",
        limit.as_secs()
    )
}

/// A stream of answers.
pub(super) type Answers<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// Passes a stream of answers on, until the agent has been silent for longer than `limit`.
pub(super) fn answers<T>(
    answers: impl Stream<Item = Result<T, Status>> + Send + Unpin + 'static,
    heartbeat: Heartbeat,
    limit: Duration,
) -> Answers<T> {
    Box::pin(UntilSilence {
        answers,
        silence: Some(silence(heartbeat, limit)),
    })
}

struct UntilSilence<S> {
    answers: S,
    /// `None` once the stream has ended after a silence.
    silence: Option<Silence>,
}

impl<T, S: Stream<Item = Result<T, Status>> + Unpin> Stream for UntilSilence<S> {
    type Item = Result<T, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(mut silence) = self.silence.take() else {
            return Poll::Ready(None);
        };
        let answer = Pin::new(&mut self.answers).poll_next(context);
        if answer.is_pending()
            && let Poll::Ready(silent) = silence.as_mut().poll(context)
        {
            return Poll::Ready(Some(Err(silent)));
        }
        self.silence = Some(silence);
        answer
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{Instant, sleep, timeout};
    use tokio_stream::StreamExt as _;
    use tokio_stream::wrappers::ReceiverStream;

    use super::*;

    /// Returns the heartbeat of a connection on which nothing arrives.
    fn none() -> Heartbeat {
        Heartbeat::default()
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_not_waited_for_for_ever() {
        let began = Instant::now();
        let outcome: Result<(), Status> = answered(none(), std::future::pending()).await;
        let status = outcome.expect_err("silence");
        assert!(
            status.message().contains("has not answered for 15 s"),
            "{status}"
        );
        assert!(began.elapsed() < ANSWER_TIMEOUT * 2);
        let soon = async {
            sleep(ANSWER_TIMEOUT / 2).await;
            Ok(7)
        };
        assert_eq!(answered(none(), soon).await.expect("an answer"), 7);
    }

    #[tokio::test(start_paused = true)]
    async fn a_command_is_waited_for_longer_and_its_output_counts() {
        let (sender, pending) = tokio::sync::mpsc::channel(1);
        let pending = ReceiverStream::new(pending);
        let mut answers = answers(pending, none(), COMMAND_TIMEOUT);
        let waiting = timeout(ANSWER_TIMEOUT * 2, answers.next());
        assert!(waiting.await.is_err(), "given up too soon");
        sender.send(Ok(1)).await.expect("there is room");
        assert!(matches!(answers.next().await, Some(Ok(1))));
        let waiting = timeout(COMMAND_TIMEOUT * 2, answers.next());
        assert!(matches!(waiting.await, Ok(Some(Err(_)))), "waited for ever");
        assert!(answers.next().await.is_none());
    }
}
