use std::collections::VecDeque;

use bytes::Bytes;
use oci_image::Descriptor;
use reqwest::{Response, StatusCode};
use tokio::sync::mpsc::Sender;

use super::blob_address::BlobAddress;
use super::body::Body;
use super::delivery::Delivery;
use super::error::RegistryError;
use super::ranges::{Lane, Quota, RangeFetch, end_of_answer, lane};
use super::requested_bytes::{RequestedBytes, Validator};
use super::retry::Failures;

/// A download of a blob, from a position on.
///
/// A large blob is requested in ranges. Once the server has answered with the first range, further
/// ones are fetched ahead. As soon as it answers with anything else, or a range cannot be fetched, no
/// more are requested ahead, those that are there are kept, and one stream brings the rest.
#[derive(Debug)]
pub(super) struct Download<'a> {
    address: &'a BlobAddress,
    quota: &'a Quota,
    delivery: Delivery<'a>,
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
        blob: (&'a Descriptor, &'a str),
        sent_bytes: u64,
        parts: Sender<Bytes>,
    ) -> Self {
        let limits = &address.endpoint.transport.limits;
        Self {
            address,
            quota,
            delivery: Delivery::new(blob, limits, sent_bytes, parts),
            in_ranges: false,
            lanes: VecDeque::new(),
            requested_bytes: sent_bytes,
            validator: None,
        }
    }

    /// Has the blob requested in ranges, if it is large enough.
    pub(super) fn in_ranges(mut self) -> Self {
        let limits = self.delivery.limits;
        let is_large = self.delivery.left_bytes() > limits.range_from_bytes;
        self.in_ranges = is_large && (1..=limits.range_memory_bytes).contains(&limits.range_bytes);
        self
    }

    /// Returns the number of bytes that the reader has got.
    pub(super) const fn sent_bytes(&self) -> u64 {
        self.delivery.sent_bytes()
    }

    /// Sends the blob to the reader.
    pub(super) async fn run(&mut self) -> Result<(), RegistryError> {
        loop {
            match self.next_lane() {
                Some(lane) => self.drain(lane).await?,
                None => self.fetch().await?,
            }
            if self.delivery.left_bytes() == 0 {
                return Ok(());
            }
        }
    }

    /// Returns the lane whose turn it is; `None` if the next bytes are in no lane.
    fn next_lane(&mut self) -> Option<Lane> {
        let is_next = self.lanes.front()?.range.start == self.sent_bytes();
        if is_next {
            self.lanes.pop_front()
        } else {
            None
        }
    }

    /// Sends the bytes of a lane, of which some may be missing at the end.
    async fn drain(&mut self, mut lane: Lane) -> Result<(), RegistryError> {
        while let Some(piece) = lane.next().await {
            self.delivery.send(piece).await?;
            self.fetch_ahead();
        }
        if self.sent_bytes() < lane.range.end {
            self.in_ranges = false;
        }
        Ok(())
    }

    /// Fetches the bytes up to the next lane, or all that are left. Goes on where it broke off.
    async fn fetch(&mut self) -> Result<(), RegistryError> {
        let (limits, endpoint) = (self.delivery.limits, &self.address.endpoint);
        let mut failures = Failures::default();
        for _ in 0..limits.breaks {
            let before = self.sent_bytes();
            let error = match self.go_on().await {
                Err(error) if error.is_transient() || (before > 0 && error.may_pass()) => error,
                outcome => return outcome,
            };
            let came_bytes = self.sent_bytes() - before;
            let Some(earlier) = failures.add(limits, &error, came_bytes) else {
                return Err(error);
            };
            // A server that fails may fail for ranges alone.
            if matches!(error, RegistryError::Status { .. }) && !error.is_throttling() {
                self.leave_ranges();
            }
            endpoint.pause(self.delivery.what, &error, earlier).await;
        }
        Err(self.delivery.short())
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
        let range_bytes = self.delivery.limits.range_bytes;
        let is_worth_it = self.in_ranges && self.delivery.left_bytes() > range_bytes;
        (is_worth_it && !self.address.endpoint.is_throttled())
            .then(|| self.sent_bytes().saturating_add(range_bytes))
    }

    /// Fetches the bytes up to `end`, and further ranges ahead meanwhile. A server that answers with
    /// something else is asked for all that is left.
    async fn fetch_range(&mut self, end: u64) -> Result<(), RegistryError> {
        let wanted = self.sent_bytes()..end;
        let bytes = RequestedBytes::Range(wanted.clone(), self.validator.clone());
        let response = match self.request(bytes).await {
            Err(error @ RegistryError::Status { .. }) if !error.is_transient() => {
                self.leave_ranges();
                return self.fetch_rest().await;
            }
            response => response?,
        };
        let (blob, validator) = (self.delivery.blob, self.validator.as_ref());
        let Some(end) = end_of_answer(&response, blob.size_bytes, &wanted, validator) else {
            self.leave_ranges();
            if response.status() == StatusCode::PARTIAL_CONTENT {
                drop(response);
                return self.fetch_rest().await;
            }
            return self.delivery.send_rest(response).await;
        };
        if self.validator.is_none() {
            self.validator = Validator::from_headers(response.headers());
        }
        self.requested_bytes = self.requested_bytes.max(wanted.end);
        self.fetch_ahead();
        self.send_range(response, end).await?;
        if self.sent_bytes() < wanted.end {
            return Err(self.delivery.short());
        }
        Ok(())
    }

    /// Fetches all that is left in one stream.
    async fn fetch_rest(&mut self) -> Result<(), RegistryError> {
        let bytes = RequestedBytes::starting_at(self.sent_bytes());
        let response = self.request(bytes).await?;
        self.delivery.send_rest(response).await
    }

    async fn request(&self, bytes: RequestedBytes) -> Result<Response, RegistryError> {
        let Delivery { blob, what, .. } = &self.delivery;
        self.address.request(blob, what, bytes).await
    }

    /// Gives ranges up, those that were fetched ahead, too.
    fn leave_ranges(&mut self) {
        self.in_ranges = false;
        self.lanes.clear();
    }

    /// Begins to fetch further ranges, while there are memory and connections for them.
    fn fetch_ahead(&mut self) {
        let (blob, what) = (self.delivery.blob, self.delivery.what);
        let limits = self.delivery.limits;
        while self.in_ranges
            && self.requested_bytes < blob.size_bytes
            && !self.address.endpoint.is_throttled()
        {
            let start = self.requested_bytes;
            let end = start.saturating_add(limits.range_bytes);
            let range = start..end.min(blob.size_bytes);
            let Some(memory) = self.quota.memory(range.end - start) else {
                return;
            };
            let Some(connection) = self.quota.spare_connection() else {
                return;
            };
            self.requested_bytes = range.end;
            let (writer, lane) = lane(range, memory);
            let fetch = RangeFetch {
                address: self.address.clone(),
                quota: self.quota.clone(),
                blob: *blob,
                what: what.to_owned(),
                validator: self.validator.clone(),
            };
            fetch.spawn(writer, connection);
            self.lanes.push_back(lane);
        }
    }

    /// Sends the bytes of a response up to `end`, or those that it has.
    async fn send_range(&mut self, response: Response, end: u64) -> Result<(), RegistryError> {
        let has_length = response.content_length().is_some();
        let mut body = Body::new(response, self.delivery.what, self.delivery.limits);
        // An answer of a known length is read to its end, so that its connection is used again.
        while has_length || self.sent_bytes() < end {
            let Some(part) = body.next().await? else {
                break;
            };
            self.delivery.send_up_to(end, part).await?;
            self.fetch_ahead();
        }
        Ok(())
    }
}
