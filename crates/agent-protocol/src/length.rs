use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use prost::Message as _;

use crate::MESSAGE_MAX_BYTES;
use crate::v1::Exec;

/// The size of the message around a command, in bytes.
const AROUND_BYTES: usize = 16;

/// The error for a command that is longer than the agent accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the command, its arguments and its environment have {bytes} bytes, the limit is {limit_bytes}; \
     pass long values in a file"
)]
pub struct TooLong {
    /// The encoded length of the command, in bytes.
    pub bytes: usize,
    /// The largest accepted length, in bytes.
    pub limit_bytes: usize,
}

impl Diagnose for TooLong {
    fn diagnosis(&self) -> Diagnosis {
        Diagnosis::new(ErrorKind::InvalidArgument)
    }
}

/// Checks that a command is short enough for the agent, which would end the call of a longer one.
///
/// # Errors
/// If the command is too long.
pub fn check_length(exec: &Exec) -> Result<(), TooLong> {
    let bytes = exec.encoded_len();
    let limit_bytes = MESSAGE_MAX_BYTES - AROUND_BYTES;
    if bytes <= limit_bytes {
        Ok(())
    } else {
        Err(TooLong { bytes, limit_bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::v1::{ExecInput, exec_input};

    #[test]
    fn what_passes_fits_into_a_message_and_no_more_does() {
        let of = |length: usize| Exec {
            env: vec![vec![b'x'; length].into()],
            ..Exec::default()
        };
        let longest = (0..)
            .map(|less| of(MESSAGE_MAX_BYTES - less))
            .find(|exec| check_length(exec).is_ok())
            .expect("short ones pass");
        let input = Some(exec_input::Input::Start(longest));
        let length = ExecInput { input }.encoded_len();
        assert!(length <= MESSAGE_MAX_BYTES, "{length}");
        assert!(length > MESSAGE_MAX_BYTES - 2 * AROUND_BYTES, "{length}");
        let error = check_length(&of(2 << 20)).expect_err("too long");
        assert!(error.to_string().contains("1048560"), "{error}");
    }
}
