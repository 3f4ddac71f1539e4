use questions::{Kind, Question};
use tokio::sync::mpsc;

use super::Questions;
use super::state::Asker;
use crate::share_messages::ToShare;

/// The questions about the files of a share that has rules. Clones are of the same share.
#[derive(Debug, Clone)]
pub(in crate::supervisor) struct ShareQuestions {
    questions: Questions,
    /// The number of the share among those with rules.
    share: usize,
}

impl Questions {
    /// Adds a share, whose process takes answers from `answers`.
    pub(in crate::supervisor) fn of_share(&self, answers: mpsc::Sender<ToShare>) -> ShareQuestions {
        let mut state = self.state();
        state.shares.push(answers);
        let share = state.shares.len() - 1;
        drop(state);
        ShareQuestions {
            questions: self.clone(),
            share,
        }
    }

    /// Denies all questions without an answer, and those that come until they are [opened](Self::open): a process that
    /// waits for a file of a share can neither be paused nor killed.
    pub(in crate::supervisor) fn close(&self) {
        let mut state = self.state();
        state.is_closed = true;
        let denied = state.queue.pause();
        state.end_all(denied);
    }

    /// Takes questions again.
    pub(in crate::supervisor) fn open(&self) {
        self.state().is_closed = false;
    }
}

impl ShareQuestions {
    /// Takes a question about a path, or refuses it.
    pub(in crate::supervisor) fn ask(&self, token: u64, kind: Kind, path: &str) {
        let asker = self.asker(token);
        self.questions
            .state()
            .take(Question::new(kind, path, ""), asker);
        self.questions.changed.notify_one();
    }

    /// Ends a question that needs no answer.
    pub(in crate::supervisor) fn withdraw(&self, token: u64) {
        let gone = self.asker(token);
        self.questions.state().withdraw(|asker| *asker == gone);
    }

    /// Ends all questions, because the share's process is gone.
    pub(in crate::supervisor) fn withdraw_all(&self) {
        let is_gone =
            |asker: &Asker| matches!(asker, Asker::Share { share, .. } if *share == self.share);
        self.questions.state().withdraw(is_gone);
    }

    /// Records that a rule has refused an access to a path.
    pub(in crate::supervisor) fn refused(&self, kind: Kind, path: &str, rule: &str) {
        if let Ok(question) = Question::new(kind, path, "") {
            self.questions.state().refuse_by_rule(question, rule);
        }
    }

    fn asker(&self, token: u64) -> Asker {
        let share = self.share;
        Asker::Share { share, token }
    }
}

#[cfg(test)]
mod tests {
    use msb_agent_protocol::v1::{AnswerKind, AnswerQuestionRequest};
    use msb_machine_records::QuestionRecords;
    use questions::{End, Event};

    use super::*;

    struct Bench {
        questions: Questions,
        share: ShareQuestions,
        told: mpsc::Receiver<ToShare>,
        directory: tempfile::TempDir,
    }

    impl Bench {
        fn new() -> Self {
            let directory = tempfile::tempdir().expect("a directory");
            let questions = Questions::new(&directory.path().join("asks.jsonl"));
            let (answers, told) = mpsc::channel(8);
            Self {
                share: questions.of_share(answers),
                questions,
                told,
                directory,
            }
        }

        fn ask(&self, token: u64) {
            self.share.ask(token, Kind::Read, "/work/.env");
        }

        fn answer(&self, id: u64, kind: AnswerKind) {
            let request = AnswerQuestionRequest {
                id,
                kind: kind.into(),
                by: "a test".to_owned(),
                rule: None,
            };
            self.questions.answer(&request).expect("it is open");
        }

        fn told(&mut self) -> Option<(u64, bool)> {
            match self.told.try_recv().ok()? {
                ToShare::Told { token, is_allowed } => Some((token, is_allowed)),
                ToShare::Rule { .. } => panic!("a rule"),
            }
        }

        fn ends(&self) -> Vec<(Kind, End)> {
            let path = self.directory.path().join("asks.jsonl");
            let mut records = QuestionRecords::open(&path).expect("opened");
            let mut ends = Vec::new();
            while let Some(record) = records.next_record().expect("read") {
                if let Event::Ended { question, end } = record.event {
                    ends.push((question.kind, end));
                }
            }
            ends
        }
    }

    #[test]
    fn an_answer_goes_to_the_share_that_asked() {
        let mut bench = Bench::new();
        let (answers, mut other) = mpsc::channel(8);
        let _other = bench.questions.of_share(answers);
        let _listener = bench.questions.listen().expect("listening");
        for (id, token) in [(1, 7), (2, 8)] {
            bench.ask(token);
            assert_eq!(bench.told(), None);
            bench.answer(id, AnswerKind::Allow);
            assert_eq!(bench.told(), None, "a rule may have to be kept first");
            bench.answer(id, AnswerKind::Delivered);
            assert_eq!(bench.told(), Some((token, true)));
        }
        assert!(other.try_recv().is_err());
    }

    #[test]
    fn a_share_without_a_listener_or_with_a_bad_path_is_denied() {
        let mut bench = Bench::new();
        bench.ask(7);
        assert_eq!(bench.told(), Some((7, false)));
        let _listener = bench.questions.listen().expect("listening");
        bench.share.ask(8, Kind::Change, "/work/a/../b");
        assert_eq!(bench.told(), Some((8, false)));
        assert_eq!(bench.ends(), [(Kind::Read, End::NoListener)]);
    }

    #[test]
    fn a_pause_denies_what_waits_and_what_comes_meanwhile() {
        let mut bench = Bench::new();
        let _listener = bench.questions.listen().expect("listening");
        bench.ask(1);
        bench.questions.close();
        assert_eq!(bench.told(), Some((1, false)));
        bench.ask(2);
        assert_eq!(bench.told(), Some((2, false)));
        assert_eq!(bench.ends(), vec![(Kind::Read, End::Paused); 2]);
        bench.questions.open();
        bench.ask(3);
        assert_eq!(bench.told(), None);
    }

    #[test]
    fn a_question_that_needs_no_answer_and_a_share_that_is_gone_leave_nothing_open() {
        let mut bench = Bench::new();
        let _listener = bench.questions.listen().expect("listening");
        for token in 1..=3 {
            bench.ask(token);
        }
        bench.share.withdraw(2);
        assert_eq!(bench.told(), Some((2, false)));
        bench.share.withdraw_all();
        assert_eq!(bench.told(), Some((1, false)));
        assert_eq!(bench.told(), Some((3, false)));
        assert_eq!(bench.ends(), vec![(Kind::Read, End::Withdrawn); 3]);
    }

    #[test]
    fn shares_leave_room_for_the_questions_of_processes() {
        let mut bench = Bench::new();
        let _listener = bench.questions.listen().expect("listening");
        for token in 1..=13 {
            bench.ask(token);
        }
        assert_eq!(bench.told(), Some((13, false)));
        assert_eq!(bench.told(), None);
        assert_eq!(bench.ends(), [(Kind::Read, End::TooMany)]);
    }

    #[test]
    fn a_refusal_is_recorded_with_its_rule() {
        let bench = Bench::new();
        let (path, rule) = ("/work/keys/id", "keys=deny");
        bench.share.refused(Kind::Change, path, rule);
        assert_eq!(bench.ends(), [(Kind::Change, End::refused(rule))]);
    }
}
