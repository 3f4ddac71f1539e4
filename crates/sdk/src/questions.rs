//! Questions of the guest, their answers, and rules of directories of the host that change while it runs.

use msb_agent_protocol::v1::{AnswerKind, Question as Shown, question_event};
use msb_agent_protocol::{Client, QuestionEvents};
use msb_cancellation::Effect;
use msb_runtime::RuleState;
use msb_sandbox_files::{Permission, allow, lasting_state};
use msb_sandbox_network::{NetworkChange, lasting_rule};
use questions::{Kind, called};
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;

use crate::{Error, Operation, Sandbox, Text};

/// A question of a process of the guest. Its texts are the guest's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Question {
    /// The number of the question in the life of the sandbox.
    pub id: u64,
    /// The kind: `path` if `msb-ask` asks for a file of a staged directory; `read` if a process opens a file of a
    /// shared directory, and `change` if it changes one; `network` if one connects to a destination, or queries its
    /// name. `unknown` of a newer machine can only be denied.
    pub kind: String,
    /// The path in the sandbox that the question is about; of the kind `network`, the destination `HOST:PORT`, or a
    /// name alone if it is queried.
    pub subject: String,
    /// The words of the process; empty if it gave none.
    pub reason: String,
    /// Name of the process that asks, if it is known.
    pub process: Option<String>,
    /// User id of the process in the guest, if it is known.
    pub uid: Option<u32>,
}

/// An event in the life of a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum QuestionEvent {
    /// A process asks, and waits for the answer.
    Asked(Question),
    /// The question has ended.
    Ended {
        /// The number of the question.
        id: u64,
        /// True if the process got what it asked for.
        allowed: bool,
        /// One sentence: the end.
        text: String,
    },
    /// All questions that waited before were told; the others come as they are asked.
    Listening,
}

impl QuestionEvent {
    fn from_protocol(event: question_event::Event) -> Self {
        match event {
            question_event::Event::Asked(asked) => Self::Asked(question(asked)),
            question_event::Event::Ended(ended) => Self::Ended {
                id: ended.id,
                allowed: ended.is_allowed,
                text: ended.text,
            },
            question_event::Event::Listening(_) => Self::Listening,
        }
    }
}

/// An answer to a question.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct QuestionAnswer {
    /// True to let the file in, to let the process read or change it, or to let it connect.
    pub allow: bool,
    /// True to keep a rule for the path: `allow`, or `hide` if the answer is no. After a question of the kind `read`,
    /// it is `write-ask` or `deny`, and after one of the kind `change`, `allow` or `read-only`. After one of the kind
    /// `network`, the destination is a rule of the network that allows or denies.
    pub always: bool,
    /// The name of the one who answers, for the journal; `SDK` if it is empty.
    pub by: String,
}

impl QuestionAnswer {
    /// Returns the answer yes.
    pub fn allow() -> Self {
        Self {
            allow: true,
            ..Self::default()
        }
    }

    /// Returns the answer no.
    pub fn deny() -> Self {
        Self::default()
    }

    /// Keeps a rule for the path.
    #[must_use]
    pub const fn always(mut self) -> Self {
        self.always = true;
        self
    }

    /// Sets the name of the one who answers.
    #[must_use]
    pub fn by(mut self, by: impl Into<String>) -> Self {
        self.by = by.into();
        self
    }
}

/// The effect of a changed rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Allowed {
    /// The rule, `PATH=STATE`, relative to the directory.
    pub rule: String,
    /// Paths in the sandbox of the files that were copied into it. Of a directory only itself is listed.
    pub let_in: Vec<Text>,
    /// Paths of files that the sandbox has already, of its own; they stay as they are.
    pub present: Vec<Text>,
}

/// The questions of a sandbox. While a value of this type lives, processes of the guest can ask.
#[derive(Debug)]
pub struct Questions {
    events: Mutex<QuestionEvents>,
    /// The connection that the events come over.
    _client: Client,
}

impl Questions {
    /// Returns the next event; `None` once the sandbox has ended. Questions that wait already come first. A caller
    /// that is slow misses no open question, and no end of one that it has seen.
    ///
    /// # Errors
    /// [`InternalError`](crate::ErrorKind::InternalError) if the sandbox's process does not answer, as if it were
    /// stopped.
    pub async fn next(&self) -> Result<Option<QuestionEvent>, Error> {
        let mut events = self.events.lock().await;
        while let Some(event) = events.next().await? {
            // A later msb may have events that this one does not know.
            if let Some(event) = event.event {
                return Ok(Some(QuestionEvent::from_protocol(event)));
            }
        }
        Ok(None)
    }
}

/// The answers of a function to a sandbox's questions, until this value is dropped.
pub type Answering = questions::Answering<Error>;

impl Sandbox {
    /// Answers the questions of the running sandbox's processes with a function, which must not block, until the
    /// result is dropped. If the function panics, its question is denied, and [`Answering::ended`] panics, too.
    ///
    /// # Errors
    /// [`NotRunning`](crate::ErrorKind::NotRunning).
    pub fn on_ask<F>(&self, mut on_ask: F) -> Operation<Answering>
    where
        F: FnMut(&Question) -> QuestionAnswer + Send + 'static,
    {
        let (sandbox, opening) = (self.clone(), self.questions());
        Operation::new(async move {
            let events = opening.await?;
            Ok(Answering::begin(async move {
                while let Some(event) = events.next().await? {
                    if let QuestionEvent::Asked(question) = event {
                        let (answer, panic) = called(&mut on_ask, &question);
                        // A file that cannot be let in is denied.
                        let _ = sandbox.answer(question, answer).await;
                        if let Some(panic) = panic {
                            std::panic::resume_unwind(panic);
                        }
                    }
                }
                Ok(())
            }))
        })
    }

    /// Listens for questions of the running sandbox's processes, to [answer](Self::answer) them one by one. They are
    /// denied while no client listens.
    ///
    /// # Errors
    /// [`NotRunning`](crate::ErrorKind::NotRunning).
    pub fn questions(&self) -> Operation<Questions> {
        self.run(|handle| async move {
            let mut client = handle.stored().connect_supervisor().await?;
            let events = client.watch_questions().await?;
            Ok(Questions {
                events: Mutex::new(events),
                _client: client,
            })
        })
    }

    /// Answers a question. With a yes to one of the kind `path`, the host's files at the path are copied into the
    /// sandbox first, however long that takes. Returns false if there was another answer before, or the question has
    /// ended.
    ///
    /// # Errors
    /// As [`allow`](Self::allow). The question is denied then. [`InternalError`](crate::ErrorKind::InternalError) if
    /// the program was stopped meanwhile, so that the question was denied before the files were in the sandbox. The
    /// question stays open with [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if it is to be allowed, or a rule
    /// kept, and its kind is not known, or if a name is to be denied at one port for good.
    pub fn answer(&self, question: Question, answer: QuestionAnswer) -> Operation<bool> {
        let sandbox = self.clone();
        // Without its caller the copy goes on, and so does its answer.
        self.handle()
            .change(Effect::Slight, move |handle| async move {
                if answer.allow || answer.always {
                    Kind::allowable(&question.kind)?;
                }
                let is_network = question.kind == Kind::Network.as_str();
                let lasting = (is_network && answer.always)
                    .then(|| lasting_rule(&question.subject, answer.allow))
                    .transpose()?;
                let mut client = handle.stored().connect_supervisor().await?;
                let delivering = client.clone();
                let by = if answer.by.is_empty() {
                    "SDK"
                } else {
                    &answer.by
                };
                let state = lasting_state(&question.kind, answer.allow);
                let id = question.id;
                let word = match (is_network, answer.allow) {
                    (true, true) => "allow".to_owned(),
                    (true, false) => "deny".to_owned(),
                    (false, _) => state.to_string(),
                };
                let rule = answer
                    .always
                    .then(|| format!("{}={word}", question.subject));
                let mut step = async |kind| {
                    let step = client.answer_question(id, kind, by, rule.as_deref());
                    step.await.map_err(Error::from)
                };
                let path = question.subject.as_bytes().to_vec();
                let permitted = async {
                    let change = match (lasting, is_network) {
                        (Some(rule), _) if answer.allow => NetworkChange::Allow(vec![rule]),
                        (Some(rule), _) => NetworkChange::Deny(vec![rule]),
                        (None, true) => return Ok(()),
                        (None, false) => {
                            return sandbox.permit(path, state, answer.always).await.map(drop);
                        }
                    };
                    sandbox.network().change(change, false).await.map(drop)
                };
                if !answer.allow {
                    let counts = step(AnswerKind::Deny).await?;
                    if counts && answer.always {
                        permitted.await?;
                    }
                    return Ok(counts);
                }
                if !step(AnswerKind::Allow).await? {
                    return Ok(false);
                }
                if let Err(error) = delivering.delivering(id, permitted).await {
                    // Without the supervisor the machine has ended.
                    let _ = step(AnswerKind::Undelivered).await;
                    return Err(error);
                }
                if !step(AnswerKind::Delivered).await? {
                    let message = format!("question {id} was denied before its files were let in");
                    return Err(Error::internal(message));
                }
                Ok(true)
            })
    }

    /// Gives a path in a directory of the host another state, and keeps the rule. In a shared directory it holds from
    /// the next access on. In a staged one, if the sandbox runs and the path becomes readable, the host's files there
    /// are copied into the sandbox as they are now, except those that it has of its own; they are no changes of the
    /// sandbox. A stopped sandbox gets them by [`restage`](Self::restage).
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if the path is in no staged directory and in no shared
    /// one with rules, or has wildcards.
    pub fn allow(&self, path: impl Into<Text>, state: RuleState) -> Operation<Allowed> {
        self.permit(path.into().as_bytes().to_vec(), state, true)
    }

    fn permit(&self, path: Vec<u8>, state: RuleState, is_kept: bool) -> Operation<Allowed> {
        self.handle()
            .change(Effect::Slight, move |handle| async move {
                let permission = Permission {
                    path,
                    state,
                    is_kept,
                };
                let stored = handle.stored();
                let client: Option<Client> = if handle.state().await?.is_up() {
                    Some(stored.connect().await?)
                } else {
                    None
                };
                let (stored, allowed) = allow(stored, client, permission).await?;
                handle.replace(stored);
                let texts = |paths: Vec<Vec<u8>>| paths.into_iter().map(Text::from).collect();
                Ok(Allowed {
                    rule: allowed.rule.to_string(),
                    let_in: texts(allowed.let_in),
                    present: texts(allowed.present),
                })
            })
    }
}

/// Returns a question as the machine shows it.
fn question(shown: Shown) -> Question {
    Question {
        id: shown.id,
        kind: shown.kind().word().to_owned(),
        subject: shown.subject,
        reason: shown.reason,
        process: shown.process,
        uid: shown.uid,
    }
}

#[cfg(test)]
mod tests {
    use msb_agent_protocol::v1::QuestionKind;

    use super::*;

    #[test]
    fn a_question_has_the_kind_that_the_machine_gave_it() {
        let network = QuestionKind::Network.into();
        for (kind, expected) in [
            (1, "path"),
            (network, Kind::Network.as_str()),
            (99, "unknown"),
        ] {
            let shown = Shown {
                kind,
                ..Shown::default()
            };
            assert_eq!(question(shown).kind, expected);
        }
    }
}
