//! Questions that the processes of a guest ask while it runs, such as whether a file may be read.
//!
//! A [`Question`] is checked and bounded when it comes in, waits in a [`Queue`], and has one [`End`]: an
//! [`Answer`], or the reason why there was none. Both are [`News`] in the [`Outbox`] of each client that listens, and a
//! [`Record`] is what the sandbox's journal keeps of either.
//!
//! ```
//! use std::time::Instant;
//!
//! use questions::{Answer, Kind, Question, Queue, Verdict};
//!
//! let mut queue = Queue::default();
//! let question = Question::new(Kind::Path, "/work/.env", "the tests need it")?.numbered(1);
//! let now = Instant::now();
//! let id = queue.ask(question, "token", now).expect("there is room").id;
//! let closed = queue.answer(id, Answer::once(Verdict::Allow, "a user")).expect("it is open");
//! assert_eq!(closed.token, "token");
//! // The first answer counts.
//! assert!(queue.answer(id, Answer::once(Verdict::Deny, "another")).is_err());
//! # Ok::<(), questions::InvalidQuestion>(())
//! ```
//!
//! Everything that a guest says is hostile, so lengths are limited.

#![forbid(unsafe_code)]

mod answer;
mod answering;
mod kind;
mod outbox;
mod question;
mod queue;
mod record;
mod text;

pub use answer::{Answer, End, Verdict};
pub use answering::{Answering, Panic, called};
pub use kind::{Kind, UnknownKind};
pub use outbox::{News, Outbox};
pub use question::{
    InvalidQuestion, NUMBER_MAX, PROCESS_MAX_BYTES, Question, REASON_MAX_BYTES, SUBJECT_MAX_BYTES,
};
pub use queue::{ANSWER_TIMEOUT, Closed, DELIVERY_TIMEOUT, NotOpen, OPEN_MAX, Queue};
pub use record::{Event, Record};
