use std::fmt;
use std::io::{self, Read};

use oci_image::{Descriptor, Hasher};

use super::error::ConvertError;

/// A reader of a blob that verifies the blob's length and digest at its end.
pub(crate) struct VerifiedReader<'a> {
    source: &'a mut dyn Read,
    expected: Descriptor,
    hasher: Hasher,
    count_bytes: u64,
    failure: Option<io::Error>,
    progress: &'a dyn Fn(u64),
}

impl fmt::Debug for VerifiedReader<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "VerifiedReader({} at {})",
            self.expected.digest, self.count_bytes
        )
    }
}

impl<'a> VerifiedReader<'a> {
    pub(crate) fn new(
        source: &'a mut dyn Read,
        expected: Descriptor,
        progress: &'a dyn Fn(u64),
    ) -> Self {
        let hasher = Hasher::default();
        Self {
            source,
            expected,
            hasher,
            count_bytes: 0,
            failure: None,
            progress,
        }
    }

    /// Reads the rest of the blob, then verifies it.
    ///
    /// # Errors
    /// The error of the source if there was one, otherwise a wrong length or a wrong digest.
    pub(crate) fn finish(mut self) -> Result<(), ConvertError> {
        let mut rest = [0; 8192];
        while self.failure.is_none() && matches!(self.read(&mut rest), Ok(1..)) {}
        if let Some(source) = self.failure {
            return Err(ConvertError::Read { source });
        }
        let Descriptor {
            digest: expected,
            size_bytes: expected_bytes,
        } = self.expected;
        if self.count_bytes != expected_bytes {
            let actual_bytes = self.count_bytes;
            return Err(ConvertError::BlobSize {
                expected_bytes,
                actual_bytes,
            });
        }
        let actual = self.hasher.finish();
        if actual != expected {
            return Err(ConvertError::BlobDigest { expected, actual });
        }
        Ok(())
    }
}

impl Read for VerifiedReader<'_> {
    /// Ends early if the blob is longer than expected; [`VerifiedReader::finish`] then reports it.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.failure.is_some() || self.count_bytes > self.expected.size_bytes {
            return Ok(0);
        }
        match self.source.read(buffer) {
            Ok(count) => {
                let read_bytes = u64::try_from(count).unwrap_or(u64::MAX);
                self.count_bytes = self.count_bytes.saturating_add(read_bytes);
                self.hasher.update(&buffer[..count]);
                (self.progress)(read_bytes);
                Ok(count)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Err(error) => {
                let shown = io::Error::new(error.kind(), "the blob cannot be read");
                self.failure = Some(error);
                Err(shown)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oci_image::Digest;

    fn outcome(bytes: &[u8], size_bytes: u64, digest: Digest) -> Result<(), ConvertError> {
        let mut source = bytes;
        let expected = Descriptor { digest, size_bytes };
        let mut reader = VerifiedReader::new(&mut source, expected, &|_| {});
        reader.read_exact(&mut [0]).expect("a first byte");
        reader.finish()
    }

    #[test]
    fn length_and_digest_are_checked_to_the_end() {
        let digest = Digest::compute(b"hello");
        outcome(b"hello", 5, digest).expect("right");
        assert!(matches!(
            outcome(b"hello", 4, digest),
            Err(ConvertError::BlobSize { .. })
        ));
        assert!(matches!(
            outcome(b"hello", 1 << 62, digest),
            Err(ConvertError::BlobSize { .. })
        ));
        assert!(matches!(
            outcome(b"hellO", 5, digest),
            Err(ConvertError::BlobDigest { .. })
        ));
    }
}
