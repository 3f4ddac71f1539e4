use msb_network::{
    GATEWAY_ADDRESS, GUEST_ADDRESS, NetworkClose, NetworkConnect, NetworkEvent, NetworkQuery,
    NetworkReport, NetworkTls, NetworkTotals,
};
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{Icmpv4Packet, Icmpv4Repr, IpProtocol};

use crate::guest::{Host, ip_frame, read_control};

/// The reports of a network that has ended.
pub(crate) struct Reported {
    pub(crate) events: Vec<NetworkEvent>,
    pub(crate) totals: NetworkTotals,
}

impl Reported {
    /// Ends the network, and sorts its reports.
    pub(crate) fn of(host: Host) -> Self {
        let mut reported = Self {
            events: Vec::new(),
            totals: NetworkTotals::default(),
        };
        for report in host.end() {
            match report {
                NetworkReport::Record(record) => reported.events.push(record.event),
                NetworkReport::Totals(totals) => reported.totals = totals,
            }
        }
        reported
    }

    pub(crate) fn connects(&self) -> Vec<&NetworkConnect> {
        let events = self.events.iter();
        let connects = events.filter_map(|event| match event {
            NetworkEvent::Connect(connect) => Some(connect),
            _ => None,
        });
        connects.collect()
    }

    pub(crate) fn closes(&self) -> Vec<&NetworkClose> {
        let events = self.events.iter();
        let closes = events.filter_map(|event| match event {
            NetworkEvent::Close(close) => Some(close),
            _ => None,
        });
        closes.collect()
    }

    pub(crate) fn queries(&self) -> Vec<&NetworkQuery> {
        let events = self.events.iter();
        let queries = events.filter_map(|event| match event {
            NetworkEvent::Dns(query) => Some(query),
            _ => None,
        });
        queries.collect()
    }

    pub(crate) fn tls(&self) -> Vec<&NetworkTls> {
        let events = self.events.iter();
        let tls = events.filter_map(|event| match event {
            NetworkEvent::Tls(tls) => Some(tls),
            _ => None,
        });
        tls.collect()
    }

    pub(crate) fn lost(&self) -> u64 {
        let count = |event: &NetworkEvent| match event {
            NetworkEvent::Lost { count } => *count,
            _ => 0,
        };
        self.events.iter().map(count).sum()
    }
}

/// Waits until the network has taken all frames before.
pub(crate) fn settle(host: &mut Host) {
    let icmp = Icmpv4Repr::EchoRequest {
        ident: 1,
        seq_no: 1,
        data: b"ping",
    };
    let mut bytes = vec![0; icmp.buffer_len()];
    icmp.emit(
        &mut Icmpv4Packet::new_unchecked(&mut bytes[..]),
        &ChecksumCapabilities::default(),
    );
    let ping = ip_frame(GUEST_ADDRESS, GATEWAY_ADDRESS, IpProtocol::Icmp, &bytes);
    host.link.send(&ping);
    host.link
        .await_frame(|frame| (read_control(frame)? == (0, 0)).then_some(()));
}
