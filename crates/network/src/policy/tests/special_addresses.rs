use super::*;

/// IANA's "IPv4 Special-Purpose Address Registry" as of 2024-11-28
/// (https://www.iana.org/assignments/iana-ipv4-special-registry), each block with whether it is
/// globally reachable. For 192.88.99.0/24, which is deprecated, the registry does not say. The
/// addresses behind them are further ones that clouds answer their guests at.
const SPECIAL: [(&str, bool); 33] = [
    ("0.0.0.0/8", false),
    ("0.0.0.0/32", false),
    ("10.0.0.0/8", false),
    ("100.64.0.0/10", false),
    ("127.0.0.0/8", false),
    ("169.254.0.0/16", false),
    ("172.16.0.0/12", false),
    ("192.0.0.0/24", false),
    ("192.0.0.0/29", false),
    ("192.0.0.8/32", false),
    // Globally reachable by the registry, but denied with the block that contains the wire.
    ("192.0.0.9/32", false),
    ("192.0.0.10/32", false),
    ("192.0.0.170/32", false),
    ("192.0.0.171/32", false),
    ("192.0.2.0/24", false),
    ("192.31.196.0/24", true),
    ("192.52.193.0/24", true),
    ("192.88.99.0/24", false),
    ("192.88.99.2/32", false),
    ("192.168.0.0/16", false),
    ("192.175.48.0/24", true),
    ("198.18.0.0/15", false),
    ("198.51.100.0/24", false),
    ("203.0.113.0/24", false),
    ("240.0.0.0/4", false),
    ("255.255.255.255/32", false),
    // Multicast has its own registry.
    ("224.0.0.0/4", false),
    // AWS and most others; AWS's containers; Alibaba; Oracle; Azure.
    ("169.254.169.254/32", false),
    ("169.254.170.2/32", false),
    ("100.100.100.200/32", false),
    ("192.0.0.192/32", false),
    ("168.63.129.16/32", false),
    // The address next to the last one is an ordinary one.
    ("168.63.129.17/32", true),
];

#[test]
fn special_addresses_are_denied_and_globally_reachable_ones_are_not() {
    let open = policy(DefaultPolicy::Outbound, &[], &[]);
    for (block, is_reachable) in SPECIAL {
        let block: Ipv4Net = block.parse().unwrap();
        for address in [block.network(), block.broadcast()] {
            let destination = SocketAddrV4::new(address, 80);
            let is_allowed = open.decide(destination).is_allowed();
            assert_eq!(is_allowed, is_reachable, "{destination}");
        }
    }
}

#[test]
fn a_name_opens_no_special_address_but_private_ones() {
    let private: Vec<Ipv4Net> = [
        "10.0.0.0/8",
        "100.64.0.0/10",
        "172.16.0.0/12",
        "192.168.0.0/16",
    ]
    .map(|block| block.parse().unwrap())
    .into();
    let policy = policy(DefaultPolicy::Listed, &["any.example"], &[]);
    let name = DomainName::parse("any.example").unwrap();
    for (block, is_reachable) in SPECIAL {
        let address = block.parse::<Ipv4Net>().unwrap().network();
        policy.learn(&name, address, Duration::from_secs(60));
        let is_private = private.iter().any(|block| block.contains(&address))
            && address != Ipv4Addr::new(100, 100, 100, 200);
        let destination = SocketAddrV4::new(address, 80);
        let is_allowed = policy.decide(destination).is_allowed();
        assert_eq!(is_allowed, is_reachable || is_private, "{destination}");
    }
}
