use super::*;
use crate::Kind;

fn question(id: u64) -> Question {
    let question = Question::new(Kind::Path, "/work/.env", "tests");
    question.expect("a question").numbered(id)
}

fn answer(verdict: Verdict) -> Answer {
    Answer::once(verdict, "a test")
}

/// Asks a question whose number is the token.
fn ask(queue: &mut Queue<u64>, id: u64, now: Instant) {
    queue.ask(question(id), id, now).expect("there is room");
}

fn allow(queue: &mut Queue<u64>, id: u64, now: Instant) {
    let allowed = queue.allow_later(id, answer(Verdict::Allow), now);
    assert_eq!(allowed, Ok(&question(id)));
}

fn interrupted() -> End {
    let by = "a test".to_owned();
    End::Interrupted { by }
}

#[test]
fn the_first_answer_counts() {
    let mut queue = Queue::default();
    ask(&mut queue, 5, Instant::now());
    let closed = queue.answer(5, answer(Verdict::Deny)).expect("open");
    assert_eq!(closed.end, End::Answered(answer(Verdict::Deny)));
    assert_eq!((closed.question, closed.token), (question(5), 5));
    let id = 5;
    assert_eq!(
        queue.answer(id, answer(Verdict::Allow)),
        Err(NotOpen { id })
    );
    assert!(queue.deliver(id, true).is_err());
    assert!(queue.renew(id, Instant::now()).is_err());
    assert_eq!(queue.next_deadline(), None);
}

#[test]
fn a_question_is_denied_when_its_time_is_over_and_not_before() {
    let mut queue = Queue::default();
    let now = Instant::now();
    ask(&mut queue, 1, now);
    ask(&mut queue, 2, now + Duration::from_secs(1));
    assert_eq!(queue.next_deadline(), Some(now + ANSWER_TIMEOUT));
    let early = now + ANSWER_TIMEOUT - Duration::from_millis(1);
    assert_eq!(queue.expire(early), []);
    let ended = queue.expire(now + ANSWER_TIMEOUT);
    assert_eq!(ended.len(), 1);
    assert_eq!((ended[0].token, &ended[0].end), (1, &End::TimedOut));
    assert_eq!(queue.unanswered().count(), 1);
}

#[test]
fn the_queue_is_bounded() {
    let mut queue = Queue::default();
    let now = Instant::now();
    for id in 1..17 {
        ask(&mut queue, id, now);
    }
    let (refused, token) = queue.ask(question(17), 99, now).expect_err("it is full");
    assert_eq!((refused.id, token), (17, 99));
    queue.answer(3, answer(Verdict::Deny)).expect("open");
    ask(&mut queue, 18, now);
}

#[test]
fn what_is_allowed_later_is_delivered_or_denied() {
    let mut queue = Queue::default();
    let now = Instant::now();
    for (id, is_done) in [(1, true), (2, false)] {
        ask(&mut queue, id, now);
        allow(&mut queue, id, now);
        assert!(
            queue.answer(id, answer(Verdict::Deny)).is_err(),
            "it has an answer"
        );
        assert_eq!(queue.unanswered().count(), 0);
        assert_eq!(queue.abandon(), [], "its client is still there");
        let closed = queue.deliver(id, is_done).expect("allowed");
        assert_eq!(closed.end.is_allowed(), is_done);
        assert!(closed.end.was_allowed());
    }
}

#[test]
fn a_delivery_lasts_as_long_as_its_client_says_so() {
    let mut queue = Queue::default();
    let now = Instant::now();
    ask(&mut queue, 1, now);
    assert!(queue.renew(1, now).is_err(), "it is not allowed");
    allow(&mut queue, 1, now);
    assert_eq!(queue.expire(now + ANSWER_TIMEOUT), []);
    let later = now + DELIVERY_TIMEOUT - Duration::from_millis(1);
    queue.renew(1, later).expect("it is being delivered");
    assert_eq!(queue.expire(now + DELIVERY_TIMEOUT), []);
    let ended = queue.expire(later + DELIVERY_TIMEOUT);
    assert_eq!(ended[0].end, interrupted());
    assert!(queue.renew(1, later).is_err(), "it has ended");
}

#[test]
fn askers_and_listeners_that_are_gone_end_their_questions() {
    let mut queue = Queue::default();
    let now = Instant::now();
    ask(&mut queue, 1, now);
    ask(&mut queue, 2, now);
    let ended = queue.withdraw(|token| *token == 1);
    assert_eq!((ended.len(), &ended[0].end), (1, &End::Withdrawn));
    let ended = queue.abandon();
    assert_eq!((ended[0].token, &ended[0].end), (2, &End::NoListener));
}

#[test]
fn a_pause_denies_what_has_no_answer_yet() {
    let mut queue = Queue::default();
    let now = Instant::now();
    ask(&mut queue, 1, now);
    ask(&mut queue, 2, now);
    allow(&mut queue, 1, now);
    let ended = queue.pause();
    assert_eq!(ended.len(), 1);
    assert_eq!((ended[0].token, &ended[0].end), (2, &End::Paused));
    assert!(queue.deliver(1, true).expect("allowed").end.is_allowed());
}

#[test]
fn an_asker_that_is_gone_does_not_hide_that_it_was_allowed() {
    let mut queue = Queue::default();
    let now = Instant::now();
    for id in [1, 2] {
        ask(&mut queue, id, now);
        allow(&mut queue, id, now);
    }
    ask(&mut queue, 3, now);
    assert_eq!(queue.withdraw(|token| *token == 1), []);
    let closed = queue.deliver(1, true).expect("allowed");
    assert!(closed.end.is_allowed());
    let ended = queue.break_off();
    let ends: Vec<&End> = ended.iter().map(|ended| &ended.end).collect();
    assert_eq!(ends, [&interrupted(), &End::Withdrawn]);
    assert_eq!(queue.next_deadline(), None);
}
