//! The search of an answer for values.
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

/// Values that something is searched for that is there as a whole.
#[derive(Debug)]
pub(crate) struct Watched(Vec<Arc<HeldValue>>);

impl Watched {
    /// Returns these values as those that are searched for.
    pub(crate) fn new(values: Vec<Arc<HeldValue>>) -> Self {
        Self(values)
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
#[derive(Debug, Default)]
pub(crate) struct Scan {
    values: Vec<Arc<HeldValue>>,
    /// The number of bytes at the end of the body so far that each needle begins with, in the order of `values`.
    states: Vec<Vec<u16>>,
    held: Zeroizing<Vec<u8>>,
    found: Option<Reflected>,
}

impl Scan {
    /// Sets the values that the body is searched for from here on. What was found of those so far is kept.
    pub(crate) fn watch(&mut self, values: Vec<Arc<HeldValue>>) {
        let mut states = Vec::with_capacity(values.len());
        for value in &values {
            let mut known = self.values.iter();
            let place = known.position(|known| Arc::ptr_eq(known, value));
            let state = place.and_then(|place| self.states.get_mut(place));
            states.push(match state {
                Some(state) => std::mem::take(state),
                None => vec![0; value.needles.len()],
            });
        }
        (self.values, self.states) = (values, states);
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
                let Some(next) = needle.advance(usize::from(*state), bytes) else {
                    let secret = value.name.clone();
                    self.held.clear();
                    return Err(self.found.insert(Reflected { secret }).clone());
                };
                // A needle has fewer bytes than that.
                *state = u16::try_from(next).unwrap_or(u16::MAX);
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
