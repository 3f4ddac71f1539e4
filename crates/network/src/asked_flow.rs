//! Flows to destinations that the user is asked about.

use std::net::SocketAddrV4;
use std::sync::Arc;

use crate::Protocol;
use crate::asks::Pending;
use crate::budget::Budget;
use crate::buffers::Buffers;
use crate::decision::{Reason, TlsEnd};
use crate::edge::EdgeFlows;
use crate::gate::Gate;
use crate::log_record::FlowEnd;
use crate::opening::Opening;
use crate::permit::Permit;
use crate::recorded_flow::RecordedFlow;
use crate::recorder::Recorder;
use crate::replies::{DENIED, unreachable};
use crate::revocation::Revocation;
use crate::route::Route;
use crate::supervisor_messages::Told;
use crate::udp::{HostEnd, UdpFlow, why_unreachable};
use crate::ways::Ways;

/// A flow that waits for an answer of the user.
pub(crate) struct AskedFlow {
    pub(crate) protocol: Protocol,
    pub(crate) address: SocketAddrV4,
    /// The name in the words of the question; `None` if they have the address.
    pub(crate) name: Option<String>,
    pub(crate) pending: Pending,
    pub(crate) gate: Gate,
    pub(crate) recorder: Recorder,
    pub(crate) ways: Arc<Ways>,
}

impl AskedFlow {
    /// Establishes a connection of the guest once it is allowed. Until then the guest repeats its first segment.
    pub(crate) async fn connect(mut self, opening: Opening, buffers: Budget) {
        let Some((permit, route)) = self.permit().await else {
            opening.refuse().await;
            return;
        };
        match self.tls_end() {
            None => {
                let record = self.record(permit);
                let hello = self.ways.hellos.watch(self.address.port(), &record);
                opening.connect(route, record, hello, buffers).await;
            }
            Some(end) => {
                // Without room, the guest's next segment is one of no connection.
                if let Some(flow) = self.ways.edge.as_ref().and_then(EdgeFlows::open) {
                    let record = self.record(permit);
                    let buffers = Buffers::new(&buffers);
                    flow.serve(opening, record, (route, end), buffers).await;
                }
            }
        }
    }

    /// Exchanges datagrams once they are allowed. Those that come before are lost. `packet` is the first one, which is
    /// quoted if it is refused.
    pub(crate) async fn exchange(mut self, flow: UdpFlow, packet: Vec<u8>) {
        let refusal = match self.permit().await {
            None => DENIED,
            Some((permit, _)) => match HostEnd::connect(self.address) {
                Ok(host) => {
                    let record = self.record(permit);
                    let end = flow.join(host, &record.traffic).await;
                    record.end(end);
                    return;
                }
                Err(error) => {
                    self.record(permit).end(FlowEnd::Unreachable);
                    why_unreachable(&error)
                }
            },
        };
        if let Some(frame) = unreachable(&packet, refusal) {
            // A guest that has gone does not need the report.
            let _ = flow.to_guest.send(frame).await;
        }
    }

    /// Waits for the answer. Returns the permission and the way to the destination; `None` if the flow is refused, which
    /// is recorded.
    async fn permit(&mut self) -> Option<(Permit, Route)> {
        let told = self.pending.told().await;
        let policy = self.gate.policy();
        let decision = policy.decide(self.address);
        if decision.is_allowed() {
            // The answer, or someone else, has added a rule.
            let by = (&*policy, decision.reason);
            let route = self.ways.routes.to(self.address, by, || self.name.clone());
            return Some((decision.reason.into(), route));
        }
        let reason = match told {
            // A rule that has come meanwhile denies it in spite of the answer.
            Told::Allowed if policy.asks_about(decision.reason) => {
                let route = self.ways.routes.asked(self.address, self.name.clone());
                return Some((Permit::Asked, route));
            }
            Told::Allowed | Told::Unanswered => decision.reason,
            Told::Denied => Reason::Asked,
        };
        self.recorder.refuse(self.protocol, self.address, reason);
        None
    }

    /// Returns the treatment of the connection's TLS, as the rules of this moment have it.
    fn tls_end(&self) -> Option<TlsEnd> {
        self.ways.edge.as_ref()?;
        let policy = self.gate.policy();
        policy.tls_end(self.address, policy.decide(self.address).reason)
    }

    fn record(&self, permit: Permit) -> RecordedFlow {
        let revocation = Revocation::new(&self.gate, self.address, permit);
        RecordedFlow::outbound(&self.recorder, self.protocol, revocation)
    }
}
