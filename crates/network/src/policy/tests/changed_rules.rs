use super::*;
use crate::learned::KEPT_MIN;

fn learn(policy: &Policy, name: &str, address: &str) {
    let name = DomainName::parse(name).unwrap();
    policy.learn(&name, address.parse().unwrap(), KEPT_MIN);
}

fn listed(allow: &[&str], deny: &[&str]) -> NetworkRules {
    NetworkRules::parse(DefaultPolicy::Listed, allow, deny).unwrap()
}

fn of_requests() -> Policy {
    let settings = Settings {
        reach: DefaultPolicy::Listed,
        requests: vec!["https://api.test/v1/*:GET".parse().unwrap()],
        ..Settings::default()
    };
    Policy {
        is_own,
        ..Policy::new(&settings)
    }
}

/// Returns true if the TLS of a connection that is allowed or denied for the reason of this moment is ended, and others
/// are passed on. `None` if it is not ended.
fn passes(policy: &Policy, destination: &str) -> Option<bool> {
    let destination = destination.parse().unwrap();
    let reason = policy.decide(destination).reason;
    policy.tls_end(destination, reason).map(|end| end.passes)
}

#[test]
fn a_name_that_is_denied_opens_no_address_of_before() {
    let before = policy(DefaultPolicy::Listed, &["*.a.test"], &[]);
    learn(&before, "no.a.test", "1.1.1.1");
    learn(&before, "yes.a.test", "1.1.1.2");
    expect(&before, &["1.1.1.1:443", "1.1.1.2:443"], &[]);
    let denying = before.with_rules(&listed(&["*.a.test"], &["no.a.test"]));
    expect(&denying, &["1.1.1.2:443"], &["1.1.1.1:443"]);
    // An answer that was on its way opens nothing either.
    learn(&denying, "no.a.test", "1.1.1.3");
    expect(&denying, &[], &["1.1.1.3:443"]);
    let again = denying.with_rules(&listed(&["*.a.test"], &[]));
    expect(&again, &["1.1.1.1:443", "1.1.1.2:443"], &[]);
}

#[tokio::test(start_paused = true)]
async fn changed_rules_open_no_address_whose_time_is_over() {
    let mut policy = of_requests();
    learn(&policy, "api.test", "1.1.1.1");
    expect(&policy, &["1.1.1.1:443"], &[]);
    tokio::time::advance(KEPT_MIN).await;
    for _ in 0..2 {
        policy = policy.with_rules(&policy.rules());
        expect(&policy, &[], &["1.1.1.1:443"]);
        // Its TLS is ended if the user allows the address, and the rules for requests hold.
        assert_eq!(passes(&policy, "1.1.1.1:443"), Some(false));
    }
}

#[test]
fn a_name_that_is_allowed_once_opens_no_private_address() {
    let once = policy(DefaultPolicy::Listed, &[], &[]);
    once.allow_once(&DomainName::parse("a.test").unwrap());
    learn(&once, "a.test", "1.1.1.1");
    learn(&once, "a.test", "10.0.0.5");
    expect(&once, &["1.1.1.1:443", "1.1.1.1:22"], &["10.0.0.5:443"]);
    let kept = once.with_rules(&listed(&["a.test"], &[]));
    expect(&kept, &["1.1.1.1:443", "10.0.0.5:443"], &[]);
}
