use std::collections::VecDeque;

use bytes::{Buf as _, Bytes};
use oci_image::Descriptor;
use reqwest::{Response, StatusCode};
use tokio::sync::mpsc::Sender;

use super::blob_address::BlobAddress;
use super::body::Body;
use super::error::RegistryError;
use super::limits::RegistryLimits;
use super::ranges::{Lane, Quota, RangeFetch, end_of_answer, lane};
use super::requested_bytes::{RequestedBytes, Validator};
use super::retry::Failures;
use super::transport::header;

/// A download of a blob, from a position on. The bytes reach the reader in order and once each.
///
/// A large blob is requested in ranges. The first range is not different from one stream, until the
/// server has answered with this range: then further ones are fetched ahead. As soon as the server
/// answers a request for a range with anything else, or as a range cannot be fetched, no more are
/// requested ahead, those that are there are kept, and one stream brings the rest.
#[derive(Debug)]
pub(super) struct Download<'a> {
    address: &'a BlobAddress,
    quota: &'a Quota,
    blob: &'a Descriptor,
    what: &'a str,
    parts: Sender<Bytes>,
    sent_bytes: u64,
    /// True while ranges are requested.
    in_ranges: bool,
    /// Ranges that are fetched ahead, in order.
    lanes: VecDeque<Lane>,
    /// End of the last range that was requested.
    requested_bytes: u64,
    validator: Option<Validator>,
}

impl<'a> Download<'a> {
    /// Returns the download of a blob, called `what` in messages, in one stream.
    pub(super) fn new(
        (address, quota): (&'a BlobAddress, &'a Quota),
        (blob, what): (&'a Descriptor, &'a str),
        sent_bytes: u64,
        parts: Sender<Bytes>,
    ) -> Self {
        Self {
            address,
            quota,
            blob,
            what,
            parts,
            sent_bytes,
            in_ranges: false,
            lanes: VecDeque::new(),
            requested_bytes: sent_bytes,
            validator: None,
        }
    }

    /// Has the blob requested in ranges, if it is large enough.
    pub(super) fn in_ranges(mut self) -> Self {
        let limits = self.limits();
        let is_large = self.left_bytes() > limits.range_from_bytes;
        self.in_ranges = is_large && (1..=limits.range_memory_bytes).contains(&limits.range_bytes);
        self
    }

    /// Returns the number of bytes that the reader has got.
    pub(super) const fn sent_bytes(&self) -> u64 {
        self.sent_bytes
    }

    /// Sends the blob to the reader.
    pub(super) async fn run(&mut self) -> Result<(), RegistryError> {
        loop {
            match self.next_lane() {
                Some(lane) => self.drain(lane).await?,
                None => self.fetch().await?,
            }
            if self.left_bytes() == 0 {
                return Ok(());
            }
        }
    }

    fn limits(&self) -> &'a RegistryLimits {
        &self.address.endpoint.transport.limits
    }

    fn left_bytes(&self) -> u64 {
        self.blob.size_bytes.saturating_sub(self.sent_bytes)
    }

    /// Returns the lane whose turn it is; `None` if the next bytes are in no lane.
    fn next_lane(&mut self) -> Option<Lane> {
        let is_next = self.lanes.front()?.range.start == self.sent_bytes;
        if is_next {
            self.lanes.pop_front()
        } else {
            None
        }
    }

    /// Sends the bytes of a lane, of which some may be missing at the end.
    async fn drain(&mut self, mut lane: Lane) -> Result<(), RegistryError> {
        while let Some(piece) = lane.next().await {
            self.send(piece).await?;
            self.fetch_ahead();
        }
        if self.sent_bytes < lane.range.end {
            self.in_ranges = false;
        }
        Ok(())
    }

    /// Fetches the bytes up to the next lane, or all that are left. Goes on where it broke off.
    async fn fetch(&mut self) -> Result<(), RegistryError> {
        let (limits, endpoint) = (self.limits(), &self.address.endpoint);
        let mut failures = Failures::default();
        for _ in 0..limits.breaks {
            let before = self.sent_bytes;
            let error = match self.go_on().await {
                Err(error) if error.is_transient() || (before > 0 && error.may_pass()) => error,
                outcome => return outcome,
            };
            let came_bytes = self.sent_bytes - before;
            let Some(earlier) = failures.add(limits, &error, came_bytes) else {
                return Err(error);
            };
            // A server that fails may fail for ranges alone.
            if matches!(error, RegistryError::Status { .. }) && !error.is_throttling() {
                self.leave_ranges();
            }
            endpoint.pause(self.what, &error, earlier).await;
        }
        Err(self.short())
    }

    async fn go_on(&mut self) -> Result<(), RegistryError> {
        let _connection = self.quota.connection().await;
        match self.end_of_range() {
            Some(end) => self.fetch_range(end).await,
            None => self.fetch_rest().await,
        }
    }

    /// Returns the end of the range to request next; `None` to request all that is left.
    fn end_of_range(&self) -> Option<u64> {
        if let Some(lane) = self.lanes.front() {
            return Some(lane.range.start);
        }
        let range_bytes = self.limits().range_bytes;
        let is_worth_it = self.in_ranges && self.left_bytes() > range_bytes;
        (is_worth_it && !self.address.endpoint.is_throttled())
            .then(|| self.sent_bytes.saturating_add(range_bytes))
    }

    /// Fetches the bytes up to `end`, and further ranges ahead meanwhile. A server that answers with
    /// something else is asked for all that is left.
    async fn fetch_range(&mut self, end: u64) -> Result<(), RegistryError> {
        let wanted = self.sent_bytes..end;
        let bytes = RequestedBytes::Range(wanted.clone(), self.validator.clone());
        let response = match self.request(bytes).await {
            Err(error @ RegistryError::Status { .. }) if !error.is_transient() => {
                self.leave_ranges();
                return self.fetch_rest().await;
            }
            response => response?,
        };
        let validator = self.validator.as_ref();
        let Some(end) = end_of_answer(&response, self.blob.size_bytes, &wanted, validator) else {
            self.leave_ranges();
            if response.status() == StatusCode::PARTIAL_CONTENT {
                drop(response);
                return self.fetch_rest().await;
            }
            return self.read_rest(response).await;
        };
        if self.validator.is_none() {
            self.validator = Validator::from_headers(response.headers());
        }
        self.requested_bytes = self.requested_bytes.max(wanted.end);
        self.fetch_ahead();
        self.read_range(response, end).await?;
        if self.sent_bytes < wanted.end {
            return Err(self.short());
        }
        Ok(())
    }

    /// Fetches all that is left in one stream.
    async fn fetch_rest(&mut self) -> Result<(), RegistryError> {
        let bytes = RequestedBytes::starting_at(self.sent_bytes);
        let response = self.request(bytes).await?;
        self.read_rest(response).await
    }

    async fn request(&self, bytes: RequestedBytes) -> Result<Response, RegistryError> {
        self.address.request(self.blob, self.what, bytes).await
    }

    /// Gives ranges up, those that were fetched ahead, too.
    fn leave_ranges(&mut self) {
        self.in_ranges = false;
        self.lanes.clear();
    }

    /// Begins to fetch further ranges, while there are memory and connections for them.
    fn fetch_ahead(&mut self) {
        let (limits, size_bytes) = (self.limits(), self.blob.size_bytes);
        while self.in_ranges
            && self.requested_bytes < size_bytes
            && !self.address.endpoint.is_throttled()
        {
            let start = self.requested_bytes;
            let end = start.saturating_add(limits.range_bytes).min(size_bytes);
            let Some(memory) = self.quota.memory(end - start) else {
                return;
            };
            let Some(connection) = self.quota.spare_connection() else {
                return;
            };
            let (writer, lane) = lane(start..end, memory);
            let fetch = RangeFetch {
                address: self.address.clone(),
                quota: self.quota.clone(),
                blob: *self.blob,
                what: self.what.to_owned(),
                validator: self.validator.clone(),
            };
            fetch.spawn(writer, connection);
            self.lanes.push_back(lane);
            self.requested_bytes = end;
        }
    }

    /// Sends the bytes of a response up to `end`, or those that it has.
    async fn read_range(&mut self, response: Response, end: u64) -> Result<(), RegistryError> {
        let has_length = response.content_length().is_some();
        let mut body = Body::new(response, self.what, self.limits());
        // An answer of a known length is read to its end, so that its connection is used again.
        while has_length || self.sent_bytes < end {
            let Some(mut part) = body.next().await? else {
                break;
            };
            part.truncate(clamped(end - self.sent_bytes));
            self.send(part).await?;
            self.fetch_ahead();
        }
        Ok(())
    }

    /// Sends the rest of the blob from a response, which may begin before it.
    async fn read_rest(&mut self, response: Response) -> Result<(), RegistryError> {
        let mut skip_bytes = self.start_of(&response)?;
        let mut body = Body::new(response, self.what, self.limits());
        while let Some(mut part) = body.next().await? {
            let skipped = clamped(skip_bytes).min(part.len());
            part.advance(skipped);
            skip_bytes -= length(skipped);
            self.send(part).await?;
        }
        if self.left_bytes() > 0 {
            return Err(self.short());
        }
        Ok(())
    }

    /// Returns the number of bytes to skip at the start of a response, so that it continues with the
    /// next byte. A registry may ignore the range of a request and send the whole blob.
    fn start_of(&self, response: &Response) -> Result<u64, RegistryError> {
        if response.status() == StatusCode::PARTIAL_CONTENT {
            let start = header(response.headers(), "content-range").and_then(range_start);
            return start
                .and_then(|start| self.sent_bytes.checked_sub(start))
                .ok_or_else(|| self.short());
        }
        let expected_bytes = self.blob.size_bytes;
        match response.content_length() {
            Some(actual_bytes) if actual_bytes != expected_bytes => Err(RegistryError::Size {
                what: self.what.to_owned(),
                expected_bytes,
                actual_bytes,
            }),
            _ => Ok(self.sent_bytes),
        }
    }

    async fn send(&mut self, part: Bytes) -> Result<(), RegistryError> {
        if part.is_empty() {
            return Ok(());
        }
        self.sent_bytes += length(part.len());
        if self.sent_bytes > self.blob.size_bytes {
            return Err(RegistryError::Long {
                what: self.what.to_owned(),
                limit_bytes: self.blob.size_bytes,
            });
        }
        let sent = self.parts.send(part).await;
        sent.map_err(|_| RegistryError::Abandoned)
    }

    fn short(&self) -> RegistryError {
        RegistryError::Short {
            what: self.what.to_owned(),
            expected_bytes: self.blob.size_bytes,
            actual_bytes: self.sent_bytes,
        }
    }
}

/// Returns the first number of a range such as `bytes 5-9/10`; `None` if it cannot be parsed.
fn range_start(text: &str) -> Option<u64> {
    text.trim()
        .strip_prefix("bytes ")?
        .split('-')
        .next()?
        .trim()
        .parse()
        .ok()
}

fn length(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

fn clamped(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}
