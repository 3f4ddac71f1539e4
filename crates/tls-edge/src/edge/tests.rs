use msb_secrets::{Placement, Secret};

use super::*;
use crate::fixtures::{placed_in, secret};

fn edge(secrets: Vec<Secret>, hosts: &[&str]) -> Result<Edge, EdgeError> {
    let hosts: Vec<_> = hosts.iter().map(|host| host.parse().unwrap()).collect();
    let authority = Authority::create(&hosts).unwrap();
    let roots = Roots::from_pem(authority.certificate_pem()).unwrap();
    let settings = EdgeSettings {
        secrets,
        requests: Vec::new(),
    };
    Edge::new(settings, authority, roots)
}

#[test]
fn an_edge_ends_the_connections_of_its_secrets() {
    let edge = edge(
        vec![secret("K@api.example.com,*.b.example:8443")],
        &["api.example.com", "*.b.example"],
    )
    .unwrap();
    assert!(edge.ends("api.example.com", 443) && edge.ends("API.example.COM.", 443));
    assert!(edge.ends("x.b.example", 8443) && edge.names("x.b.example"));
    assert!(!edge.ends("x.b.example", 443) && !edge.ends("api.example.com", 80));
    assert!(!edge.names("example.com") && !edge.names("b.example"));
    assert_eq!(edge.values().list().len(), 1);
}

#[test]
fn a_host_outside_of_the_constraints_is_refused() {
    let refused = edge(vec![secret("K@api.example.com")], &["example.org"]);
    assert!(matches!(refused, Err(EdgeError::NotCovered { host }) if host == "api.example.com"));
    // A constraint of a name is one of the names below it too, but not of the name above.
    edge(vec![secret("K@a.b.example")], &["b.example"]).unwrap();
    edge(vec![secret("K@*.b.example")], &["a.b.example"]).unwrap_err();
}

#[test]
fn a_secret_needs_a_placeholder_and_a_place() {
    let bare: Secret = "K@api.example.com".parse().unwrap();
    let refused = edge(vec![bare], &["api.example.com"]);
    assert!(matches!(refused, Err(EdgeError::NoPlaceholder { .. })));
    for header in ["host", "User-Agent", "proxy-authorization", "a b"] {
        let placement = Placement::Header(header.to_owned());
        let refused = edge(
            vec![placed_in("K@api.example.com", placement)],
            &["api.example.com"],
        );
        assert!(
            matches!(refused, Err(EdgeError::Placement(_))),
            "{header}: {refused:?}"
        );
    }
}

#[test]
fn requests_change_within_the_constraints() {
    let edge = edge(
        vec![secret("K@api.example.com")],
        &["api.example.com", "b.example"],
    )
    .unwrap();
    let requests = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
    edge.set_requests(requests(&["api.example.com/v1/*:GET", "b.example"]))
        .unwrap();
    assert!(edge.names("b.example"));
    let refused = edge.set_requests(requests(&["api.example.com", "example.org"]));
    assert!(matches!(refused, Err(EdgeError::NotCovered { host }) if host == "example.org"));
    assert!(edge.names("b.example") && !edge.names("example.org"));
    edge.set_requests(Vec::new()).unwrap();
    assert!(!edge.names("b.example") && edge.names("api.example.com"));
}
