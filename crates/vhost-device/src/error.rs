/// The connection with a VMM failed.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action}: {reason}")]
pub struct ServeError {
    /// The action that failed, as a verb phrase.
    pub action: &'static str,
    /// The message of vhost-user's own error, which cannot be sent to another thread.
    pub reason: String,
}

impl ServeError {
    pub(crate) fn during(action: &'static str) -> impl Fn(vhost_user_backend::Error) -> Self {
        move |error| Self {
            action,
            reason: error.to_string(),
        }
    }
}
