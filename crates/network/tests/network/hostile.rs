use std::net::SocketAddrV4;

use msb_network::{GATEWAY_ADDRESS, GUEST_ADDRESS, Settings};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use smoltcp::wire::IpProtocol;

use crate::guest::{Host, allowing, datagram, ip_frame, read_control};

/// Frames that are damaged in different degrees, from random bytes to nearly valid packets.
fn frames() -> impl Strategy<Value = Vec<u8>> {
    let bytes = || vec(any::<u8>(), 0..200);
    let protocol = prop_oneof![
        Just(IpProtocol::Tcp),
        Just(IpProtocol::Udp),
        Just(IpProtocol::Icmp),
        any::<u8>().prop_map(IpProtocol::from),
    ];
    let destination = prop_oneof![Just(GATEWAY_ADDRESS), any::<u32>().prop_map(Into::into)];
    let packet = (protocol, destination, bytes()).prop_map(|(protocol, destination, payload)| {
        ip_frame(GUEST_ADDRESS, destination, protocol, &payload)
    });
    let question = bytes()
        .prop_map(|payload| datagram(5300, SocketAddrV4::new(GATEWAY_ADDRESS, 53), &payload));
    let typed = (
        prop_oneof![Just([8, 6]), Just([8, 0]), any::<[u8; 2]>()],
        bytes(),
    )
        .prop_map(|(ethertype, payload)| [&[2; 12][..], &ethertype, &payload].concat());
    prop_oneof![bytes(), typed, packet, question]
}

#[test]
fn no_frame_ends_the_network() {
    // Random packets must not leave this host.
    let settings = Settings {
        reach: msb_network::DefaultPolicy::Listed,
        resolvers: vec!["127.0.0.1:9".parse().unwrap()],
        ..allowing(&["127.0.0.1:9".to_owned()])
    };
    let mut host = Host::new(settings);
    let mut runner = TestRunner::new(Config::with_cases(256));
    let many = vec(frames(), 1..20);
    let link = std::cell::RefCell::new(&mut host.link);
    let outcome = runner.run(&many, |frames| {
        let mut link = link.borrow_mut();
        for frame in frames {
            link.send(&frame);
            while link.take().is_some() {}
        }
        // The network still answers.
        let to = "10.0.0.1:80".parse().unwrap();
        link.send(&datagram(1, to, b""));
        link.await_frame(|frame| (read_control(frame)? == (3, 13)).then_some(()));
        Ok(())
    });
    outcome.unwrap();
    host.end();
}
