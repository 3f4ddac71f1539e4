use super::reader::Reader;
use super::{FAILURE, Request};

/// `SSH_AGENT_IDENTITIES_ANSWER` and `SSH_AGENT_SIGN_RESPONSE`.
const IDENTITIES_ANSWER: u8 = 12;
const SIGN_RESPONSE: u8 = 14;

/// An answer of an SSH agent that is passed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer<'a> {
    /// The request was not carried out.
    Failure,
    /// The public keys and their comments.
    Keys(Vec<(&'a [u8], &'a [u8])>),
    /// A signature of the requested key.
    Signature,
}

/// The agent's answer does not fit the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the SSH agent's answer does not fit the request")]
pub struct BadAnswer;

impl<'a> Answer<'a> {
    /// Parses the answer to a request.
    ///
    /// # Errors
    /// If it is another answer than the request has, or malformed.
    pub fn parse(request: &Request<'_>, message: &'a [u8]) -> Result<Self, BadAnswer> {
        let mut reader = Reader(message);
        let answer = match (request, reader.byte()) {
            (Request::List | Request::Sign { .. }, Some(FAILURE)) => Some(Self::Failure),
            (Request::List, Some(IDENTITIES_ANSWER)) => keys(&mut reader).map(Self::Keys),
            (Request::Sign { .. }, Some(SIGN_RESPONSE)) => reader.string().map(|_| Self::Signature),
            _ => None,
        };
        let answer = answer.ok_or(BadAnswer)?;
        reader.end().map(|()| answer).ok_or(BadAnswer)
    }
}

/// Reads the keys. Each has at least 8 bytes, so their number is bounded by the length of the message.
fn keys<'a>(reader: &mut Reader<'a>) -> Option<Vec<(&'a [u8], &'a [u8])>> {
    let count = reader.number()?;
    let mut keys = Vec::new();
    for _ in 0..count {
        keys.push((reader.string()?, reader.string()?));
    }
    Some(keys)
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::super::frame::framed;
    use super::*;

    const SIGN: Request<'_> = Request::Sign { key: b"key" };

    #[test]
    fn an_answer_fits_its_request() {
        let keys = [
            &[IDENTITIES_ANSWER, 0, 0, 0, 1][..],
            &framed(b"key"),
            &framed(b"me"),
        ]
        .concat();
        let parsed = Answer::parse(&Request::List, &keys);
        assert_eq!(parsed, Ok(Answer::Keys(vec![(&b"key"[..], &b"me"[..])])));
        let signature = [&[SIGN_RESPONSE][..], &framed(b"signature")].concat();
        assert_eq!(Answer::parse(&SIGN, &signature), Ok(Answer::Signature));
        assert_eq!(Answer::parse(&SIGN, &[FAILURE]), Ok(Answer::Failure));
        for (request, message) in [
            (SIGN, keys.clone()),
            (Request::List, signature.clone()),
            (Request::List, vec![6]),
            (Request::List, vec![]),
            (Request::Other(Some(19)), vec![FAILURE]),
            (Request::List, vec![IDENTITIES_ANSWER, 255, 255, 255, 255]),
        ] {
            assert_eq!(Answer::parse(&request, &message), Err(BadAnswer));
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_answer_or_none(message in vec(any::<u8>(), 0..200)) {
            for request in [Request::List, SIGN] {
                if let Ok(Answer::Keys(keys)) = Answer::parse(&request, &message) {
                    let bytes = keys.iter().map(|(key, comment)| 8 + key.len() + comment.len());
                    prop_assert_eq!(5 + bytes.sum::<usize>(), message.len());
                }
            }
        }
    }
}
