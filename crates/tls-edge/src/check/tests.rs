use http::Request;

use super::*;
use crate::fixtures::{destination, secret};

fn head(version: Version, method: &str, uri: &str, headers: &[(&str, &str)]) -> Parts {
    let mut request = Request::builder().version(version).method(method).uri(uri);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(()).unwrap().into_parts().0
}

fn checked(head: &Parts) -> Result<(), Refusal> {
    check(head, &destination(vec![secret("K@api.example.com")]))
}

/// Returns true if the request is refused because of its host.
fn is_misdirected(version: Version, uri: &str, hosts: &[&str]) -> bool {
    let hosts: Vec<_> = hosts.iter().map(|host| ("host", *host)).collect();
    match checked(&head(version, "GET", uri, &hosts)) {
        Ok(()) => false,
        Err(Refusal::Authority) => true,
        Err(other) => panic!("{uri} {hosts:?}: {other:?}"),
    }
}

#[test]
fn a_request_for_the_host_of_the_connection_passes() {
    let http1 = [
        ("/", "api.example.com"),
        ("/", "API.example.com:443"),
        ("*", "api.example.com"),
        ("https://api.example.com/x?y", "api.example.com"),
        ("https://API.EXAMPLE.COM:443", "api.example.com:443"),
    ];
    for (uri, host) in http1 {
        assert!(
            !is_misdirected(Version::HTTP_11, uri, &[host]),
            "{uri} {host}"
        );
    }
    let of_uri = "https://api.example.com/";
    assert!(!is_misdirected(Version::HTTP_2, of_uri, &[]));
    assert!(!is_misdirected(
        Version::HTTP_2,
        of_uri,
        &["api.example.com"]
    ));
    assert!(!is_misdirected(Version::HTTP_2, "/", &["api.example.com"]));
    assert!(!is_misdirected(Version::HTTP_10, "/", &["api.example.com"]));
}

#[test]
fn a_request_for_another_host_is_misdirected() {
    let others = [
        "other.example.com",
        "api.example.com.",
        "api.example.com.evil.example",
        "evil.example/api.example.com",
        "user@api.example.com",
        "api.example.com:444",
        "api.example.com:",
        "api.example.com:0443",
        "api.example.com:+443",
        "api.example.com:443:443",
        "api.example.com, evil.example",
        " ",
        "",
    ];
    for host in others {
        assert!(is_misdirected(Version::HTTP_11, "/", &[host]), "{host:?}");
        assert!(is_misdirected(Version::HTTP_2, "/", &[host]), "{host:?}");
    }
    let uris = [
        "https://evil.example/",
        "https://user@api.example.com/",
        "https://api.example.com:444/",
        "http://api.example.com/",
        "ftp://api.example.com/",
    ];
    for uri in uris {
        let hosts = ["api.example.com"];
        assert!(is_misdirected(Version::HTTP_11, uri, &hosts), "{uri}");
        assert!(is_misdirected(Version::HTTP_2, uri, &hosts), "{uri}");
    }
}

#[test]
fn a_request_has_exactly_one_host() {
    let right = "api.example.com";
    assert!(is_misdirected(Version::HTTP_11, "/", &[]));
    assert!(is_misdirected(Version::HTTP_10, "/", &[]));
    assert!(is_misdirected(Version::HTTP_11, "/", &[right, right]));
    assert!(is_misdirected(
        Version::HTTP_11,
        "/",
        &[right, "evil.example"]
    ));
    assert!(is_misdirected(Version::HTTP_2, "/", &[]));
    let of_uri = "https://api.example.com/";
    assert!(is_misdirected(Version::HTTP_11, of_uri, &[]));
    assert!(is_misdirected(Version::HTTP_2, of_uri, &[right, right]));
    assert!(is_misdirected(Version::HTTP_2, of_uri, &["evil.example"]));
}

#[test]
fn connect_and_trace_are_refused() {
    let host = [("host", "api.example.com")];
    for (method, uri) in [("CONNECT", "api.example.com:443"), ("TRACE", "/")] {
        let refused = checked(&head(Version::HTTP_11, method, uri, &host));
        assert!(
            matches!(refused, Err(Refusal::Method)),
            "{method}: {refused:?}"
        );
    }
}

#[test]
fn only_a_chunked_body_or_one_with_a_length_is_accepted() {
    let coded = |codings: &[&str]| {
        let host = ("host", "api.example.com");
        let codings = codings.iter().map(|coding| ("transfer-encoding", *coding));
        let headers: Vec<_> = std::iter::once(host).chain(codings).collect();
        checked(&head(Version::HTTP_11, "POST", "/", &headers))
    };
    coded(&[]).unwrap();
    coded(&["chunked"]).unwrap();
    coded(&["Chunked"]).unwrap();
    for codings in [
        &["gzip, chunked"][..],
        &["gzip", "chunked"],
        &["chunked", "chunked"],
        &["identity"],
        &["xchunked"],
        &[""],
    ] {
        let refused = coded(codings);
        assert!(matches!(refused, Err(Refusal::Coding)), "{codings:?}");
    }
}

#[test]
fn an_authority_names_a_port_other_than_that_of_https() {
    let of = |port| {
        authority_of(&Destination {
            name: "a.example".to_owned(),
            port,
            secrets: Vec::new(),
            requests: Vec::new(),
        })
    };
    assert_eq!(of(443), "a.example");
    assert_eq!(of(8443), "a.example:8443");
}
