use super::*;
use crate::fixtures::secret;

fn destinations(secrets: &[&str], requests: &[&str]) -> Destinations {
    let settings = EdgeSettings {
        secrets: secrets.iter().map(|text| secret(text)).collect(),
        requests: requests.iter().map(|text| text.parse().unwrap()).collect(),
    };
    Destinations::new(settings).unwrap()
}

#[test]
fn a_destination_has_only_its_own_secrets_and_rules() {
    let all = destinations(
        &["A@a.example,b.example/x/*", "B@b.example:8443"],
        &["https://a.example/v1/*:GET"],
    );
    let a = all.of("A.example", 443).unwrap();
    assert_eq!((a.name.as_str(), a.port), ("a.example", 443));
    assert_eq!(a.secrets.len(), 1);
    assert_eq!(a.secrets[0].to.len(), 1);
    assert_eq!(a.requests.len(), 1);
    let b = all.of("b.example", 443).unwrap();
    assert_eq!(b.secrets[0].name.to_string(), "A");
    assert_eq!(
        all.of("b.example", 8443).unwrap().secrets[0]
            .name
            .to_string(),
        "B"
    );
    assert!(all.of("a.example", 8443).is_none() && all.of("c.example", 443).is_none());
    assert_eq!(all.secret_names().count(), 2);
}

#[test]
fn rules_close_a_host_to_other_requests() {
    let all = destinations(
        &["A@b.example"],
        &[
            "https://a.example/v1/*:GET,HEAD",
            "https://a.example/up:POST",
        ],
    );
    let a = all.of("a.example", 443).unwrap();
    let admission = |method: &str, path: &str| a.admission(&method.parse().unwrap(), path);
    for (method, path) in [("GET", "/v1/"), ("HEAD", "/v1/a%20b"), ("POST", "/up")] {
        let given = admission(method, path);
        assert!(matches!(given, Admission::Allowed), "{method} {path}");
    }
    for (method, path) in [
        ("POST", "/v1/a"),
        ("GET", "/"),
        ("get", "/v1/a"),
        ("POST", "/up/x"),
    ] {
        let given = admission(method, path);
        assert!(matches!(given, Admission::Denied), "{method} {path}");
    }
    for path in [
        "/v1/../x",
        "//v1/a",
        "/v1%2fa",
        "/v1/%2e%2e/x",
        "/v1/a;b",
        "*",
        "",
    ] {
        let given = admission("GET", path);
        assert!(matches!(given, Admission::Malformed(_)), "{path}");
    }
    let b = all.of("b.example", 443).unwrap();
    let any = b.admission(&Method::DELETE, "/v1/../x");
    assert!(matches!(any, Admission::Allowed));
}

#[test]
fn a_destination_is_narrow_if_a_method_or_a_path_is_named() {
    let is_narrow = |secrets: &[&str], requests: &[&str]| {
        let all = destinations(secrets, requests);
        all.of("a.example", 443).unwrap().is_narrow()
    };
    assert!(!is_narrow(&["A@a.example", "B@b.example/v1/*"], &[]));
    assert!(!is_narrow(&[], &["https://a.example"]));
    assert!(is_narrow(&["A@a.example/v1/*"], &[]));
    assert!(is_narrow(&["A@a.example:GET"], &[]));
    assert!(is_narrow(&["A@a.example"], &["https://a.example/v1/*"]));
    assert!(is_narrow(&[], &["https://a.example:POST"]));
}

#[test]
fn a_secret_is_for_the_requests_of_its_destination() {
    let all = destinations(&["A@a.example/v1/*:GET", "B@a.example"], &[]);
    let a = all.of("a.example", 443).unwrap();
    let [narrow, wide] = a.secrets.as_slice() else {
        panic!("{a:?}");
    };
    assert!(narrow.is_for(&Method::GET, "/v1/x") && !narrow.is_for(&Method::POST, "/v1/x"));
    assert!(!narrow.is_for(&Method::GET, "/v1/../x") && !narrow.is_for(&Method::GET, "/v2"));
    assert!(wide.is_for(&Method::POST, "/v1/../x") && wide.is_for(&Method::OPTIONS, "*"));
    assert!(!wide.is_for(&Method::TRACE, "/"));
}
