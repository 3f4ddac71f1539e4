//! The search of an answer for the values that its request, or an earlier one of the connection, held.
//!
//! Nothing here waits, reads or writes: an answer goes through [`Scan::feed`] in pieces, and what comes out may be
//! passed on. Only bytes that could be the begin of a searched text are held back, once they are more than a few.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use msb_secrets::SecretName;
use zeroize::Zeroizing;

use crate::needle::Needle;
use crate::values::HeldValue;

/// The number of values that a connection's answers are searched for; the oldest are forgotten.
const WATCHED_MAX: usize = 64;

/// The values that the answers of one connection are searched for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Watched(Vec<Arc<HeldValue>>);

impl Watched {
    /// Adds values that were placed in a request.
    pub(crate) fn add(&mut self, placed: &[Arc<HeldValue>]) {
        for value in placed {
            if !self.0.iter().any(|known| Arc::ptr_eq(known, value)) {
                self.0.push(Arc::clone(value));
            }
        }
        let old = self.0.len().saturating_sub(WATCHED_MAX);
        self.0.drain(..old);
    }

    /// Returns true if no value is searched for.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the name of the secret whose value was placed last.
    pub(crate) fn last(&self) -> Option<&SecretName> {
        self.0.last().map(|value| &value.name)
    }

    /// Returns the search of one body.
    pub(crate) fn scan(&self) -> Scan {
        Scan::new(&self.0)
    }

    /// Searches the names and the values of headers, or of trailers.
    pub(crate) fn headers(&self, headers: &HeaderMap) -> Result<(), Reflected> {
        for (name, value) in headers {
            self.name(name.as_str())?;
            self.text(value.as_bytes())?;
        }
        Ok(())
    }

    /// Searches a text that is whole, such as the value of a header or a reason phrase.
    pub(crate) fn text(&self, text: &[u8]) -> Result<(), Reflected> {
        self.find(|needle| needle.is_in(text))
    }

    /// Searches the name of a header, which HTTP may have changed to lower case.
    fn name(&self, name: &str) -> Result<(), Reflected> {
        self.find(|needle| needle.is_in_any_case(name.as_bytes()))
    }

    fn find(&self, is_in: impl Fn(&Needle) -> bool) -> Result<(), Reflected> {
        let mut values = self.0.iter();
        match values.find(|value| value.needles.iter().any(&is_in)) {
            Some(value) => Err(Reflected {
                secret: value.name.clone(),
            }),
            None => Ok(()),
        }
    }
}

/// An answer holds the value of a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reflected {
    /// The name of the secret.
    pub(crate) secret: SecretName,
}

/// The search of one body. After an error it passes nothing on.
#[derive(Debug)]
pub(crate) struct Scan {
    values: Vec<Arc<HeldValue>>,
    /// The number of bytes at the end of the body so far that each needle begins with, in the order of `values`.
    states: Vec<Vec<usize>>,
    held: Zeroizing<Vec<u8>>,
    found: Option<Reflected>,
}

impl Scan {
    fn new(values: &[Arc<HeldValue>]) -> Self {
        Self {
            values: values.to_vec(),
            states: values
                .iter()
                .map(|value| vec![0; value.needles.len()])
                .collect(),
            held: Zeroizing::default(),
            found: None,
        }
    }

    /// Takes the next bytes of a body, and returns those that may be passed on.
    ///
    /// # Errors
    ///
    /// Fails if the body holds a value, whose last byte was not passed on then, and from then on.
    pub(crate) fn feed(&mut self, bytes: &Bytes) -> Result<Bytes, Reflected> {
        if let Some(found) = &self.found {
            return Err(found.clone());
        }
        let mut hold = 0;
        for (value, states) in self.values.iter().zip(&mut self.states) {
            for (needle, state) in value.needles.iter().zip(states) {
                let Some(next) = needle.advance(*state, bytes) else {
                    let secret = value.name.clone();
                    self.held.clear();
                    return Err(self.found.insert(Reflected { secret }).clone());
                };
                *state = next;
                hold = hold.max(needle.held(next));
            }
        }
        Ok(self.pass(bytes, hold))
    }

    /// Returns the bytes that were held back, at the end of the body.
    pub(crate) fn finish(&mut self) -> Bytes {
        self.states.iter_mut().for_each(|states| states.fill(0));
        Bytes::from(std::mem::take(&mut *self.held))
    }

    /// Returns all bytes but the last `hold` of those held back and these.
    fn pass(&mut self, bytes: &Bytes, hold: usize) -> Bytes {
        if self.held.is_empty() && hold == 0 {
            return bytes.clone();
        }
        let old = self.held.len();
        let passed = (old + bytes.len()).saturating_sub(hold);
        let (of_old, of_new) = (passed.min(old), passed.saturating_sub(old));
        let mut out = BytesMut::with_capacity(passed);
        out.extend(self.held.drain(..of_old));
        out.extend_from_slice(&bytes.slice(..of_new));
        self.held.extend_from_slice(&bytes.slice(of_new..));
        out.freeze()
    }
}

#[cfg(test)]
mod tests;
