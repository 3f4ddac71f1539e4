//! Requests that name another host than that of their connection: the host sees none of them.

use http::{Method, Request};
use msb_tls_edge::HttpVerdict;

use crate::guest;
use crate::lab::{HOST, Lab, VALUE};
use crate::upstream::{HostAuthority, Upstream, full, ok};

/// Returns the status of the answer to a request that is sent as it is, over HTTP/1.1.
async fn status(lab: &Lab, request: &str) -> String {
    let answer = guest::raw(lab, request.replace('\n', "\r\n").as_bytes()).await;
    let line = answer.lines().next().unwrap_or_default();
    let (_, status) = line.split_once(' ').unwrap_or_default();
    status.to_owned()
}

#[tokio::test]
async fn a_request_of_http_1_for_another_host_is_refused() {
    let lab = Lab::new(ok()).await;
    let token = lab.token.clone();
    let credential = format!("Authorization: Bearer {token}");
    let heads = [
        "GET / HTTP/1.1\nHost: attacker.example".to_owned(),
        "GET / HTTP/1.1".to_owned(),
        "GET / HTTP/1.0".to_owned(),
        format!("GET / HTTP/1.1\nHost: {HOST}\nHost: {HOST}"),
        format!("GET / HTTP/1.1\nHost: {HOST}\nHost: attacker.example"),
        format!("GET / HTTP/1.1\nHost: {HOST}:444"),
        format!("GET / HTTP/1.1\nHost: {HOST}."),
        format!("GET / HTTP/1.1\nHost: x@{HOST}"),
        format!("GET / HTTP/1.1\nHost: {HOST}, attacker.example"),
        format!("GET https://attacker.example/ HTTP/1.1\nHost: {HOST}"),
        format!("GET https://{HOST}/ HTTP/1.1\nHost: attacker.example"),
        format!("GET https://{HOST}/ HTTP/1.1"),
        format!("GET http://{HOST}/ HTTP/1.1\nHost: {HOST}"),
        format!("GET {HOST} HTTP/1.1\nHost: {HOST}"),
    ];
    for head in &heads {
        let status = status(&lab, &format!("{head}\n{credential}\n\n")).await;
        assert_eq!(status, "421 Misdirected Request", "{head}");
    }
    assert_eq!(lab.upstream.seen().len(), 0);
    let records = lab.log.http();
    assert_eq!(records.len(), heads.len());
    for record in records {
        assert_eq!(record.status, Some(421));
        assert_eq!(record.verdict, HttpVerdict::Denied);
        assert!(record.secrets.is_empty());
    }
}

#[tokio::test]
async fn a_request_in_absolute_form_for_the_host_is_sent_in_origin_form() {
    let lab = Lab::new(ok()).await;
    let request = format!(
        "GET https://{HOST}:443/x?y HTTP/1.1\nHost: {HOST}\nAuthorization: Bearer {}\n\
         Connection: close\n\n",
        lab.token
    );
    assert_eq!(status(&lab, &request).await, "200 OK");
    let seen = lab.upstream.only();
    assert_eq!((seen.uri.as_str(), seen.header("host")), ("/x?y", HOST));
    assert_eq!(seen.header("authorization"), format!("Bearer {VALUE}"));
}

#[tokio::test]
async fn connect_and_trace_are_refused() {
    let lab = Lab::new(ok()).await;
    let requests = [
        format!("CONNECT {HOST}:443 HTTP/1.1\nHost: {HOST}\n\n"),
        "CONNECT attacker.example:443 HTTP/1.1\nHost: attacker.example:443\n\n".to_owned(),
        format!("TRACE / HTTP/1.1\nHost: {HOST}\n\n"),
    ];
    for request in &requests {
        assert_eq!(
            status(&lab, request).await,
            "405 Method Not Allowed",
            "{request}"
        );
    }
    assert_eq!(lab.upstream.seen().len(), 0);
}

#[tokio::test]
async fn a_request_of_http_2_for_another_host_is_refused() {
    let lab = Lab::new(ok()).await;
    let credential = format!("Bearer {}", lab.token);
    let cases = [
        ("https://attacker.example/".to_owned(), None),
        (format!("https://{HOST}:444/"), None),
        (format!("http://{HOST}/"), None),
        (format!("https://{HOST}/"), Some("attacker.example")),
    ];
    for (uri, host) in cases {
        let guest = lab.http2().await;
        let mut request = Request::builder().method(Method::GET).uri(&uri);
        request = request.header("authorization", &credential);
        if let Some(host) = host {
            request = request.header("host", host);
        }
        let answer = guest.send(request.body(full("")).unwrap()).await.unwrap();
        assert_eq!(answer.status(), 421, "{uri} {host:?}");
        assert_eq!(answer.headers()["x-msb-refused"], "authority");
        guest::text(answer).await;
        // The edge closes the connection.
        guest.closed().await;
    }
    assert_eq!(lab.upstream.seen().len(), 0);
}

#[tokio::test]
async fn connect_over_http_2_is_refused() {
    let lab = Lab::new(ok()).await;
    let guest = lab.http2().await;
    let request = Request::builder()
        .method(Method::CONNECT)
        .uri("attacker.example:443");
    let answer = guest.send(request.body(full("")).unwrap()).await.unwrap();
    assert_eq!(answer.status(), 405);
    guest.closed().await;
    assert_eq!(lab.upstream.seen().len(), 0);
}

#[tokio::test]
async fn a_connection_to_another_name_of_the_same_server_has_its_own_certificate() {
    // Clients use a connection for all names of its certificate (coalescing): it has one.
    let authority = HostAuthority::new();
    let config = authority.config(&[HOST, "b.example.com"], &["h2", "http/1.1"]);
    let upstream = Upstream::http(config, ok()).await;
    let secret = format!("K@{HOST},b.example.com");
    let lab = Lab::with(upstream, &authority, &secret, &[]);
    let tls = lab.tls(&["h2"]).await.unwrap();
    let (_, state) = tls.stream.get_ref();
    let [leaf, ..] = state.peer_certificates().unwrap() else {
        panic!("no certificate");
    };
    let holds = |name: &str| leaf.windows(name.len()).any(|part| part == name.as_bytes());
    assert!(holds(HOST) && !holds("b.example.com"));
}
