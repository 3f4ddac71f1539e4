use std::sync::Arc;

use oci_image::Descriptor;
use reqwest::header::{CONTENT_RANGE, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Method, Response};

use super::content::BlobBytes;
use super::part::BlobPart;
use super::session::{Begun, UploadSession, begin, confirms, inquiry};
use super::transfer::{Transfer, UploadProgress};
use crate::endpoint::Endpoint;
use crate::error::RegistryError;
use crate::retry::Failures;
use crate::transport::{Outgoing, Payload, header};

/// The upload of one blob, with the registry's state as far as it is known.
#[derive(Debug)]
pub(crate) struct Uploader<'a> {
    endpoint: &'a Endpoint,
    transfer: Arc<Transfer>,
    session: Option<UploadSession>,
    /// True if an upload was begun before.
    has_begun: bool,
    /// True if a request broke off, so that the registry has to be asked how much it has.
    is_uncertain: bool,
    /// Largest part that one request sends, in bytes; `None` for the whole rest of the blob.
    chunk_bytes: Option<u64>,
    /// Most bytes that the registry ever had.
    confirmed_bytes: u64,
}

impl<'a> Uploader<'a> {
    /// Returns the upload of a blob, in a session that was begun before, or else in a new one.
    pub(crate) fn new(
        endpoint: &'a Endpoint,
        blob: Descriptor,
        source: Arc<dyn BlobBytes>,
        session: Option<UploadSession>,
        progress: Arc<dyn UploadProgress>,
    ) -> Self {
        Self {
            endpoint,
            transfer: Arc::new(Transfer::new(blob, source, progress)),
            session,
            has_begun: false,
            is_uncertain: false,
            chunk_bytes: None,
            confirmed_bytes: 0,
        }
    }

    /// Uploads the blob. After a break the upload continues at the first byte that the registry
    /// does not have; if the registry forgot it, at the beginning.
    pub(crate) async fn run(mut self) -> Result<(), RegistryError> {
        let limits = &self.endpoint.transport.limits;
        let mut failures = Failures::default();
        for _ in 0..limits.breaks {
            let before = self.confirmed_bytes;
            let error = match self.go_on().await {
                Err(error) if self.can_go_on(&error) => error,
                // The server answered before, so it may answer again.
                Err(error @ RegistryError::Unreachable { .. }) if before > 0 => error,
                outcome => return outcome,
            };
            self.is_uncertain = true;
            if matches!(error, RegistryError::Status { status: 413, .. }) {
                // The parts are smaller now, and cannot be that for ever.
                failures = Failures::default();
                continue;
            }
            let gained_bytes = self.confirmed_bytes - before;
            let Some(earlier) = failures.add(limits, &error, gained_bytes) else {
                return Err(error);
            };
            // What breaks off as a whole, again and again, may pass in parts.
            let is_reduced = earlier > 0 && error.is_transient() && self.reduce_chunks();
            if is_reduced && matches!(error, RegistryError::Cut { .. }) {
                // Smaller parts have all their attempts: a proxy may close the connection for a 413.
                failures = Failures::default();
            }
            let pause = self.endpoint.pause(&self.transfer.what, &error, earlier);
            pause.await;
        }
        Err(self.lost())
    }

    /// Returns true if another attempt may help, for which the state is changed.
    fn can_go_on(&mut self, error: &RegistryError) -> bool {
        match error {
            RegistryError::NotFound { .. } if self.session.is_some() => {
                self.session = None;
                true
            }
            RegistryError::Status { status: 413, .. } => self.reduce_chunks(),
            RegistryError::Status { status: 416, .. } => true,
            error => error.is_transient(),
        }
    }

    /// Makes the parts of the next requests smaller. Returns false if they are as small as may be.
    fn reduce_chunks(&mut self) -> bool {
        let limits = &self.endpoint.transport.limits;
        let least = self
            .session
            .as_ref()
            .map_or(0, |session| session.chunk_min_bytes)
            .max(limits.chunk_min_bytes);
        let wanted = match self.chunk_bytes {
            None => limits.chunk_bytes.max(least),
            Some(bytes) if bytes > least => (bytes / 2).max(least),
            Some(_) => return false,
        };
        self.chunk_bytes = Some(wanted);
        true
    }

    async fn go_on(&mut self) -> Result<(), RegistryError> {
        if self.is_uncertain {
            self.ask().await?;
        }
        let mut session = match self.session.take() {
            Some(session) => session,
            // The answer to the last request of an upload may have been lost.
            None if self.has_begun && self.is_present().await? => return Ok(()),
            None => self.begin().await?,
        };
        self.has_begun = true;
        let outcome = self.send_rest(&mut session).await;
        self.session = Some(session);
        outcome
    }

    async fn is_present(&self) -> Result<bool, RegistryError> {
        let (blob, what) = (&self.transfer.blob, &self.transfer.what);
        let request = inquiry(self.endpoint, blob, what)?;
        Ok(confirms(&self.endpoint.call(&request).await?, blob))
    }

    async fn begin(&self) -> Result<UploadSession, RegistryError> {
        let (blob, what) = (&self.transfer.blob, &self.transfer.what);
        match begin(self.endpoint, blob, what, None).await? {
            Begun::Session(session) => Ok(session),
            Begun::Mounted => Err(self.lost()),
        }
    }

    /// Asks how much the registry has. If it does not know the upload, a new one begins.
    async fn ask(&mut self) -> Result<(), RegistryError> {
        let Some(mut session) = self.session.take() else {
            self.is_uncertain = false;
            return Ok(());
        };
        let response = self.request(&session, Method::GET).await;
        let response = match response {
            Err(error) if error.is_transient() => {
                self.session = Some(session);
                return Err(error);
            }
            Err(RegistryError::Unauthorized { .. } | RegistryError::Unreachable { .. }) => {
                // The next request tells whether this is for good.
                self.is_uncertain = false;
                return Ok(());
            }
            // A registry may answer anything for what it has forgotten.
            Err(_) => None,
            Ok(response) => Some(response),
        };
        self.is_uncertain = false;
        let Some(response) = response else {
            return Ok(());
        };
        session.renew(self.endpoint, &self.transfer.what, &response, 0)?;
        // Without any byte a new upload costs as little, and `0-0` may mean one byte.
        if session.offset_bytes > 0 && session.offset_bytes <= self.transfer.sent_bytes() {
            self.confirmed_bytes = self.confirmed_bytes.max(session.offset_bytes);
            self.session = Some(session);
        }
        Ok(())
    }

    /// Sends the bytes from the session's offset on, and completes the upload.
    async fn send_rest(&mut self, session: &mut UploadSession) -> Result<(), RegistryError> {
        let size_bytes = self.transfer.blob.size_bytes;
        while session.offset_bytes < size_bytes {
            let start_bytes = session.offset_bytes;
            let end_bytes = match self.chunk_bytes {
                Some(chunk_bytes) => start_bytes.saturating_add(chunk_bytes).min(size_bytes),
                None => size_bytes,
            };
            self.send_part(session, start_bytes, end_bytes).await?;
            if session.offset_bytes > end_bytes.min(self.transfer.sent_bytes()) {
                return Err(self.unusable("it reports more bytes than were sent"));
            }
            self.confirmed_bytes = self.confirmed_bytes.max(session.offset_bytes);
            // What a registry did not take counts as a break, or else one that confirms a byte of
            // each request would be sent the rest for ever.
            if session.offset_bytes < end_bytes {
                return Err(RegistryError::Short {
                    what: self.transfer.what.clone(),
                    expected_bytes: end_bytes,
                    actual_bytes: session.offset_bytes,
                });
            }
        }
        self.transfer.check()?;
        let url = session.completion(&self.transfer.blob);
        let request = Outgoing {
            what: &self.transfer.what,
            method: Method::PUT,
            url,
            headers: octets(),
            payload: Payload::Part(&BlobPart::new(
                Arc::clone(&self.transfer),
                size_bytes,
                size_bytes,
            )),
        };
        let response = self.send(&request).await?;
        let stated = header(response.headers(), "docker-content-digest");
        let stated = stated.and_then(|text| text.parse().ok());
        self.transfer.check_stored(self.endpoint.host(), stated)
    }

    async fn send_part(
        &self,
        session: &mut UploadSession,
        start_bytes: u64,
        end_bytes: u64,
    ) -> Result<(), RegistryError> {
        let mut headers = octets();
        // A whole blob is a stream, which registries have always taken; its parts are chunks.
        if start_bytes > 0 || end_bytes < self.transfer.blob.size_bytes {
            let range = format!("{start_bytes}-{}", end_bytes.saturating_sub(1));
            headers.extend(
                HeaderValue::from_str(&range)
                    .ok()
                    .map(|it| (CONTENT_RANGE, it)),
            );
        }
        let request = Outgoing {
            what: &self.transfer.what,
            method: Method::PATCH,
            url: session.location.clone(),
            headers,
            payload: Payload::Part(&BlobPart::new(
                Arc::clone(&self.transfer),
                start_bytes,
                end_bytes,
            )),
        };
        let response = self.send(&request).await?;
        session.renew(self.endpoint, &self.transfer.what, &response, end_bytes)
    }

    async fn request(
        &self,
        session: &UploadSession,
        method: Method,
    ) -> Result<Response, RegistryError> {
        let request = Outgoing {
            what: &self.transfer.what,
            method,
            url: session.location.clone(),
            headers: HeaderMap::new(),
            payload: Payload::Empty,
        };
        self.send(&request).await
    }

    async fn send(&self, request: &Outgoing<'_>) -> Result<Response, RegistryError> {
        let response = self.endpoint.call(request).await?;
        self.endpoint.checked(request.what, response).await
    }

    fn unusable(&self, problem: &str) -> RegistryError {
        RegistryError::Upload {
            registry: self.endpoint.host(),
            what: self.transfer.what.clone(),
            problem: problem.to_owned(),
        }
    }

    fn lost(&self) -> RegistryError {
        self.unusable("it does not keep the bytes that it receives")
    }
}

fn octets() -> HeaderMap {
    let octets = HeaderValue::from_static("application/octet-stream");
    HeaderMap::from_iter([(CONTENT_TYPE, octets)])
}
