use std::net::IpAddr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use crate::Protocol;
use crate::log_record::{FlowEnd, NetworkClose, NetworkConnect, Verdict};
use crate::recorder::Recorder;
use crate::revocation::Revocation;
use crate::tls_events::TlsEvents;

/// The rule of flows that come in at a published port.
const PUBLISHED: &str = "published";

/// A flow with two records: of its begin, and of its end when this value is dropped.
#[derive(Debug)]
pub(crate) struct RecordedFlow {
    pub(crate) traffic: Traffic,
    recorder: Recorder,
    flow: u64,
    /// True if the log has the begin.
    is_begun: bool,
    began: Instant,
    end: FlowEnd,
    /// The status of the upstream proxy, if that refused the flow.
    status: OnceLock<u16>,
}

/// The bytes of a flow.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    /// `None` for flows between the guest and the gateway.
    recorder: Option<Recorder>,
    sent: AtomicU64,
    received: AtomicU64,
    /// `None` for flows that no rule concerns.
    revocation: Option<Revocation>,
}

impl RecordedFlow {
    /// Records a flow that the guest opens.
    pub(crate) fn outbound(
        recorder: &Recorder,
        protocol: Protocol,
        revocation: Revocation,
    ) -> Self {
        let address = revocation.address();
        let name = recorder.name_of(*address.ip());
        let remote = ((*address.ip()).into(), address.port());
        let connect = connect(protocol, remote, revocation.permit().to_string());
        let revocation = revocation.of_name(name.as_deref());
        let mut flow = Self::begin(recorder, NetworkConnect { name, ..connect });
        flow.traffic.revocation = Some(revocation);
        flow
    }

    /// Has the flow end if other requests are allowed, because its TLS is ended.
    pub(crate) fn of_requests(mut self) -> Self {
        let revocation = self.traffic.revocation.take();
        self.traffic.revocation = revocation.map(Revocation::of_requests);
        self
    }

    /// Records a flow that a peer opens to a published port of the guest.
    pub(crate) fn inbound(
        recorder: &Recorder,
        protocol: Protocol,
        peer: IpAddr,
        guest_port: u16,
    ) -> Self {
        let connect = connect(protocol, (peer, guest_port), PUBLISHED.to_owned());
        Self::begin(recorder, connect)
    }

    fn begin(recorder: &Recorder, connect: NetworkConnect) -> Self {
        let (flow, is_begun) = recorder.begin(connect);
        Self {
            traffic: Traffic {
                recorder: Some(recorder.clone()),
                ..Traffic::default()
            },
            recorder: recorder.clone(),
            flow,
            is_begun,
            began: Instant::now(),
            // Nothing else drops a flow without its end.
            end: FlowEnd::Machine,
            status: OnceLock::new(),
        }
    }

    /// Returns the recorder of events of the flow's TLS.
    pub(crate) fn tls_events(&self) -> TlsEvents {
        TlsEvents::new(self.recorder.clone(), self.flow)
    }

    /// Keeps the status of the upstream proxy, if a connection failed because of that.
    pub(crate) fn note_status(&self, status: Option<u16>) {
        if let Some(status) = status {
            let _ = self.status.set(status);
        }
    }

    /// Records the end of the flow.
    pub(crate) fn end(mut self, end: FlowEnd) {
        self.end = end;
    }
}

impl Drop for RecordedFlow {
    fn drop(&mut self) {
        let ms = self.began.elapsed().as_millis();
        let close = NetworkClose {
            flow: self.flow,
            sent: self.traffic.sent.load(Ordering::Relaxed),
            received: self.traffic.received.load(Ordering::Relaxed),
            ms: ms.try_into().unwrap_or(u64::MAX),
            end: self.end,
            status: self.status.get().copied(),
        };
        self.recorder.end(close, self.is_begun);
    }
}

impl Traffic {
    /// Waits until changed rules end the flow.
    pub(crate) async fn revoked(&self) {
        match &self.revocation {
            Some(revocation) => revocation.revoked().await,
            None => std::future::pending().await,
        }
    }

    /// Counts bytes that the guest sent.
    pub(crate) fn add_sent(&self, bytes: usize) {
        let bytes = bytes.try_into().unwrap_or(u64::MAX);
        self.sent.fetch_add(bytes, Ordering::Relaxed);
        if let Some(recorder) = &self.recorder {
            recorder.count(bytes, 0);
        }
    }

    /// Counts bytes that the guest received.
    pub(crate) fn add_received(&self, bytes: usize) {
        let bytes = bytes.try_into().unwrap_or(u64::MAX);
        self.received.fetch_add(bytes, Ordering::Relaxed);
        if let Some(recorder) = &self.recorder {
            recorder.count(0, bytes);
        }
    }
}

fn connect(protocol: Protocol, (address, port): (IpAddr, u16), rule: String) -> NetworkConnect {
    NetworkConnect {
        flow: None,
        proto: protocol,
        name: None,
        address,
        port,
        verdict: Verdict::Allowed,
        rule,
        hint: None,
        count: 1,
    }
}
