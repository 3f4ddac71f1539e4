//! Waits of a Python thread that Ctrl-C can end.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

/// The longest time without a look at Python's signals. 50 ms are not noticed after Ctrl-C, and
/// cost 20 wake-ups in a second of waiting.
const SIGNAL_CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// Waits for the future without holding the interpreter, and runs Python's signal handlers
/// meanwhile.
///
/// # Errors
///
/// The exception of a signal handler, such as `KeyboardInterrupt`; the future is dropped then.
pub(crate) fn wait<T: Send>(py: Python<'_>, future: impl Future<Output = T> + Send) -> PyResult<T> {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(ThreadWaker(thread::current())));
    loop {
        let polled = py.detach(|| poll_for(SIGNAL_CHECK_INTERVAL, future.as_mut(), &waker));
        match polled {
            Some(output) => return Ok(output),
            None => py.check_signals()?,
        }
    }
}

/// Polls until the future is ready; `None` if it is not after `time`.
fn poll_for<T>(
    time: Duration,
    mut future: Pin<&mut (impl Future<Output = T> + ?Sized)>,
    waker: &Waker,
) -> Option<T> {
    let deadline = Instant::now() + time;
    loop {
        let mut context = Context::from_waker(waker);
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return Some(output);
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return None;
        }
        // A wake-up between the poll and here makes this return at once.
        thread::park_timeout(left);
    }
}

struct ThreadWaker(Thread);

impl Wake for ThreadWaker {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
