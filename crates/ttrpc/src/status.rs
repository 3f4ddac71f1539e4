use thiserror::Error;

use crate::Code;

/// The most bytes of a status's message that are sent or kept.
const MESSAGE_MAX_BYTES: usize = 16 << 10;

/// The error that a service answers a call with.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message} ({code})")]
pub struct Status {
    code: Code,
    message: String,
}

impl Status {
    /// Returns an error of this kind. A message of more than 16 KiB is shortened.
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        let mut message = message.into();
        message.truncate(message.floor_char_boundary(MESSAGE_MAX_BYTES));
        Self { code, message }
    }

    /// Returns the kind of the error.
    #[must_use]
    pub fn code(&self) -> Code {
        self.code
    }

    /// Returns the text of the error.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_message_is_shortened_between_characters() {
        let status = Status::new(Code::Internal, "é".repeat(MESSAGE_MAX_BYTES));
        assert_eq!(status.message().len(), MESSAGE_MAX_BYTES);
        let status = Status::new(
            Code::Internal,
            format!("a{}", "é".repeat(MESSAGE_MAX_BYTES)),
        );
        assert_eq!(status.message().len(), MESSAGE_MAX_BYTES - 1);
    }
}
