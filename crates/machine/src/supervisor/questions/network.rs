use msb_network::{Rule, ToNetwork, Told};
use questions::{Kind, Question};
use tokio::sync::mpsc;

use super::Questions;
use super::state::Asker;

/// The questions about destinations of the network.
#[derive(Debug, Clone)]
pub(in crate::supervisor) struct NetworkQuestions {
    questions: Questions,
    answers: mpsc::Sender<ToNetwork>,
}

impl Questions {
    /// Adds the network, whose process takes answers from `answers`.
    pub(in crate::supervisor) fn of_network(
        &self,
        answers: mpsc::Sender<ToNetwork>,
    ) -> NetworkQuestions {
        self.state().network = Some(answers.clone());
        NetworkQuestions {
            questions: self.clone(),
            answers,
        }
    }
}

impl NetworkQuestions {
    /// Takes a question about a destination, or refuses it.
    pub(in crate::supervisor) fn ask(&self, token: u64, subject: &str) {
        if !is_destination(subject) {
            // A guest may have taken the process over. The answer is to be about one destination.
            let told = Told::Unanswered;
            let _ = self.answers.try_send(ToNetwork::Told { token, told });
            return;
        }
        let question = Question::new(Kind::Network, subject, "");
        let asker = Asker::Network { token };
        self.questions.state().take(question, asker);
        self.questions.changed.notify_one();
    }

    /// Ends all questions, because the network's process is gone.
    pub(in crate::supervisor) fn withdraw_all(&self) {
        let is_gone = |asker: &Asker| matches!(asker, Asker::Network { .. });
        self.questions.state().withdraw(is_gone);
    }
}

/// Returns true for one address or name, with one port or without, that an answer can open.
fn is_destination(subject: &str) -> bool {
    let rule = subject.parse::<Rule>();
    rule.is_ok_and(|rule| rule.can_be_asked_about() && rule.to_string() == subject)
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use msb_agent_protocol::v1::{AnswerKind, AnswerQuestionRequest, Asked};

    use super::*;
    use crate::share_messages::ToShare;

    struct Bench {
        questions: Questions,
        network: NetworkQuestions,
        told: mpsc::Receiver<ToNetwork>,
        _directory: tempfile::TempDir,
    }

    impl Bench {
        fn new() -> Self {
            let directory = tempfile::tempdir().expect("a directory");
            let questions = Questions::new(&directory.path().join("asks.jsonl"));
            let (answers, told) = mpsc::channel(64);
            Self {
                network: questions.of_network(answers),
                questions,
                told,
                _directory: directory,
            }
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

        fn told(&mut self) -> Option<(u64, Told)> {
            match self.told.try_recv().ok()? {
                ToNetwork::Told { token, told } => Some((token, told)),
                ToNetwork::Rules { .. } => panic!("rules"),
            }
        }
    }

    #[test]
    fn the_network_is_told_the_answer_once_its_rule_is_followed() {
        let mut bench = Bench::new();
        let _listener = bench.questions.listen().expect("listening");
        bench.network.ask(7, "a.test:443");
        bench.network.ask(8, "10.0.0.5:5432");
        assert_eq!(bench.told(), None);
        bench.answer(1, AnswerKind::Allow);
        assert_eq!(bench.told(), None);
        bench.answer(1, AnswerKind::Delivered);
        assert_eq!(bench.told(), Some((7, Told::Allowed)));
        bench.answer(2, AnswerKind::Deny);
        assert_eq!(bench.told(), Some((8, Told::Denied)));
    }

    #[test]
    fn a_question_that_cannot_be_shown_is_denied_at_once() {
        let mut bench = Bench::new();
        bench.network.ask(1, "a.test:443");
        assert_eq!(bench.told(), Some((1, Told::Unanswered)));
        let _listener = bench.questions.listen().expect("listening");
        for subject in [
            "",
            "*.test:443",
            "0.0.0.0/0",
            "10.0.0.0/8:80",
            "a.test:1-65535",
            "127.0.0.1:631",
            "169.254.169.254:80",
            "A.test",
            "a.test:443\n2 b.test",
            "/work/.env",
            "https://a.test",
        ] {
            bench.network.ask(2, subject);
            assert_eq!(bench.told(), Some((2, Told::Unanswered)), "{subject:?}");
        }
    }

    #[test]
    fn destinations_and_shared_files_leave_questions_to_processes() {
        let mut bench = Bench::new();
        let (answers, mut of_share) = mpsc::channel(64);
        let share = bench.questions.of_share(answers);
        let _listener = bench.questions.listen().expect("listening");
        bench.questions.state().answers = Some(VecDeque::new());
        share.ask(1, Kind::Read, "/work/.env");
        for token in 1..=12 {
            bench.network.ask(token, &format!("{token}.test:443"));
        }
        assert_eq!(bench.told(), Some((12, Told::Unanswered)));
        share.ask(2, Kind::Read, "/work/.env");
        let refused = ToShare::Told {
            token: 2,
            is_allowed: false,
        };
        assert_eq!(of_share.try_recv(), Ok(refused));
        bench.questions.state().ask(&Asked {
            token: 1,
            path: "/work/.env".to_owned(),
            ..Asked::default()
        });
        assert!(bench.questions.state().next_answer().is_none(), "it waits");
        bench.network.withdraw_all();
        let ended = std::iter::from_fn(|| bench.told());
        assert_eq!(ended.count(), 11);
    }
}
