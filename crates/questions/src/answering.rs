use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use tokio::task::JoinHandle;

/// The answers of a function to the questions of a sandbox, until this value is dropped. `E` is the error of a sandbox
/// that cannot be listened to.
#[derive(Debug)]
#[must_use = "no question is answered once this value is dropped"]
pub struct Answering<E>(JoinHandle<Result<(), E>>);

impl<E: Send + 'static> Answering<E> {
    /// Begins the work that answers the questions, as a task of the current runtime.
    ///
    /// # Panics
    /// If no runtime of tokio runs.
    pub fn begin(work: impl Future<Output = Result<(), E>> + Send + 'static) -> Self {
        Self(tokio::spawn(work))
    }

    /// Waits until the sandbox has ended.
    ///
    /// # Errors
    /// If the sandbox could not be listened to any longer.
    ///
    /// # Panics
    /// If the function has panicked.
    pub async fn ended(mut self) -> Result<(), E> {
        match (&mut self.0).await {
            Ok(end) => end,
            Err(error) if error.is_panic() => resume_unwind(error.into_panic()),
            // The runtime ends, and its tasks with it.
            Err(_) => Ok(()),
        }
    }
}

impl<E> Drop for Answering<E> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A panic, which whoever caught it continues.
pub type Panic = Box<dyn Any + Send>;

/// Calls the function that answers questions. If it panics, the answer is the default one, a no, which is to be
/// given before the panic is continued.
pub fn called<Q, A: Default>(on_ask: &mut impl FnMut(&Q) -> A, question: &Q) -> (A, Option<Panic>) {
    // Whatever the function has left half done is not used again.
    match catch_unwind(AssertUnwindSafe(|| on_ask(question))) {
        Ok(answer) => (answer, None),
        Err(panic) => (A::default(), Some(panic)),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use tokio::sync::oneshot;

    use super::*;

    #[test]
    fn a_function_that_panics_has_said_no() {
        let mut asked = 0;
        let mut on_ask = |question: &u32| {
            asked += question;
            assert!(*question != 2, "the function fails");
            true
        };
        assert!(matches!(called(&mut on_ask, &1), (true, None)));
        let (answer, panic) = called(&mut on_ask, &2);
        assert!(!answer);
        let panic = panic.expect("it panicked");
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"the function fails"));
        assert_eq!(asked, 3);
    }

    #[tokio::test]
    async fn the_end_waits_for_the_work_and_goes_on_with_its_error_or_panic() {
        let is_done = Arc::new(AtomicBool::new(false));
        let done = Arc::clone(&is_done);
        let answering: Answering<&str> = Answering::begin(async move {
            tokio::task::yield_now().await;
            done.store(true, Ordering::Relaxed);
            Err("the sandbox is silent")
        });
        assert_eq!(answering.ended().await, Err("the sandbox is silent"));
        assert!(is_done.load(Ordering::Relaxed));
        let failing: Answering<()> = Answering::begin(async {
            let is_whole = false;
            assert!(is_whole, "the function fails");
            Ok(())
        });
        let ended = tokio::spawn(failing.ended()).await;
        assert!(ended.expect_err("it panicked").is_panic());
    }

    #[tokio::test]
    async fn nothing_is_answered_once_it_is_dropped() {
        let (sender, receiver) = oneshot::channel::<()>();
        let answering: Answering<()> = Answering::begin(async move {
            std::future::pending::<()>().await;
            drop(sender);
            Ok(())
        });
        drop(answering);
        receiver.await.expect_err("the work was dropped");
    }
}
