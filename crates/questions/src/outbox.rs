use std::collections::{BTreeSet, VecDeque};

use crate::{End, Question};

/// An event for a client that listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// A process asks, and waits for the answer.
    Asked(Question),
    /// A question that the client knows has ended.
    Ended {
        /// The question's number.
        id: u64,
        /// The way in which it ended.
        end: End,
    },
    /// The questions that waited when the client began to listen were told.
    Listening,
}

/// The news that a client has not taken yet, the oldest first.
///
/// A client that is slow loses nothing: it hears of each question that is open, and of the end of each question
/// that it has heard of. A question that ends before the client has taken it is dropped, so that there are at most
/// two items for each open question of a [`Queue`](crate::Queue), and one, however much the guest asks.
#[derive(Debug)]
pub struct Outbox {
    news: VecDeque<News>,
    /// The numbers of the open questions that the client has taken.
    taken: BTreeSet<u64>,
}

impl Outbox {
    /// Returns the news for a client that begins to listen while questions wait for an answer.
    pub fn new(waiting: impl IntoIterator<Item = Question>) -> Self {
        let waiting = waiting.into_iter().map(News::Asked);
        Self {
            news: waiting.chain([News::Listening]).collect(),
            taken: BTreeSet::new(),
        }
    }

    /// Adds a question that waits for an answer.
    pub fn ask(&mut self, question: Question) {
        self.news.push_back(News::Asked(question));
    }

    /// Adds the end of a question, if the client knows the question.
    pub fn end(&mut self, id: u64, end: &End) {
        let is_asked = |news: &News| matches!(news, News::Asked(question) if question.id == id);
        if let Some(index) = self.news.iter().position(is_asked) {
            self.news.remove(index);
        } else if self.taken.remove(&id) {
            let end = end.clone();
            self.news.push_back(News::Ended { id, end });
        }
    }

    /// Takes the oldest item; `None` if there is none.
    pub fn take(&mut self) -> Option<News> {
        let news = self.news.pop_front();
        if let Some(News::Asked(question)) = &news {
            self.taken.insert(question.id);
        }
        news
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kind, OPEN_MAX};

    fn question(id: u64) -> Question {
        let question = Question::new(Kind::Path, "/work/.env", "tests");
        question.expect("a question").numbered(id)
    }

    fn ended(id: u64) -> News {
        let end = End::TimedOut;
        News::Ended { id, end }
    }

    fn taken(outbox: &mut Outbox) -> Vec<News> {
        std::iter::from_fn(|| outbox.take()).collect()
    }

    #[test]
    fn a_client_hears_of_no_end_without_its_question() {
        let mut outbox = Outbox::new([question(1), question(2)]);
        // Question 3 was refused, or allowed before the client listened.
        for id in [3, 2] {
            outbox.end(id, &End::TimedOut);
        }
        outbox.ask(question(4));
        let expected = [
            News::Asked(question(1)),
            News::Listening,
            News::Asked(question(4)),
        ];
        assert_eq!(taken(&mut outbox), expected);
        for id in [4, 4, 1] {
            outbox.end(id, &End::TimedOut);
        }
        assert_eq!(taken(&mut outbox), [ended(4), ended(1)]);
    }

    #[test]
    fn a_slow_client_hears_of_all_that_is_open_and_its_news_are_bounded() {
        // A linear congruential generator, whose upper bits are random enough.
        let mut state = 1_u64;
        let mut random = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % below
        };
        let mut outbox = Outbox::new([]);
        let (mut open, mut known) = (BTreeSet::new(), BTreeSet::new());
        let hear = |news: Option<News>, known: &mut BTreeSet<u64>| match news {
            Some(News::Asked(question)) => assert!(known.insert(question.id)),
            Some(News::Ended { id, .. }) => assert!(known.remove(&id), "{id} is not known"),
            Some(News::Listening) | None => {}
        };
        for id in 1..20_000 {
            if open.len() < OPEN_MAX {
                open.insert(id);
                outbox.ask(question(id));
            }
            // For a while more ends than is asked, and for a while less.
            while !open.is_empty() && random(10) < 3 + id / 1000 % 5 {
                let index = usize::try_from(random(16)).expect("small") % open.len();
                let ended = *open.iter().nth(index).expect("there");
                open.remove(&ended);
                outbox.end(ended, &End::TimedOut);
            }
            if random(10) < id / 3000 {
                hear(outbox.take(), &mut known);
            }
            assert!(outbox.news.len() <= 2 * OPEN_MAX + 1);
            assert!(outbox.taken.len() <= OPEN_MAX);
        }
        for news in taken(&mut outbox) {
            hear(Some(news), &mut known);
        }
        assert_eq!(known, open);
    }
}
