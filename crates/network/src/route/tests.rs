use std::net::Ipv4Addr;
use std::time::Duration;

use super::*;
use crate::{DefaultPolicy, Settings, UpstreamProxy};

const ADDRESS: Ipv4Addr = Ipv4Addr::new(198, 51, 101, 1);

fn settings(reach: DefaultPolicy, allow: &[&str], deny: &[&str]) -> Settings {
    let rules = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
    Settings {
        reach,
        allow: rules(allow),
        deny: rules(deny),
        ..Settings::default()
    }
}

fn routes() -> Routes {
    let proxy: UpstreamProxy = "socks5h://127.0.0.1:1080".parse().unwrap();
    Routes::new(Proxy::find(&proxy).unwrap())
}

/// Returns the name that a proxy is told of a connection to port 443, if that is allowed.
fn told(settings: &Settings, resolved: &str) -> Option<Option<String>> {
    let policy = Policy::new(settings);
    if let Some(name) = DomainName::parse(resolved)
        && policy.decide_name(&name).is_allowed()
    {
        policy.learn(&name, ADDRESS, Duration::from_secs(60));
    }
    let address = SocketAddrV4::new(ADDRESS, 443);
    let decision = policy.decide(address);
    decision.is_allowed().then(|| {
        let by = (&policy, decision.reason);
        let route = routes().to(address, by, || Some(resolved.to_owned()));
        assert!(route.is_proxied());
        route.name
    })
}

#[test]
fn a_proxy_is_told_names_that_the_rules_allow() {
    let outbound = |allow: &[&str]| settings(DefaultPolicy::Outbound, allow, &["no.test"]);
    let listed = |allow: &[&str]| settings(DefaultPolicy::Listed, allow, &[]);
    let name = |name: &str| Some(Some(name.to_owned()));
    assert_eq!(told(&outbound(&[]), "a.test"), name("a.test"));
    assert_eq!(told(&listed(&["*.test:443"]), "a.test"), name("a.test"));
    // The guest cannot have resolved it, and the rules still decide.
    assert_eq!(told(&outbound(&[]), "no.test"), Some(None));
    assert_eq!(told(&listed(&["b.test"]), "a.test"), None);
    // The user allowed an address, and the proxy might resolve the guest's name to another one.
    assert_eq!(told(&listed(&["198.51.101.1"]), "a.test"), Some(None));
    for text in ["a.test\r\nx: y", "a test", "", "1.2.3.4"] {
        assert_eq!(told(&outbound(&[]), text), Some(None), "{text}");
    }
}

#[test]
fn a_proxy_is_told_names_that_the_user_has_allowed() {
    let address = SocketAddrV4::new(ADDRESS, 443);
    let policy = Policy::new(&settings(DefaultPolicy::Listed, &[], &["*.no.test"]));
    for name in ["a.test", "a.no.test"] {
        policy.allow_once(&DomainName::parse(name).unwrap());
    }
    let by = (&policy, Reason::Asked);
    let told = |name: &str| routes().to(address, by, || Some(name.to_owned())).name;
    assert_eq!(told("a.test").as_deref(), Some("a.test"));
    // Another name of the guest's may lead to an address that the answer was not about.
    assert_eq!(told("b.test"), None);
    assert_eq!(told("a.no.test"), None);
    let asked = |name: &str| routes().asked(address, Some(name.to_owned())).name;
    assert_eq!(asked("b.test").as_deref(), Some("b.test"));
    assert_eq!(asked("b.test\r\n"), None);
    let loopback = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 443);
    assert!(!routes().asked(loopback, None).is_proxied());
}

#[test]
fn this_host_and_exceptions_are_reached_directly() {
    let settings = settings(DefaultPolicy::Outbound, &["127.0.0.1"], &[]);
    let policy = Policy::new(&settings);
    let loopback = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 443);
    let by = (&policy, policy.decide(loopback).reason);
    assert!(!routes().to(loopback, by, || None).is_proxied());
    let address = SocketAddrV4::new(ADDRESS, 443);
    let by = (&policy, policy.decide(address).reason);
    let route = Routes::default().to(address, by, || panic!("no name is needed"));
    assert!(!route.is_proxied());
    let named = routes()
        .to(address, by, || None)
        .named(Some("a.test".to_owned()));
    assert_eq!(named.name.as_deref(), Some("a.test"));
    let kept = named.named(Some("a\r\nb".to_owned()));
    assert_eq!(kept.name.as_deref(), Some("a.test"));
}
