//! Changes of sandboxes whose caller has gone: they are done, or undone, before the next call on the sandbox.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

use crate::cleanup::{Cleanup, Cleanups};

/// The time for which a call that ends a sandbox waits for a change that goes on without its caller.
// 10 s: a rollback of a running sandbox took 0.2 s, and one that boots its machine anew 6 s. A hung one must
// not keep a sandbox alive.
const END_PATIENCE: Duration = Duration::from_secs(10);

tokio::task_local! {
    /// The sandbox that this task changes. Calls on it are a part of the change, and do not wait for it.
    static CHANGED: String;
}

/// The changes of sandboxes that have not ended, by the id of their sandbox. Clones share them.
#[derive(Debug, Clone)]
pub struct Unfinished {
    counts: watch::Sender<BTreeMap<String, Counts>>,
    cleanups: Cleanups,
}

/// The effect of a change on other calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// The guest, or the disk of a stopped sandbox, cannot be used until the change ends.
    Guest,
    /// The sandbox ends.
    End,
    /// Other calls are not affected.
    Slight,
}

/// The numbers of a sandbox's changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Counts {
    guest: usize,
    end: usize,
    slight: usize,
    /// The number of changes that continue without their caller, except those that end the sandbox.
    abandoned: usize,
    abandoned_end: usize,
}

/// A change that is counted, until this value is dropped.
#[derive(Debug)]
struct Counted {
    counts: watch::Sender<BTreeMap<String, Counts>>,
    id: String,
    count: fn(&mut Counts) -> &mut usize,
}

/// The knowledge that a change and its caller share about each other.
#[derive(Debug, Default)]
struct Shared {
    is_finished: bool,
    abandoned: Option<(Counted, Cleanup)>,
}

impl Counts {
    const fn is_abandoned(&self) -> bool {
        self.abandoned + self.abandoned_end > 0
    }

    const fn affects_others(&self) -> bool {
        self.is_abandoned() || self.guest + self.end > 0
    }
}

impl Unfinished {
    /// Returns none. The `cleanups` wait for changes without a caller, too.
    pub fn new(cleanups: Cleanups) -> Self {
        let counts = watch::Sender::default();
        Self { counts, cleanups }
    }

    /// Waits until no change of the sandbox goes on without its caller.
    pub async fn settled(&self, id: &str) {
        self.wait(id, Counts::is_abandoned).await;
    }

    /// Waits until the guest can be used, as far as this client knows.
    pub async fn guest_settled(&self, id: &str) {
        self.wait(id, |counts| counts.is_abandoned() || counts.guest > 0)
            .await;
    }

    /// Waits until a change of this effect can be made, as far as this client knows.
    pub async fn settled_for(&self, id: &str, effect: Effect) {
        match effect {
            Effect::Guest => self.wait(id, |counts| *counts != Counts::default()).await,
            Effect::Slight => self.wait(id, Counts::affects_others).await,
            Effect::End => self.settled_or_hung(id).await,
        }
    }

    /// Waits until the sandbox can be ended, but not for long.
    async fn settled_or_hung(&self, id: &str) {
        let is_busy = |counts: &Counts| counts.guest + counts.abandoned > 0;
        // What hangs is ended by the caller.
        let _ = tokio::time::timeout(END_PATIENCE, self.wait(id, is_busy)).await;
    }

    async fn wait(&self, id: &str, is_busy: fn(&Counts) -> bool) {
        if is_in_change_of(id) {
            return;
        }
        // The sender lives as long as this value.
        let mut counts = self.counts.subscribe();
        let settled = counts.wait_for(|counts| !counts.get(id).is_some_and(is_busy));
        let _ = settled.await;
    }

    /// Makes a change of the sandbox, which goes on if the returned future is dropped.
    pub async fn change<T: Send + 'static>(
        &self,
        id: &str,
        effect: Effect,
        work: impl Future<Output = T> + Send + 'static,
    ) -> T {
        if is_in_change_of(id) {
            return work.await;
        }
        self.begin(id, effect, |_| work).await
    }

    /// Makes a change of the sandbox, which is told if the returned future is dropped, and undoes itself then.
    pub async fn undoable_change<T: Send + 'static, F>(
        &self,
        id: &str,
        effect: Effect,
        work: impl FnOnce(Abandonment) -> F,
    ) -> T
    where
        F: Future<Output = T> + Send + 'static,
    {
        if is_in_change_of(id) {
            // The change that this one belongs to is not dropped.
            let (sender, receiver) = oneshot::channel();
            let outcome = work(Abandonment(receiver)).await;
            drop(sender);
            return outcome;
        }
        self.begin(id, effect, work).await
    }

    fn begin<T: Send + 'static, F>(
        &self,
        id: &str,
        effect: Effect,
        work: impl FnOnce(Abandonment) -> F,
    ) -> Change<T>
    where
        F: Future<Output = T> + Send + 'static,
    {
        let (sender, receiver) = oneshot::channel();
        let shared = Arc::new(Mutex::new(Shared::default()));
        let counted = self.count(
            id,
            match effect {
                Effect::Guest => |counts| &mut counts.guest,
                Effect::End => |counts| &mut counts.end,
                Effect::Slight => |counts| &mut counts.slight,
            },
        );
        let finish = Finish {
            shared: Arc::clone(&shared),
            _counted: counted,
        };
        let work = CHANGED.scope(id.to_owned(), work(Abandonment(receiver)));
        let task = tokio::spawn(async move {
            let outcome = work.await;
            drop(finish);
            outcome
        });
        Change {
            task,
            abandon: Some(sender),
            shared,
            unfinished: self.clone(),
            id: id.to_owned(),
            effect,
        }
    }

    fn count(&self, id: &str, count: fn(&mut Counts) -> &mut usize) -> Counted {
        self.counts
            .send_modify(|counts| *count(counts.entry(id.to_owned()).or_default()) += 1);
        Counted {
            counts: self.counts.clone(),
            id: id.to_owned(),
            count,
        }
    }
}

fn is_in_change_of(id: &str) -> bool {
    CHANGED.try_with(|changed| changed == id).unwrap_or(false)
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.counts.send_modify(|counts| {
            if let Some(found) = counts.get_mut(&self.id) {
                *(self.count)(found) -= 1;
                if *found == Counts::default() {
                    counts.remove(&self.id);
                }
            }
        });
    }
}

/// The word that the caller of a change has gone.
#[derive(Debug)]
pub struct Abandonment(oneshot::Receiver<()>);

impl Abandonment {
    /// Waits until the caller has gone.
    pub async fn wait(self) {
        if self.0.await.is_err() {
            std::future::pending().await
        }
    }
}

/// The end of a change, also if it panics or its runtime ends.
struct Finish {
    shared: Arc<Mutex<Shared>>,
    _counted: Counted,
}

impl Drop for Finish {
    fn drop(&mut self) {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        shared.is_finished = true;
        let abandoned = shared.abandoned.take();
        drop(shared);
        drop(abandoned);
    }
}

/// A change under way. Dropped, it goes on, and is counted until it ends.
struct Change<T> {
    task: JoinHandle<T>,
    abandon: Option<oneshot::Sender<()>>,
    shared: Arc<Mutex<Shared>>,
    unfinished: Unfinished,
    id: String,
    effect: Effect,
}

impl<T> Future for Change<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match Pin::new(&mut self.task).poll(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Ok(outcome)) => Poll::Ready(outcome),
            Poll::Ready(Err(error)) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // The runtime is shut down: it drops this future, whose owner tells why.
                Err(_) => Poll::Pending,
            },
        }
    }
}

impl<T> Drop for Change<T> {
    fn drop(&mut self) {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        if shared.is_finished {
            return;
        }
        let counted = self.unfinished.count(
            &self.id,
            match self.effect {
                Effect::End => |counts| &mut counts.abandoned_end,
                Effect::Guest | Effect::Slight => |counts| &mut counts.abandoned,
            },
        );
        shared.abandoned = Some((counted, self.unfinished.cleanups.begin()));
        drop(shared);
        if let Some(abandon) = self.abandon.take() {
            // The change may have ended.
            let _ = abandon.send(());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use tokio::time::sleep;

    use super::*;

    fn unfinished() -> (Unfinished, Cleanups) {
        let cleanups = Cleanups::default();
        (Unfinished::new(cleanups.clone()), cleanups)
    }

    /// Polls a future once.
    async fn begin<T>(future: Pin<&mut impl Future<Output = T>>) {
        let polled = tokio::time::timeout(Duration::ZERO, future).await;
        assert!(polled.is_err(), "it has ended already");
    }

    #[tokio::test(start_paused = true)]
    async fn a_dropped_change_is_done_and_the_next_call_waits_for_it() {
        let (unfinished, cleanups) = unfinished();
        let is_done = Arc::new(AtomicBool::new(false));
        let done = Arc::clone(&is_done);
        let inner = unfinished.clone();
        let mut change = Box::pin(unfinished.change("a", Effect::Slight, async move {
            sleep(Duration::from_millis(50)).await;
            // A call of the change itself.
            inner.settled("a").await;
            inner.change("a", Effect::Slight, async {}).await;
            done.store(true, Ordering::SeqCst);
        }));
        begin(change.as_mut()).await;
        drop(change);
        unfinished.settled("b").await;
        assert!(!is_done.load(Ordering::SeqCst), "another sandbox waits");
        unfinished.settled("a").await;
        assert!(is_done.load(Ordering::SeqCst), "it was broken off");
        cleanups.settled().await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_that_is_awaited_is_not_waited_for() {
        let (unfinished, cleanups) = unfinished();
        let mut change = Box::pin(unfinished.change("a", Effect::Slight, async {
            sleep(Duration::from_millis(20)).await;
            7
        }));
        begin(change.as_mut()).await;
        unfinished.guest_settled("a").await;
        unfinished.settled_for("a", Effect::Slight).await;
        let waiting = unfinished.settled_for("a", Effect::Guest);
        let waiting = tokio::time::timeout(Duration::ZERO, waiting);
        assert!(waiting.await.is_err(), "a start does not wait");
        assert_eq!(change.await, 7);
        unfinished.settled_for("a", Effect::Guest).await;
        cleanups.settled().await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_dropped_change_that_can_be_undone_is_undone() {
        let (unfinished, _cleanups) = unfinished();
        let (sender, undone) = oneshot::channel();
        let mut change =
            Box::pin(
                unfinished.undoable_change("a", Effect::Guest, |abandoned| async move {
                    abandoned.wait().await;
                    sleep(Duration::from_millis(20)).await;
                    let _ = sender.send(());
                }),
            );
        begin(change.as_mut()).await;
        drop(change);
        unfinished.settled("a").await;
        undone.await.expect("undone before the next call");
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_that_panics_is_over() {
        let (unfinished, _cleanups) = unfinished();
        let mut change = Box::pin(unfinished.change::<()>("a", Effect::Slight, async {
            sleep(Duration::from_millis(20)).await;
            panic!("on purpose");
        }));
        begin(change.as_mut()).await;
        drop(change);
        unfinished.settled("a").await;
    }
}
