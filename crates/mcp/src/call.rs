//! One call of a tool: the client behind it, its progress, its cancellation.

use std::pin::pin;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    ClientResult, ElicitRequest, InputResponses, ProgressNotificationParam, ServerRequest,
};
use rmcp::service::{PeerRequestOptions, RequestContext};
use serde_json::Value;
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};

use crate::failure::Stop;

/// The interval at which the progress of a call is reported.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);
/// The time that a client may take to read a report.
const REPORT_TIMEOUT: Duration = Duration::from_secs(1);
/// The time that a client may take to list its roots.
const ROOTS_TIMEOUT: Duration = Duration::from_secs(10);
/// The time that a user may take to answer. What the question is about is held a little longer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(9 * 60);

/// A call of a tool.
#[derive(Debug)]
pub(crate) struct Call {
    context: RequestContext<RoleServer>,
    /// The answers to the questions of an earlier call.
    answers: Option<InputResponses>,
    /// The state that an earlier call gave to the client.
    state: Option<String>,
}

impl Call {
    pub(crate) const fn new(
        context: RequestContext<RoleServer>,
        answers: Option<InputResponses>,
        state: Option<String>,
    ) -> Self {
        Self {
            context,
            answers,
            state,
        }
    }

    /// Does work until it is done, or the client cancels the call, which drops it. A client that asked for it hears
    /// each second that the work goes on, and of its progress.
    pub(crate) async fn watched<T>(
        &self,
        progress: impl Fn() -> Option<String> + Send,
        work: impl Future<Output = Result<T, Stop>> + Send,
    ) -> Result<T, Stop> {
        let mut work = pin!(work);
        let started = Instant::now();
        let mut ticks = interval_at(started + PROGRESS_INTERVAL, PROGRESS_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                () = self.cancelled() => return Err(Stop::Cancelled),
                outcome = &mut work => return outcome,
                _ = ticks.tick() => {
                    let message = progress();
                    self.report(started.elapsed(), message).await;
                }
            }
        }
    }

    /// Does work without progress of its own, until it is done, or the client cancels the call.
    pub(crate) async fn awaited<T>(
        &self,
        work: impl Future<Output = Result<T, msb_sdk::Error>> + Send,
    ) -> Result<T, Stop> {
        self.watched(|| None, async { Ok(work.await?) }).await
    }

    /// Waits until the client cancels the call, or has gone.
    pub(crate) async fn cancelled(&self) {
        self.context.ct.cancelled().await;
    }

    async fn report(&self, elapsed: Duration, message: Option<String>) {
        let Some(token) = self.context.meta.get_progress_token() else {
            return;
        };
        let mut progress = ProgressNotificationParam::new(token, elapsed.as_secs_f64());
        if let Some(message) = message {
            progress = progress.with_message(message);
        }
        // A report that is not read is left out.
        let _ = timeout(REPORT_TIMEOUT, self.context.peer.notify_progress(progress)).await;
    }

    /// Returns true if the client was initialized, so that it can be asked during a call. A client of a later
    /// protocol gets questions as the result of a call, and calls again.
    pub(crate) fn has_session(&self) -> bool {
        let version = self.context.protocol_version();
        version.is_none_or(|version| version.has_initialize())
    }

    /// Returns true if the client asks its user questions of servers.
    pub(crate) fn offers_questions(&self) -> bool {
        let capabilities = self.context.client_capabilities();
        let questions = capabilities.and_then(|capabilities| capabilities.elicitation);
        // Without a word about forms and addresses, a client has forms.
        questions.is_some_and(|questions| questions.form.is_some() || questions.url.is_none())
    }

    /// Returns the URIs of the roots that the client offers; none if it does not say them in time.
    #[expect(
        deprecated,
        reason = "a later protocol has no roots, but the clients of today name their projects so"
    )]
    pub(crate) async fn roots(&self) -> Result<Vec<String>, Stop> {
        let capabilities = self.context.client_capabilities();
        let offers = capabilities.is_some_and(|capabilities| capabilities.roots.is_some());
        if !offers || !self.has_session() {
            return Ok(Vec::new());
        }
        let asking = timeout(ROOTS_TIMEOUT, self.context.peer.list_roots());
        let answer = self.watched(|| None, async { Ok(asking.await) }).await?;
        Ok(match answer {
            Ok(Ok(listed)) => listed.roots.into_iter().map(|root| root.uri).collect(),
            _ => Vec::new(),
        })
    }

    /// Has the client ask its user, and returns the answer; `None` if there is none in time.
    pub(crate) async fn ask(&self, question: ElicitRequest) -> Result<Option<Value>, Stop> {
        let request = ServerRequest::ElicitRequest(question);
        let options = PeerRequestOptions::with_timeout(ANSWER_TIMEOUT);
        let asking = async {
            let sent = self
                .context
                .peer
                .send_request_with_option(request, options)
                .await;
            match sent {
                Ok(sent) => sent.await_response().await,
                Err(error) => Err(error),
            }
        };
        let answer = self.watched(|| None, async { Ok(asking.await) }).await?;
        Ok(match answer {
            Ok(ClientResult::ElicitResult(answer)) => serde_json::to_value(answer).ok(),
            _ => None,
        })
    }

    /// Returns the client's answer to the question with this key.
    pub(crate) fn answer(&self, key: &str) -> Option<&Value> {
        self.answers.as_ref()?.get(key)
    }

    /// Returns the state that an earlier call gave to the client.
    pub(crate) fn state(&self) -> Option<&str> {
        self.state.as_deref()
    }
}
