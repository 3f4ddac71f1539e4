//! Rules that allow some requests to a host.

use http::Method;
use msb_tls_edge::HttpVerdict;

use crate::guest;
use crate::lab::{HOST, Lab, VALUE};
use crate::upstream::{HostAuthority, Upstream, full, ok};

/// A lab with rules for the host of its secret.
async fn lab(rules: &[String]) -> Lab {
    let authority = HostAuthority::new();
    let config = authority.config(&[HOST], &["h2", "http/1.1"]);
    let upstream = Upstream::http(config, ok()).await;
    let rules: Vec<_> = rules.iter().map(String::as_str).collect();
    Lab::with(upstream, &authority, &format!("K@{HOST}"), &rules)
}

#[tokio::test]
async fn only_requests_of_a_rule_are_sent() {
    let lab = lab(&[
        format!("https://{HOST}/v1/*:GET,HEAD"),
        format!("https://{HOST}/upload:POST"),
    ])
    .await;
    let cases = [
        (Method::GET, "/v1/models?x=/../", 200),
        (Method::POST, "/upload", 200),
        (Method::POST, "/v1/models", 403),
        (Method::GET, "/", 403),
        (Method::GET, "/upload", 403),
        (Method::DELETE, "/upload", 403),
        (Method::GET, "/v1/../upload", 400),
        (Method::GET, "/v1/%2e%2e/upload", 400),
        (Method::GET, "/v1%2f..", 400),
        (Method::GET, "//v1/x", 400),
        (Method::GET, "/v1/x;y", 400),
    ];
    for guest in lab.guests().await {
        for (method, path, status) in &cases {
            let request = guest.request(method.clone(), path).body(full("")).unwrap();
            let answer = guest.send(request).await.unwrap();
            assert_eq!(answer.status(), *status, "{method} {path}");
            guest::text(answer).await;
        }
        guest.close().await;
    }
    assert_eq!(lab.upstream.seen().len(), 4);
    for (record, (method, _, status)) in lab.log.http().iter().zip(cases.iter().cycle()) {
        assert_eq!(record.method, method.as_str());
        assert_eq!(record.status, Some(*status));
        let is_allowed = record.verdict == HttpVerdict::Allowed;
        assert_eq!(is_allowed, *status == 200);
    }
    assert_eq!(lab.log.http().len(), 2 * cases.len());
}

#[tokio::test]
async fn a_denied_request_is_answered_in_json() {
    let lab = lab(&[format!("https://{HOST}/v1/*:GET")]).await;
    for guest in lab.guests().await {
        let answer = guest.get_with("/v2", &lab).await.unwrap();
        assert_eq!(
            answer.headers()["x-msb-rule"],
            format!("https://{HOST}").as_str()
        );
        assert_eq!(answer.headers()["content-type"], "application/json");
        let json: serde_json::Value = serde_json::from_str(&guest::text(answer).await).unwrap();
        assert_eq!(
            (json["error"].as_str(), json["path"].as_str()),
            (Some("denied"), Some("/v2"))
        );
        // The connection goes on.
        let answer = guest.get_with("/v1/x", &lab).await.unwrap();
        assert_eq!(guest::text(answer).await, "ok");
    }
    for request in lab.upstream.seen() {
        assert_eq!(request.header("authorization"), format!("Bearer {VALUE}"));
    }
}

#[tokio::test]
async fn a_value_is_placed_in_requests_of_its_path_only() {
    let authority = HostAuthority::new();
    let config = authority.config(&[HOST], &["h2", "http/1.1"]);
    let upstream = Upstream::http(config, ok()).await;
    let lab = Lab::with(upstream, &authority, &format!("K@{HOST}/v1/*:GET"), &[]);
    for guest in lab.guests().await {
        for path in ["/v1/x", "/v2", "/v1/../v2"] {
            guest::text(guest.get_with(path, &lab).await.unwrap()).await;
        }
    }
    for request in lab.upstream.seen() {
        let has_value = request.header("authorization").contains(VALUE);
        assert_eq!(has_value, request.uri.ends_with("/v1/x"), "{}", request.uri);
    }
    assert_eq!(lab.upstream.seen().len(), 6);
}

#[tokio::test]
async fn no_header_makes_another_request_of_one_that_a_rule_admits() {
    let overrides = [
        ("x-original-url", "/admin"),
        ("x-rewrite-url", "/admin"),
        ("x-http-method", "DELETE"),
        ("x-http-method-override", "DELETE"),
        ("x-method-override", "DELETE"),
    ];
    for (rule, is_narrow) in [("/v1/*:GET", true), ("", false)] {
        let lab = lab(&[format!("https://{HOST}{rule}")]).await;
        for guest in lab.guests().await {
            let answer = guest.get("/v1/x", &overrides).await.unwrap();
            assert_eq!(guest::text(answer).await, "ok");
        }
        for request in lab.upstream.seen() {
            for (name, _) in overrides {
                let is_gone = !request.headers.contains_key(name);
                assert_eq!(is_gone, is_narrow, "{rule}: {name}");
            }
        }
        assert_eq!(lab.upstream.seen().len(), 2);
    }
}
