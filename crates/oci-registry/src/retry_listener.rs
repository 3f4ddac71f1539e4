use std::fmt::Debug;
use std::time::Duration;

/// A request that failed temporarily and will be repeated, or sent to the next source.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Retry<'a> {
    /// Address or object that is requested.
    pub what: &'a str,
    /// Error of the last attempt.
    pub reason: &'a str,
    /// Time until the next attempt.
    pub after: Duration,
}

/// A receiver of the notices that a request is repeated, and of warnings.
pub trait RetryListener: Debug + Send + Sync {
    /// Receives a notice.
    fn retrying(&self, retry: &Retry<'_>);

    /// Receives a fact that the user may want to change: a clause without a full stop. The same one may
    /// come several times.
    fn warning(&self, message: &str);
}

/// Ignores all notices.
impl RetryListener for () {
    fn retrying(&self, _: &Retry<'_>) {}

    fn warning(&self, _: &str) {}
}
