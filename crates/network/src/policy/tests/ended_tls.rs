use msb_secrets::{HttpsDestination, Secret};

use super::*;

const ADDRESS: Ipv4Addr = Ipv4Addr::new(93, 184, 216, 34);

/// Returns a policy with destinations of a secret, HTTPS requests, and rules.
fn policy(reach: DefaultPolicy, secret: &[&str], requests: &[&str], allow: &[&str]) -> Policy {
    let destinations = |texts: &[&str]| -> Vec<HttpsDestination> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    };
    let secret = Secret::new("KEY".parse().unwrap(), destinations(secret));
    let settings = Settings {
        reach,
        allow: allow.iter().map(|text| text.parse().unwrap()).collect(),
        secrets: vec![secret],
        requests: destinations(requests),
        ..Settings::default()
    };
    Policy {
        is_own,
        ..Policy::new(&settings)
    }
}

fn learn(policy: &Policy, name: &str) {
    let name = DomainName::parse(name).unwrap();
    policy.learn(&name, ADDRESS, Duration::from_secs(60));
}

/// Returns the rule that allows a connection, and its treatment: `Some(true)` if its TLS is ended and
/// others are passed on. `None` if it is denied.
fn treated(policy: &Policy, port: u16) -> Option<(String, Option<bool>)> {
    let destination = SocketAddrV4::new(ADDRESS, port);
    let decision = policy.decide(destination);
    let end = policy.tls_end(destination, decision.reason);
    let passes = end.map(|end| end.passes);
    decision
        .is_allowed()
        .then(|| (decision.reason.to_string(), passes))
}

fn by(rule: &str, passes: Option<bool>) -> Option<(String, Option<bool>)> {
    Some((rule.to_owned(), passes))
}

#[test]
fn the_destinations_of_a_secret_are_allowed_and_their_tls_is_ended() {
    let to = ["api.test/v1/*:GET", "*.git.test:8443"];
    let policy = policy(DefaultPolicy::Listed, &to, &[], &[]);
    for name in ["api.test", "a.git.test"] {
        assert!(resolves(&policy, name), "{name}");
        let name = DomainName::parse(name).unwrap();
        assert!(policy.ends_tls_of(&name), "{name}");
    }
    for name in ["git.test", "other.test"] {
        assert!(!resolves(&policy, name), "{name}");
    }
    assert_eq!(treated(&policy, 443), None);
    learn(&policy, "api.test");
    assert_eq!(treated(&policy, 443), by("api.test:443", Some(true)));
    assert_eq!((treated(&policy, 80), treated(&policy, 8443)), (None, None));
    learn(&policy, "a.git.test");
    assert_eq!(treated(&policy, 8443), by("*.git.test:8443", Some(true)));
}

#[test]
fn connections_to_other_ports_and_addresses_are_left_alone() {
    let policy = policy(DefaultPolicy::Outbound, &["api.test"], &[], &["other.test"]);
    learn(&policy, "other.test");
    assert_eq!(treated(&policy, 443), by("other.test", None));
    learn(&policy, "api.test");
    assert_eq!(treated(&policy, 443), by("other.test", Some(true)));
    assert_eq!(treated(&policy, 80), by("other.test", None));
    assert!(!policy.ends_tls_of(&DomainName::parse("other.test").unwrap()));
}

#[test]
fn a_host_of_requests_is_closed_to_everything_else() {
    let requests = ["https://api.test/v1/*:GET"];
    let listed = |allow: &[&str]| policy(DefaultPolicy::Listed, &[], &requests, allow);
    let alone = listed(&[]);
    learn(&alone, "api.test");
    assert_eq!(treated(&alone, 443), by("api.test:443", Some(false)));
    // A rule of the same name opens its other ports only.
    let named = listed(&["api.test"]);
    learn(&named, "api.test");
    assert_eq!(treated(&named, 443), by("api.test:443", Some(false)));
    assert_eq!(treated(&named, 80), by("api.test", None));
    // Another name has the same address, or the address itself is allowed.
    let shared = listed(&["other.test"]);
    learn(&shared, "api.test");
    learn(&shared, "other.test");
    assert_eq!(treated(&shared, 443), by("api.test:443", Some(true)));
    let address = listed(&["93.184.216.34"]);
    learn(&address, "api.test");
    assert_eq!(treated(&address, 443), by("93.184.216.34", Some(true)));
}

#[test]
fn a_secret_for_a_host_of_requests_opens_no_more() {
    let host = ["https://api.test/v1/*:GET"];
    let policy = policy(DefaultPolicy::Listed, &["api.test"], &host, &[]);
    learn(&policy, "api.test");
    assert_eq!(treated(&policy, 443), by("api.test:443", Some(false)));
}

#[test]
fn names_of_secrets_keep_the_order_of_rules() {
    let policy = policy(DefaultPolicy::Outbound, &["api.test"], &[], &[]);
    let name = DomainName::parse("api.test").unwrap();
    for (address, expected) in [
        ([127, 0, 0, 1], None),
        ([169, 254, 169, 254], None),
        ([8, 8, 4, 9], None),
        ([10, 0, 0, 1], Some("api.test:443")),
    ] {
        let address = Ipv4Addr::from(address);
        policy.learn(&name, address, Duration::from_secs(60));
        let decision = policy.decide(SocketAddrV4::new(address, 443));
        let rule = decision.is_allowed().then(|| decision.reason.to_string());
        assert_eq!(rule.as_deref(), expected, "{address}");
    }
}
