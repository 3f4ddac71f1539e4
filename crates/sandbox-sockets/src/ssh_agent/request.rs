use super::reader::Reader;

/// `SSH_AGENTC_REQUEST_IDENTITIES` and `SSH_AGENTC_SIGN_REQUEST`.
const REQUEST_IDENTITIES: u8 = 11;
const SIGN_REQUEST: u8 = 13;
/// The names of further requests.
const NAMES: [(u8, &str); 11] = [
    (1, "list keys of version 1"),
    (17, "add a key"),
    (18, "remove a key"),
    (19, "remove all keys"),
    (20, "add a smartcard"),
    (21, "remove a smartcard"),
    (22, "lock"),
    (23, "unlock"),
    (25, "add a key with constraints"),
    (26, "add a smartcard with constraints"),
    (27, "use an extension"),
];

/// A request to an SSH agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request<'a> {
    /// List the keys.
    List,
    /// Sign data with a key.
    Sign {
        /// The public key, as the agent lists it.
        key: &'a [u8],
    },
    /// Anything else, which is refused, by its number.
    Other(Option<u8>),
}

impl<'a> Request<'a> {
    /// Parses a message. A request that is passed on has the fields of the protocol and nothing besides.
    #[must_use]
    pub fn parse(message: &'a [u8]) -> Self {
        let kind = message.first().copied();
        allowed(message).unwrap_or(Self::Other(kind))
    }

    /// Returns the name of a request that is refused.
    #[must_use]
    pub fn name(&self) -> String {
        let kind = match self {
            Self::List => return "list keys".to_owned(),
            Self::Sign { .. } => return "sign".to_owned(),
            Self::Other(None) => return "send an empty message".to_owned(),
            Self::Other(Some(REQUEST_IDENTITIES | SIGN_REQUEST)) => {
                return "send a malformed message".to_owned();
            }
            Self::Other(Some(kind)) => *kind,
        };
        let known = NAMES.iter().find(|(number, _)| *number == kind);
        known.map_or_else(
            || format!("send request {kind}"),
            |(_, name)| (*name).to_owned(),
        )
    }
}

fn allowed(message: &[u8]) -> Option<Request<'_>> {
    let mut reader = Reader(message);
    match reader.byte()? {
        REQUEST_IDENTITIES => reader.end().map(|()| Request::List),
        SIGN_REQUEST => {
            let key = reader.string()?;
            let _data = reader.string()?;
            let _flags = reader.number()?;
            reader.end().map(|()| Request::Sign { key })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::super::frame::framed;
    use super::*;

    fn sign(key: &[u8], data: &[u8]) -> Vec<u8> {
        [
            &[SIGN_REQUEST][..],
            &framed(key),
            &framed(data),
            &[0, 0, 0, 2],
        ]
        .concat()
    }

    #[test]
    fn only_lists_and_signatures_pass() {
        assert_eq!(Request::parse(&[11]), Request::List);
        let message = sign(b"key", b"data");
        assert_eq!(Request::parse(&message), Request::Sign { key: b"key" });
        assert_eq!(Request::parse(&[]), Request::Other(None));
        assert_eq!(Request::parse(&[19]).name(), "remove all keys");
        assert_eq!(Request::parse(&[200]).name(), "send request 200");
        assert_eq!(Request::parse(&[11, 0]).name(), "send a malformed message");
    }

    proptest! {
        #[test]
        fn what_passes_is_a_list_or_a_whole_signature(message in vec(any::<u8>(), 0..200)) {
            match Request::parse(&message) {
                Request::List => prop_assert_eq!(&message[..], &[11][..]),
                Request::Sign { key } => {
                    let data = message.len() - 1 - 4 - key.len() - 4 - 4;
                    prop_assert_eq!(message[0], SIGN_REQUEST);
                    prop_assert_eq!(&message[5..5 + key.len()], key);
                    prop_assert!(data < 200);
                }
                Request::Other(kind) => prop_assert_eq!(kind, message.first().copied()),
            }
        }

        #[test]
        fn a_signature_that_is_cut_or_longer_is_refused(
            key in vec(any::<u8>(), 0..50),
            data in vec(any::<u8>(), 0..50),
            cut in 0_usize..100,
            more in vec(any::<u8>(), 1..5),
        ) {
            let whole = sign(&key, &data);
            prop_assert_eq!(Request::parse(&whole), Request::Sign { key: &key });
            let cut = cut.min(whole.len() - 1);
            let is_refused = |message: &[u8]| matches!(Request::parse(message), Request::Other(_));
            prop_assert!(is_refused(&whole[..cut]));
            prop_assert!(is_refused(&[whole, more].concat()));
        }

        #[test]
        fn every_other_request_is_refused(kind in any::<u8>(), rest in vec(any::<u8>(), 0..50)) {
            prop_assume!(kind != REQUEST_IDENTITIES && kind != SIGN_REQUEST);
            let message = [&[kind][..], &rest].concat();
            prop_assert_eq!(Request::parse(&message), Request::Other(Some(kind)));
        }
    }
}
