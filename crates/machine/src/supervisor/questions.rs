//! The questions of the guest: taken from the agent, shown to the clients that listen, answered by the first.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use durable_files::now_ns;
use msb_agent_protocol::v1::{
    AnswerKind, AnswerQuestionRequest, AskInput, Asked, Listening, Question as Shown, QuestionEnd,
    QuestionEvent, QuestionKind, Told, ask_event, ask_input, question_event,
};
use msb_agent_protocol::{Client, Status};
use msb_machine_records::json_lines::{ASKS_LIMITS, LineReader, LineWriter};
use questions::{Answer, Closed, End, Event, Kind, Question, Queue, Record, Verdict};
use tokio::sync::{Notify, mpsc};
use tokio::time::sleep_until;
use tokio_stream::wrappers::ReceiverStream;

use crate::log::log_line;

/// The answers that may wait for the agent. One that does not take them leaves its processes waiting.
const PENDING_ANSWERS: usize = 64;
/// The events that may wait for a client. One that does not take them listens no more.
const PENDING_EVENTS: usize = 128;
/// The number of clients that listen.
const LISTENERS_MAX: usize = 64;
/// The questions that are recorded within [`JOURNAL_INTERVAL`], beside those that a client answers. A guest
/// may ask as often as it likes, and is not to push older records out.
const JOURNAL_MAX: u32 = 120;
const JOURNAL_INTERVAL: Duration = Duration::from_secs(60);

/// The events for a client that listens.
pub(super) type Events = ReceiverStream<Result<QuestionEvent, Status>>;

/// The questions of the guest. Clones share their state.
#[derive(Debug, Clone)]
pub(super) struct Questions {
    state: Arc<Mutex<State>>,
    /// Notified when the time of the next denial may have changed.
    changed: Arc<Notify>,
}

#[derive(Debug)]
struct State {
    /// The open questions, each with the agent's number of it.
    queue: Queue<u64>,
    listeners: Vec<mpsc::Sender<Result<QuestionEvent, Status>>>,
    /// The way to the agent, while it takes answers.
    agent: Option<mpsc::Sender<AskInput>>,
    journal: Limited,
}

/// The journal, and how much was written to it lately.
#[derive(Debug)]
struct Limited {
    /// `None` if it cannot be written.
    journal: Option<LineWriter>,
    since: Instant,
    count: u32,
}

impl Questions {
    /// Returns an empty queue of questions. Events are appended to the journal at `path`.
    pub(super) fn new(path: &Path) -> Self {
        let next_id = next_id(path).unwrap_or(1);
        let journal = LineWriter::open(path, ASKS_LIMITS.file_bytes);
        if let Err(error) = &journal {
            log_line(&format!("questions are not recorded: {error}"));
        }
        let state = State {
            queue: Queue::new(next_id),
            listeners: Vec::new(),
            agent: None,
            journal: Limited {
                journal: journal.ok(),
                since: Instant::now(),
                count: 0,
            },
        };
        Self {
            state: Arc::new(Mutex::new(state)),
            changed: Arc::default(),
        }
    }

    /// Takes the questions of the guest, and denies those whose time is over, until the machine ends.
    pub(super) async fn follow(self, mut agent: Client) {
        let (answers, inputs) = mpsc::channel(PENDING_ANSWERS);
        // An older agent does not know this call.
        let Ok(mut events) = agent.ask(inputs).await else {
            return;
        };
        self.state().agent = Some(answers);
        loop {
            let next = self.state().queue.next_deadline();
            let due = async {
                match next {
                    Some(deadline) => sleep_until(deadline.into()).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                event = events.message() => match event {
                    Ok(Some(event)) => match event.event {
                        Some(ask_event::Event::Asked(asked)) => self.state().ask(&asked),
                        Some(ask_event::Event::Withdrawn(token)) => self.state().withdraw(token),
                        None => {}
                    },
                    _ => break,
                },
                () = due => self.state().expire(),
                () = self.changed.notified() => {}
            }
        }
        let mut state = self.state();
        state.agent = None;
        let ended = state.queue.withdraw(|_| true);
        state.end_all(ended);
    }

    /// Adds a client that listens. The questions that wait for an answer are its first events.
    pub(super) fn listen(&self) -> Result<Events, Status> {
        let mut state = self.state();
        if state.listeners.len() >= LISTENERS_MAX {
            return Err(Status::resource_exhausted(
                "too many clients listen for questions",
            ));
        }
        let (listener, events) = mpsc::channel(PENDING_EVENTS);
        let last = event(question_event::Event::Listening(Listening {}));
        let waiting = state
            .queue
            .unanswered()
            .map(|question| event(asked(question)));
        for event in waiting.chain([last]) {
            // The channel has room for all that can be open.
            let _ = listener.try_send(Ok(event));
        }
        state.listeners.push(listener.clone());
        let questions = self.clone();
        tokio::spawn(async move {
            listener.closed().await;
            questions.state().leave(&listener);
        });
        Ok(ReceiverStream::new(events))
    }

    /// Carries out a step of an answer.
    pub(super) fn answer(&self, request: &AnswerQuestionRequest) -> Result<(), Status> {
        let verdict = match request.kind() {
            AnswerKind::Deny => Verdict::Deny,
            _ => Verdict::Allow,
        };
        let answer = Answer::once(verdict, &request.by).with_rule(request.rule.as_deref());
        let id = request.id;
        let mut state = self.state();
        let closed = match request.kind() {
            AnswerKind::Deny => state.queue.answer(id, answer).map(Some),
            AnswerKind::Allow => {
                let now = Instant::now();
                state.queue.allow_later(id, answer, now).map(|()| None)
            }
            AnswerKind::Delivered => state.queue.deliver(id, true).map(Some),
            AnswerKind::Undelivered => state.queue.deliver(id, false).map(Some),
        };
        let closed = closed.map_err(|error| Status::not_found(error.to_string()))?;
        state.end_all(closed);
        drop(state);
        self.changed.notify_one();
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Takes a question of the guest, or refuses it.
    fn ask(&mut self, asked_now: &Asked) {
        let token = asked_now.token;
        let question = Question::new(Kind::Path, &asked_now.path, &asked_now.reason);
        let question = match question {
            Ok(question) => question.of_process(Some(&asked_now.process), asked_now.uid),
            Err(error) => return self.tell(token, false, &format!("denied: {error}")),
        };
        if self.listeners.is_empty() {
            let question = self.queue.number(question);
            return self.refuse(question, token, End::NoListener);
        }
        match self.queue.ask(question, token, Instant::now()) {
            Ok(question) => {
                let question = question.clone();
                self.show(&event(asked(&question)));
                self.journal.add(Event::Asked(question), false);
            }
            Err((question, token)) => self.refuse(*question, token, End::TooMany),
        }
    }

    /// Ends a question that the queue does not have.
    fn refuse(&mut self, question: Question, token: u64, end: End) {
        let id = question.id;
        self.journal.add(Event::Asked(question), false);
        self.end_all([Closed { id, token, end }]);
    }

    fn withdraw(&mut self, token: u64) {
        let ended = self.queue.withdraw(|asker| *asker == token);
        self.end_all(ended);
    }

    fn expire(&mut self) {
        let ended = self.queue.expire(Instant::now());
        self.end_all(ended);
    }

    /// Removes a client. Without a listener all questions are denied.
    fn leave(&mut self, listener: &mpsc::Sender<Result<QuestionEvent, Status>>) {
        self.listeners.retain(|other| !other.same_channel(listener));
        self.deny_unheard();
    }

    fn deny_unheard(&mut self) {
        if self.listeners.is_empty() {
            let ended = self.queue.abandon();
            self.end_all(ended);
        }
    }

    /// Tells everybody of the ends of questions.
    fn end_all(&mut self, closed: impl IntoIterator<Item = Closed<u64>>) {
        for Closed { id, token, end } in closed {
            let (is_allowed, text) = (end.is_allowed(), end.for_guest());
            self.tell(token, is_allowed, text);
            let ended = QuestionEnd {
                id,
                is_allowed,
                text: text.to_owned(),
            };
            self.show(&event(question_event::Event::Ended(ended)));
            let is_answer = matches!(end, End::Answered(_) | End::Undelivered { .. });
            self.journal.add(Event::Ended { id, end }, is_answer);
        }
    }

    /// Tells the guest the answer to a question. An agent that does not take it has no answer.
    fn tell(&self, token: u64, is_allowed: bool, text: &str) {
        if let Some(agent) = &self.agent {
            let input = Some(ask_input::Input::Told(Told {
                token,
                is_allowed,
                text: text.to_owned(),
            }));
            let _ = agent.try_send(AskInput { input });
        }
    }

    /// Shows an event to all clients. One that does not take events listens no more.
    fn show(&mut self, event: &QuestionEvent) {
        let takes = |listener: &mpsc::Sender<_>| listener.try_send(Ok(event.clone())).is_ok();
        self.listeners.retain(takes);
    }
}

impl Limited {
    /// Adds an event, unless there were too many lately. Those of clients are always added.
    fn add(&mut self, event: Event, is_of_client: bool) {
        let now = Instant::now();
        if now.duration_since(self.since) >= JOURNAL_INTERVAL {
            (self.since, self.count) = (now, 0);
        }
        if !is_of_client && self.count >= JOURNAL_MAX {
            return;
        }
        self.count += 1;
        let record = Record {
            time_ns: now_ns(),
            event,
        };
        if let Some(journal) = &mut self.journal
            && let Err(error) = journal.add(&record)
        {
            log_line(&format!("a question was not recorded: {error}"));
        }
    }
}

/// Returns the number that the next question of the sandbox gets, by its journal.
fn next_id(path: &Path) -> io::Result<u64> {
    let mut records = LineReader::open(path, ASKS_LIMITS)?;
    let mut last = 0;
    while let Some(record) = records.next_record::<Record>()? {
        last = record.event.id().max(last);
    }
    Ok(last.saturating_add(1))
}

const fn event(event: question_event::Event) -> QuestionEvent {
    QuestionEvent { event: Some(event) }
}

/// Returns a question for clients.
fn asked(question: &Question) -> question_event::Event {
    let kind = match question.kind {
        Kind::Path => QuestionKind::Path,
        Kind::Network => QuestionKind::Network,
        _ => QuestionKind::Unknown,
    };
    question_event::Event::Asked(Shown {
        id: question.id,
        kind: kind.into(),
        subject: question.subject.clone(),
        reason: question.reason.clone(),
        process: question.process.clone(),
        uid: question.uid,
    })
}

#[cfg(test)]
mod tests {
    use tokio_stream::StreamExt as _;

    use super::*;

    struct Bench {
        questions: Questions,
        told: mpsc::Receiver<AskInput>,
        directory: tempfile::TempDir,
    }

    impl Bench {
        fn new() -> Self {
            let directory = tempfile::tempdir().expect("a directory");
            let questions = Questions::new(&directory.path().join("asks.jsonl"));
            let (agent, told) = mpsc::channel(PENDING_ANSWERS);
            questions.state().agent = Some(agent);
            Self {
                questions,
                told,
                directory,
            }
        }

        fn ask(&self, token: u64) {
            self.questions.state().ask(&Asked {
                token,
                path: "/work/.env".to_owned(),
                ..Asked::default()
            });
        }

        fn answer(&self, id: u64, kind: AnswerKind) -> Result<(), Status> {
            self.questions.answer(&AnswerQuestionRequest {
                id,
                kind: kind.into(),
                by: "a test".to_owned(),
                rule: None,
            })
        }

        fn told(&mut self) -> (u64, bool, String) {
            let input = self.told.try_recv().expect("told").input;
            let Some(ask_input::Input::Told(told)) = input else {
                panic!("no answer");
            };
            (told.token, told.is_allowed, told.text)
        }

        fn records(&self) -> Vec<Event> {
            let path = self.directory.path().join("asks.jsonl");
            let mut records = LineReader::open(&path, ASKS_LIMITS).expect("opened");
            let next = || records.next_record::<Record>().expect("read");
            std::iter::from_fn(next)
                .map(|record| record.event)
                .collect()
        }
    }

    #[tokio::test]
    async fn a_question_without_a_listener_is_denied_and_recorded() {
        let mut bench = Bench::new();
        bench.ask(7);
        let (token, is_allowed, text) = bench.told();
        assert_eq!((token, is_allowed), (7, false));
        assert!(text.contains("no client listens"), "{text}");
        let records = bench.records();
        assert!(matches!(
            records[1],
            Event::Ended {
                end: End::NoListener,
                ..
            }
        ));
    }

    #[tokio::test]
    async fn the_first_answer_counts_and_everybody_hears_of_it() {
        let mut bench = Bench::new();
        let mut one = bench.questions.listen().expect("listening");
        bench.ask(7);
        let mut late = bench.questions.listen().expect("listening");
        assert!(
            bench.answer(1, AnswerKind::Delivered).is_err(),
            "it is not allowed"
        );
        bench.answer(1, AnswerKind::Allow).expect("open");
        assert!(bench.answer(1, AnswerKind::Deny).is_err());
        assert!(bench.told.try_recv().is_err(), "it is not delivered");
        bench.answer(1, AnswerKind::Delivered).expect("allowed");
        assert_eq!(bench.told(), (7, true, "allowed".to_owned()));
        for listener in [&mut one, &mut late] {
            let mut seen = Vec::new();
            for _ in 0..3 {
                let event = listener.next().await.expect("an event").expect("no error");
                seen.push(event.event.expect("one"));
            }
            let mut asked = seen.iter();
            assert!(asked.any(
                |event| matches!(event, question_event::Event::Asked(asked) if asked.id == 1)
            ));
            assert!(matches!(&seen[2], question_event::Event::Ended(ended) if ended.is_allowed));
        }
    }

    #[tokio::test]
    async fn the_last_listener_that_is_gone_leaves_no_question_open() {
        let mut bench = Bench::new();
        let one = bench.questions.listen().expect("listening");
        let other = bench.questions.listen().expect("listening");
        bench.ask(7);
        drop(one);
        tokio::task::yield_now().await;
        assert!(bench.told.try_recv().is_err());
        drop(other);
        while bench.told.is_empty() {
            tokio::task::yield_now().await;
        }
        assert!(bench.told().2.contains("no client listens"));
    }

    #[tokio::test]
    async fn a_guest_that_asks_without_end_fills_neither_queue_nor_journal() {
        let mut bench = Bench::new();
        // It does not read.
        let _listener = bench.questions.listen().expect("listening");
        for token in 0..1000 {
            bench.ask(token);
        }
        let (token, is_allowed, text) = bench.told();
        assert_eq!((token, is_allowed), (16, false));
        assert!(text.contains("too many"), "{text}");
        assert_eq!(bench.records().len(), JOURNAL_MAX as usize);
    }
}
