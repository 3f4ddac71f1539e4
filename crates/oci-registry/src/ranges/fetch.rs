use oci_image::Descriptor;

use super::answer::end_of_answer;
use super::lane::LaneWriter;
use super::quota::{Connection, Quota};
use crate::blob_address::BlobAddress;
use crate::body::Body;
use crate::error::RegistryError;
use crate::requested_bytes::{RequestedBytes, Validator};
use crate::retry::Failures;

/// The fetch of a range ahead of its turn. It goes on where it broke off, and makes no notices: a
/// range that fails is fetched again, and reported, when its turn comes.
#[derive(Debug)]
pub(crate) struct RangeFetch {
    pub(crate) address: BlobAddress,
    pub(crate) quota: Quota,
    pub(crate) blob: Descriptor,
    /// Description of the blob, for messages.
    pub(crate) what: String,
    pub(crate) validator: Option<Validator>,
}

/// The end of an attempt that did not break off.
#[derive(Debug, PartialEq, Eq)]
enum Attempt {
    Complete,
    /// The server sent other bytes.
    Refused,
}

impl RangeFetch {
    /// Fetches the range in a task, which ends early if the reading end of the lane no longer exists.
    pub(crate) fn spawn(self, mut lane: LaneWriter, connection: Connection) {
        let abandoned = lane.abandoned();
        tokio::spawn(async move {
            tokio::select! {
                // The lane shows what has arrived.
                _ = self.persist(&mut lane, connection) => {}
                () = abandoned => {}
            }
        });
    }

    async fn persist(
        &self,
        lane: &mut LaneWriter,
        mut connection: Connection,
    ) -> Result<Attempt, RegistryError> {
        let limits = &self.address.endpoint.transport.limits;
        let mut failures = Failures::default();
        for _ in 0..limits.breaks {
            let before = lane.missing().start;
            let error = match self.go_on(lane, connection).await {
                Err(error) if error.is_transient() || error.may_pass() => error,
                outcome => return outcome,
            };
            let came_bytes = lane.missing().start - before;
            match failures.add(limits, &error, came_bytes) {
                Some(earlier) if !error.is_stall() => {
                    self.address.endpoint.wait(&error, earlier).await;
                }
                _ => return Err(error),
            }
            connection = self.quota.connection().await;
        }
        Ok(Attempt::Refused)
    }

    /// Requests the missing bytes. The connection is given back at the end.
    async fn go_on(
        &self,
        lane: &mut LaneWriter,
        _connection: Connection,
    ) -> Result<Attempt, RegistryError> {
        let (what, limits) = (&self.what, &self.address.endpoint.transport.limits);
        let wanted = lane.missing();
        let bytes = RequestedBytes::Range(wanted.clone(), self.validator.clone());
        let response = self.address.request(&self.blob, what, bytes).await?;
        let validator = self.validator.as_ref();
        if end_of_answer(&response, self.blob.size_bytes, &wanted, validator).is_none() {
            return Ok(Attempt::Refused);
        }
        let has_length = response.content_length().is_some();
        let mut body = Body::new(response, what, limits);
        // An answer of a known length is read to its end, so that its connection is used again.
        while has_length || !lane.missing().is_empty() {
            let Some(part) = body.next().await? else {
                break;
            };
            lane.write(&part);
        }
        let missing = lane.missing();
        if missing.is_empty() {
            return Ok(Attempt::Complete);
        }
        Err(RegistryError::Short {
            what: what.clone(),
            expected_bytes: wanted.end,
            actual_bytes: missing.start,
        })
    }
}
