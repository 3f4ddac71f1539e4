use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use msb_agent_protocol::v1::{Asked, question_event};
use msb_machine_records::QuestionRecords;
use questions::{DELIVERY_TIMEOUT, OPEN_MAX};
use tokio_stream::Stream as _;

use super::journal::RECORDS_MAX;
use super::state::ANSWERS_MAX;
use super::*;

struct Bench {
    questions: Questions,
    directory: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let questions = Questions::new(&directory.path().join("asks.jsonl"));
        questions.state().answers = Some(VecDeque::new());
        Self {
            questions,
            directory,
        }
    }

    /// Ends the machine, and starts another one.
    fn restart(&mut self) {
        self.questions = Questions::new(&self.directory.path().join("asks.jsonl"));
        self.questions.state().answers = Some(VecDeque::new());
    }

    fn listen(&self) -> Events {
        self.questions.listen().expect("listening")
    }

    fn ask(&self, token: u64) {
        self.ask_because(token, "the tests need it");
    }

    fn ask_because(&self, token: u64, reason: &str) {
        self.questions.state().ask(&Asked {
            token,
            path: "/work/.env".to_owned(),
            reason: reason.to_owned(),
            ..Asked::default()
        });
    }

    fn withdraw(&self, token: u64) {
        let mut state = self.questions.state();
        state.withdraw(|asker| *asker == Asker::Agent(token));
    }

    fn answer(&self, id: u64, kind: AnswerKind) -> Result<(), Status> {
        self.questions.answer(&AnswerQuestionRequest {
            id,
            kind: kind.into(),
            by: "a test".to_owned(),
            rule: None,
        })
    }

    /// Returns the answers that the agent gets, without those to questions that were withdrawn.
    fn told(&self) -> Vec<(u64, bool, String)> {
        let mut state = self.questions.state();
        std::iter::from_fn(|| state.next_answer())
            .map(|told| (told.token, told.is_allowed, told.text))
            .filter(|(_, _, text)| !text.contains("withdrawn"))
            .collect()
    }

    fn records(&self) -> Vec<Event> {
        let path = self.directory.path().join("asks.jsonl");
        let mut records = QuestionRecords::open(&path).expect("opened");
        let next = || records.next_record().expect("read");
        std::iter::from_fn(next)
            .map(|record| record.event)
            .collect()
    }

    /// Returns the ends in the journal of the question with a number.
    fn ends(&self, id: u64) -> Vec<End> {
        let ended = |event: Event| match event {
            Event::Ended { question, end } if question.id == id => {
                assert_eq!(question.subject, "/work/.env");
                Some(end)
            }
            _ => None,
        };
        self.records().into_iter().filter_map(ended).collect()
    }
}

/// An event as a client hears it: the number of a question, and true at its end if it was allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Heard {
    Listening,
    Asked(u64),
    Ended(u64, bool),
}

/// Takes what waits for a client.
fn heard(events: &mut Events) -> Vec<Heard> {
    let mut heard = Vec::new();
    let mut context = Context::from_waker(Waker::noop());
    while let Poll::Ready(event) = Pin::new(&mut *events).poll_next(&mut context) {
        let event = event.expect("it goes on").expect("no error");
        heard.push(match event.event.expect("one") {
            question_event::Event::Listening(_) => Heard::Listening,
            question_event::Event::Asked(asked) => Heard::Asked(asked.id),
            question_event::Event::Ended(ended) => Heard::Ended(ended.id, ended.is_allowed),
        });
    }
    heard
}

#[test]
fn a_question_without_a_listener_is_denied_and_recorded() {
    let bench = Bench::new();
    bench.ask(7);
    let told = bench.told();
    assert_eq!((told[0].0, told[0].1), (7, false));
    assert!(told[0].2.contains("no client listens"), "{told:?}");
    assert_eq!(bench.ends(1), [End::NoListener]);
}

#[test]
fn the_first_answer_counts_and_everybody_hears_of_it() {
    let bench = Bench::new();
    let mut one = bench.listen();
    bench.ask(7);
    let mut late = bench.listen();
    assert!(
        bench.answer(1, AnswerKind::Delivered).is_err(),
        "it is not allowed"
    );
    bench.answer(1, AnswerKind::Allow).expect("open");
    assert!(bench.answer(1, AnswerKind::Deny).is_err());
    assert_eq!(bench.told(), [], "it is not delivered");
    assert_eq!(heard(&mut late), [Heard::Asked(1), Heard::Listening]);
    bench.answer(1, AnswerKind::Delivered).expect("allowed");
    assert_eq!(bench.told(), [(7, true, "allowed".to_owned())]);
    let expected = [Heard::Listening];
    assert_eq!(heard(&mut one), expected, "it ended before it was taken");
    assert_eq!(heard(&mut late), [Heard::Ended(1, true)]);
}

#[tokio::test]
async fn a_client_that_waits_is_woken() {
    use tokio_stream::StreamExt as _;

    let bench = Bench::new();
    let mut events = bench.listen();
    events.next().await.expect("listening").expect("no error");
    let waiting = tokio::spawn(async move {
        let event = events.next().await.expect("an event").expect("no error");
        (event.event.expect("one"), events)
    });
    tokio::task::yield_now().await;
    bench.ask(7);
    let (event, _events) = waiting.await.expect("no panic");
    assert!(matches!(event, question_event::Event::Asked(asked) if asked.id == 1));
}

#[test]
fn the_last_listener_that_is_gone_leaves_no_question_open() {
    let bench = Bench::new();
    let one = bench.listen();
    let other = bench.listen();
    bench.ask(7);
    drop(one);
    assert_eq!(bench.told(), []);
    drop(other);
    assert!(bench.told()[0].2.contains("no client listens"));
}

#[test]
fn a_client_that_falls_behind_hears_of_all_that_is_open() {
    let bench = Bench::new();
    let mut slow = bench.listen();
    bench.ask(1);
    assert_eq!(heard(&mut slow), [Heard::Listening, Heard::Asked(1)]);
    for token in 2..1000 {
        bench.ask(token);
        bench.withdraw(token);
    }
    bench.answer(1, AnswerKind::Deny).expect("open");
    bench.ask(1000);
    let expected = [Heard::Ended(1, false), Heard::Asked(1000)];
    assert_eq!(heard(&mut slow), expected);
    bench.answer(1000, AnswerKind::Deny).expect("open");
    assert_eq!(heard(&mut slow), [Heard::Ended(1000, false)]);
}

#[test]
fn a_client_hears_of_no_end_without_its_question() {
    let bench = Bench::new();
    let mut one = bench.listen();
    let open_max = u64::try_from(OPEN_MAX).expect("small");
    for token in 1..=open_max + 5 {
        bench.ask(token);
    }
    bench.answer(1, AnswerKind::Allow).expect("open");
    let mut late = bench.listen();
    let asked = |first| (first..=open_max).map(Heard::Asked);
    let expected: Vec<Heard> = [Heard::Listening].into_iter().chain(asked(1)).collect();
    assert_eq!(heard(&mut one), expected);
    let expected: Vec<Heard> = asked(2).chain([Heard::Listening]).collect();
    assert_eq!(heard(&mut late), expected);
    bench.answer(1, AnswerKind::Delivered).expect("allowed");
    assert_eq!(heard(&mut one), [Heard::Ended(1, true)]);
    assert_eq!(heard(&mut late), []);
}

#[test]
fn a_guest_that_asks_without_end_fills_neither_queue_nor_journal() {
    let bench = Bench::new();
    // It does not read.
    let _listener = bench.listen();
    for token in 0..1000 {
        bench.ask(token);
    }
    let told = bench.told();
    assert_eq!((told[0].0, told[0].1), (16, false));
    assert!(told[0].2.contains("too many"), "{told:?}");
    assert_eq!(bench.records().len(), RECORDS_MAX as usize);
}

#[test]
fn a_flood_hides_no_question_that_was_allowed() {
    let bench = Bench::new();
    for token in 1..1000 {
        bench.ask_because(token, &"\0".repeat(1024));
    }
    let _listener = bench.listen();
    bench.ask(1000);
    bench.answer(1000, AnswerKind::Allow).expect("open");
    // The machine may end before the client says more.
    let allowed = End::Answered(Answer::once(Verdict::Allow, "a test"));
    assert_eq!(bench.ends(1000), std::slice::from_ref(&allowed));
    bench.answer(1000, AnswerKind::Delivered).expect("allowed");
    for token in 1001..2000 {
        bench.ask_because(token, &"\0".repeat(1024));
    }
    assert_eq!(bench.ends(1000), [allowed]);
    let found = bench.records();
    let found = found.iter().find(|event| event.was_allowed());
    let reason = found.map(|event| event.question().reason.clone());
    assert_eq!(reason.as_deref(), Some("the tests need it"));
}

#[test]
fn a_process_that_hangs_up_does_not_hide_what_it_was_allowed() {
    let bench = Bench::new();
    let _listener = bench.listen();
    bench.ask(7);
    bench.answer(1, AnswerKind::Allow).expect("open");
    bench.withdraw(7);
    bench.answer(1, AnswerKind::Delivered).expect("it goes on");
    let allowed = End::Answered(Answer::once(Verdict::Allow, "a test"));
    assert_eq!(bench.ends(1), [allowed]);
}

#[test]
fn a_delivery_ends_with_the_word_of_its_client_or_its_silence() {
    let bench = Bench::new();
    let _listener = bench.listen();
    for id in [1, 2, 3] {
        bench.ask(id);
        bench.answer(id, AnswerKind::Allow).expect("open");
    }
    bench.answer(1, AnswerKind::Undelivered).expect("allowed");
    assert!(bench.told()[0].2.contains("could not be copied"));
    bench.answer(2, AnswerKind::Delivering).expect("allowed");
    assert_eq!(bench.told(), []);
    let later = now() + DELIVERY_TIMEOUT;
    bench.questions.state().expire(later);
    let told = bench.told();
    assert_eq!(told.len(), 2);
    assert!(told[1].2.contains("was interrupted"), "{told:?}");
    let late = bench.answer(3, AnswerKind::Delivered);
    assert!(late.is_err(), "the process has another answer");
    let by = "a test".to_owned();
    let allowed = End::Answered(Answer::once(Verdict::Allow, "a test"));
    assert_eq!(bench.ends(3), [allowed, End::Interrupted { by }]);
}

#[test]
fn a_step_of_an_answer_that_is_unknown_is_no_answer() {
    let bench = Bench::new();
    let _listener = bench.listen();
    bench.ask(7);
    let refused = bench.questions.answer(&AnswerQuestionRequest {
        id: 1,
        kind: 1000,
        ..AnswerQuestionRequest::default()
    });
    assert!(refused.is_err());
    assert_eq!(bench.told(), []);
    bench.answer(1, AnswerKind::Deny).expect("it is open");
}

#[test]
fn a_number_is_not_used_again_after_a_flood_and_a_restart() {
    let mut bench = Bench::new();
    let mut listener = bench.listen();
    for token in 1..1000 {
        bench.ask(token);
        bench.withdraw(token);
    }
    bench.ask(1000);
    assert_eq!(heard(&mut listener), [Heard::Listening, Heard::Asked(1000)]);
    bench.restart();
    let mut listener = bench.listen();
    bench.ask(1);
    let heard = heard(&mut listener);
    let Some(Heard::Asked(id)) = heard.last() else {
        panic!("{heard:?}");
    };
    assert!(*id > 1000, "{id}");
}

#[test]
fn a_question_without_a_number_is_denied() {
    let bench = Bench::new();
    let _listener = bench.listen();
    std::fs::create_dir_all(bench.directory.path().join("asks.next/in-the-way")).expect("made");
    bench.ask(7);
    let told = bench.told();
    assert!(told[0].2.contains("a number"), "{told:?}");
}

#[test]
fn no_question_is_taken_without_room_for_its_answer_and_no_answer_is_lost() {
    let bench = Bench::new();
    let listener = bench.listen();
    let mut asked = 0;
    while bench.questions.state().outlook().has_room {
        bench.ask(asked);
        asked += 1;
        assert!(asked < 1000, "there is always room");
    }
    drop(listener);
    let told = bench.told();
    assert_eq!(told.len() as u64, asked);
    assert!(told.len() <= ANSWERS_MAX + OPEN_MAX);
}
