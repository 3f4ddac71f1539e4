use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::{Asker, PathAccess};

/// The most questions about one request: a rename has two paths. A guest can change a request while it waits, and
/// would be asked about without an end.
const QUESTIONS_MAX: usize = 2;

/// The questions about the requests of a device. The requests are answered one after the other, and one that needs an
/// answer is answered again once there is one.
#[derive(Default)]
pub(crate) struct Asking {
    asker: Option<Box<dyn Asker>>,
    turn: Mutex<Turn>,
}

/// The request that is being answered.
#[derive(Default)]
struct Turn {
    /// The questions about it that have an answer; true means yes.
    answers: Vec<(PathAccess, bool)>,
    /// The question that needs an answer first.
    question: Option<PathAccess>,
}

impl Asking {
    /// Returns the questions to a user. Without one, everything is denied that a user would be asked about.
    pub(crate) fn new(asker: Option<Box<dyn Asker>>) -> Self {
        Self {
            asker,
            turn: Mutex::default(),
        }
    }

    pub(crate) fn asker(&self) -> Option<&dyn Asker> {
        self.asker.as_deref()
    }

    /// Answers a request that has these answers. Returns the question that it needs first, too; if there is one,
    /// nothing was done.
    pub(crate) fn attempt<T>(
        &self,
        answers: &[(PathAccess, bool)],
        answer: impl FnOnce() -> T,
    ) -> (T, Option<PathAccess>) {
        *self.turn() = Turn {
            answers: answers.to_vec(),
            question: None,
        };
        let answered = answer();
        let turn = std::mem::take(&mut *self.turn());
        (answered, turn.question)
    }

    /// Checks that the user has allowed an access of the request that is being answered.
    ///
    /// # Errors
    /// `EACCES` if it was denied, or there is no answer yet.
    pub(crate) fn allows(&self, access: PathAccess) -> io::Result<()> {
        let mut turn = self.turn();
        let answer = turn.answers.iter().find(|(asked, _)| *asked == access);
        match answer.map(|(_, is_allowed)| *is_allowed) {
            Some(true) => return Ok(()),
            None if self.asker.is_some() && turn.answers.len() < QUESTIONS_MAX => {
                turn.question = Some(access);
            }
            Some(false) | None => {}
        }
        Err(io::Error::from_raw_os_error(libc::EACCES))
    }

    /// Notes that a permission has refused an access.
    pub(crate) fn refused(&self, access: &PathAccess) {
        if let Some(asker) = &self.asker {
            asker.refused(access);
        }
    }

    fn turn(&self) -> MutexGuard<'_, Turn> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
