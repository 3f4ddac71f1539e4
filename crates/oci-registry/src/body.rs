use std::time::{Duration, Instant};

use bytes::Bytes;
use reqwest::Response;

use super::error::RegistryError;
use super::limits::RegistryLimits;

/// The bytes of a response, with limits on silence and on a low rate. Only the time spent waiting
/// for the network counts, not the time that the consumer of the bytes takes.
#[derive(Debug)]
pub(super) struct Body<'a> {
    response: Response,
    what: &'a str,
    limits: &'a RegistryLimits,
    waited: Duration,
    came_bytes: u64,
}

impl<'a> Body<'a> {
    pub(super) fn new(response: Response, what: &'a str, limits: &'a RegistryLimits) -> Self {
        Self {
            response,
            what,
            limits,
            waited: Duration::ZERO,
            came_bytes: 0,
        }
    }

    /// Returns the next bytes; `None` at the end.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, RegistryError> {
        let begun = Instant::now();
        let part = tokio::time::timeout(self.limits.idle, self.response.chunk())
            .await
            .map_err(|_| RegistryError::Stalled {
                what: self.what.to_owned(),
                after: self.limits.idle,
            })?
            .map_err(|source| RegistryError::cut(self.what, source))?;
        self.waited += begun.elapsed();
        let part_bytes = part.as_ref().map_or(0, Bytes::len);
        self.came_bytes += u64::try_from(part_bytes).unwrap_or(u64::MAX);
        if part.is_some() && self.waited >= self.limits.pace_window {
            if self.came_bytes < self.limits.pace_bytes {
                return Err(RegistryError::Slow {
                    what: self.what.to_owned(),
                    bytes: self.came_bytes,
                    within: self.waited,
                });
            }
            (self.waited, self.came_bytes) = (Duration::ZERO, 0);
        }
        Ok(part)
    }

    /// Returns the whole body, which must not be longer than `limit_bytes`.
    pub(super) async fn all(mut self, limit_bytes: u64) -> Result<Vec<u8>, RegistryError> {
        let mut bytes = Vec::new();
        while let Some(part) = self.next().await? {
            if u64::try_from(bytes.len() + part.len()).unwrap_or(u64::MAX) > limit_bytes {
                return Err(RegistryError::Long {
                    what: self.what.to_owned(),
                    limit_bytes,
                });
            }
            bytes.extend_from_slice(&part);
        }
        Ok(bytes)
    }
}
