/// The longest message, in bytes: the limit of OpenSSH's agent.
pub const FRAME_MAX_BYTES: usize = 256 << 10;
/// The length of a message's length.
const LENGTH_BYTES: usize = 4;

/// Messages out of a stream of bytes: each has its length before it, in 4 bytes.
#[derive(Debug, Default)]
pub struct Frames(Vec<u8>);

/// A message is longer than [`FRAME_MAX_BYTES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the message has {length_bytes} bytes, the limit is {FRAME_MAX_BYTES}")]
pub struct TooLong {
    /// The length that the message claims.
    pub length_bytes: u32,
}

impl Frames {
    /// Adds bytes of the stream.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// Returns the next message, without its length; `None` until it is complete.
    ///
    /// # Errors
    /// If it is too long, as soon as its length is known. The stream is of no use then.
    pub fn take(&mut self) -> Result<Option<Vec<u8>>, TooLong> {
        let Some((length, rest)) = self.0.split_first_chunk::<LENGTH_BYTES>() else {
            return Ok(None);
        };
        let length_bytes = u32::from_be_bytes(*length);
        let length = usize::try_from(length_bytes).unwrap_or(usize::MAX);
        if length > FRAME_MAX_BYTES {
            return Err(TooLong { length_bytes });
        }
        let Some(message) = rest.get(..length).map(<[u8]>::to_vec) else {
            return Ok(None);
        };
        self.0.drain(..LENGTH_BYTES + length);
        Ok(Some(message))
    }
}

/// Returns a message with its length before it.
pub(super) fn framed(message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
    [&length.to_be_bytes()[..], message].concat()
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn messages_come_out_as_they_went_in(
            messages in vec(vec(any::<u8>(), 0..300), 0..8),
            size in 1_usize..50,
        ) {
            let stream: Vec<u8> = messages.iter().flat_map(|message| framed(message)).collect();
            let mut frames = Frames::default();
            let mut found = Vec::new();
            for chunk in stream.chunks(size) {
                frames.add(chunk);
                while let Some(message) = frames.take().expect("short") {
                    found.push(message);
                }
            }
            prop_assert_eq!(found, messages);
            prop_assert!(frames.0.is_empty());
        }
    }

    #[test]
    fn a_message_that_is_too_long_is_refused_by_its_length() {
        let mut frames = Frames::default();
        frames.add(&[0, 4, 0, 1]);
        let length_bytes = (256 << 10) + 1;
        assert_eq!(frames.take(), Err(TooLong { length_bytes }));
    }
}
