mod changed_rules;
mod ended_tls;
mod special_addresses;

use super::*;

/// Stands for two interfaces of the host, one in the public range and one in a private range.
fn is_own(address: Ipv4Addr) -> bool {
    address.is_loopback() || ["8.8.4.9", "192.168.1.5"].contains(&&*address.to_string())
}

fn policy(reach: DefaultPolicy, allow: &[&str], deny: &[&str]) -> Policy {
    let rules = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
    let settings = Settings {
        reach,
        allow: rules(allow),
        deny: rules(deny),
        ..Settings::default()
    };
    Policy {
        is_own,
        ..Policy::new(&settings)
    }
}

#[track_caller]
fn expect(policy: &Policy, allowed: &[&str], denied: &[&str]) {
    for (destinations, expected) in [(allowed, true), (denied, false)] {
        for destination in destinations {
            let parsed = destination.parse().unwrap();
            let decision = policy.decide(parsed);
            assert_eq!(decision.is_allowed(), expected, "{destination}");
        }
    }
}

fn resolves(policy: &Policy, name: &str) -> bool {
    let name = DomainName::parse(name).unwrap();
    policy.decide_name(&name).is_allowed()
}

const PRIVATE: [&str; 13] = [
    "0.0.0.0:80",
    "10.0.0.1:80",
    "100.64.0.1:80",
    "127.0.0.1:80",
    "169.254.169.254:80",
    "172.31.255.255:80",
    "192.0.0.1:80",
    "192.168.0.1:80",
    "192.168.1.5:22",
    "8.8.4.9:22",
    "224.0.0.251:5353",
    "240.0.0.1:80",
    "255.255.255.255:67",
];

#[test]
fn without_rules_the_public_network_is_reached_and_nothing_else() {
    let public = [
        "1.1.1.1:53",
        "8.8.4.8:80",
        "172.32.0.1:80",
        "100.128.0.1:80",
    ];
    expect(
        &policy(DefaultPolicy::Outbound, &[], &[]),
        &public,
        &PRIVATE,
    );
    expect(&policy(DefaultPolicy::Listed, &[], &[]), &[], &public);
    expect(&policy(DefaultPolicy::Listed, &[], &[]), &[], &PRIVATE);
}

#[test]
fn a_rule_for_everything_opens_nothing_private() {
    for reach in [DefaultPolicy::Listed, DefaultPolicy::Outbound] {
        expect(
            &policy(reach, &["0.0.0.0/0"], &[]),
            &["1.1.1.1:53"],
            &PRIVATE,
        );
    }
}

#[test]
fn a_rule_within_a_denied_range_opens_it() {
    let policy = policy(
        DefaultPolicy::Outbound,
        &[
            "10.0.0.0/8",
            "169.254.169.254:80",
            "192.168.0.0/16",
            "127.0.0.1:5432",
            "0.0.0.0/8",
        ],
        &["10.9.0.0/16"],
    );
    expect(
        &policy,
        &[
            "10.0.0.1:1",
            "169.254.169.254:80",
            "192.168.1.6:22",
            "127.0.0.1:5432",
        ],
        &[
            "10.9.1.1:1",
            "169.254.169.254:81",
            "127.0.0.1:22",
            "127.0.0.2:5432",
            "0.0.0.0:5432",
            // A rule for the host's whole network does not open the host itself.
            "192.168.1.5:22",
        ],
    );
}

#[test]
fn an_address_of_this_host_needs_a_rule_of_its_own() {
    let policy = policy(
        DefaultPolicy::Outbound,
        &["8.8.4.0/24", "192.168.1.5:80"],
        &[],
    );
    expect(
        &policy,
        &["192.168.1.5:80", "8.8.4.8:1"],
        &["192.168.1.5:22", "8.8.4.9:1"],
    );
}

#[test]
fn deny_wins_over_allow() {
    let policy = policy(
        DefaultPolicy::Outbound,
        &["1.1.1.1"],
        &["1.0.0.0/8:53", "8.8.8.8"],
    );
    expect(
        &policy,
        &["1.1.1.1:80", "8.8.4.4:53"],
        &["1.1.1.1:53", "8.8.8.8:443"],
    );
}

#[test]
fn names_open_the_addresses_they_were_resolved_to() {
    let policy = policy(
        DefaultPolicy::Listed,
        &["*.example.com:443", "db.internal"],
        &[],
    );
    assert!(resolves(&policy, "WWW.example.com.") && resolves(&policy, "db.internal"));
    assert!(!resolves(&policy, "example.com") && !resolves(&policy, "example.org"));
    let minute = Duration::from_secs(60);
    for (name, address) in [
        ("www.example.com.", "1.0.0.1"),
        ("example.org.", "1.0.0.2"),
        ("db.internal", "10.1.1.1"),
        ("db.internal", "169.254.169.254"),
        ("db.internal", "127.0.0.1"),
        ("db.internal", "8.8.4.9"),
    ] {
        policy.learn(
            &DomainName::parse(name).unwrap(),
            address.parse().unwrap(),
            minute,
        );
    }
    expect(
        &policy,
        &["1.0.0.1:443", "10.1.1.1:5432"],
        &[
            "1.0.0.1:80",
            "1.0.0.2:443",
            "169.254.169.254:80",
            "127.0.0.1:80",
            "8.8.4.9:80",
        ],
    );
}

#[test]
fn a_decision_names_the_rule_that_it_is_made_by() {
    let rules = ["9.9.9.9:53", "a.example:443", "*.example:80"];
    let open = policy(
        DefaultPolicy::Outbound,
        &rules,
        &["1.1.0.0/16:25", "evil.example"],
    );
    let listed = policy(DefaultPolicy::Listed, &rules, &[]);
    let name = DomainName::parse("a.example").unwrap();
    listed.learn(&name, Ipv4Addr::new(1, 0, 0, 1), Duration::from_secs(60));
    for (policy, destination, expected) in [
        (&open, "8.8.8.8:443", "outbound"),
        (&open, "8.8.8.8:53", "other-resolver"),
        (&open, "9.9.9.9:53", "9.9.9.9:53"),
        (&open, "1.1.1.1:25", "1.1.0.0/16:25"),
        (&open, "10.1.2.3:80", "10.0.0.0/8"),
        (&open, "127.0.0.1:80", "127.0.0.0/8"),
        (&open, "192.168.1.5:80", "host"),
        (&open, "224.0.0.251:5353", "never"),
        (&listed, "8.8.8.8:443", "listed"),
        (&listed, "1.0.0.1:443", "a.example:443"),
        (&listed, "1.0.0.1:80", "*.example:80"),
    ] {
        let decision = policy.decide(destination.parse().unwrap());
        assert_eq!(decision.reason.to_string(), expected, "{destination}");
    }
    let by = |policy: &Policy, name| {
        let name = DomainName::parse(name).unwrap();
        policy.decide_name(&name).reason.to_string()
    };
    assert_eq!(by(&open, "evil.example"), "evil.example");
    assert_eq!(by(&open, "b.example"), "*.example:80");
    assert_eq!(by(&listed, "example.org"), "listed");
}

#[test]
fn a_denied_name_is_not_asked_for_elsewhere() {
    let open = policy(DefaultPolicy::Outbound, &[], &[]);
    expect(&open, &["8.8.8.8:53", "8.8.8.8:853"], &[]);
    let ruled = policy(DefaultPolicy::Outbound, &["9.9.9.9:53"], &["evil.example"]);
    expect(
        &ruled,
        &["8.8.8.8:443", "9.9.9.9:53"],
        &["8.8.8.8:53", "8.8.8.8:853"],
    );
    assert!(!resolves(&ruled, "evil.example.") && resolves(&ruled, "good.example"));
}
