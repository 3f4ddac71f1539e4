//! Requests with the value of a secret, in both versions of HTTP.

use std::sync::Arc;

use http::{Method, Response};
use msb_tls_edge::{EdgeEvent, HttpVerdict, Served};
use tokio::sync::Barrier;

use crate::guest::{self, Guest};
use crate::lab::{HOST, Lab, VALUE, key, within};
use crate::upstream::{HostAuthority, Upstream, full, handler, ok};

#[tokio::test]
async fn the_host_sees_the_value_and_the_guest_has_only_the_placeholder() {
    let lab = Lab::new(ok()).await;
    for guest in lab.guests().await {
        let answer = guest.get_with("/v1/x?y=1", &lab).await.unwrap();
        assert_eq!(answer.status(), 200);
        assert_eq!(guest::text(answer).await, "ok");
        let outcome = guest.close().await;
        assert!(
            matches!(outcome, Served::Ended { is_clean: true }),
            "{outcome:?}"
        );
    }
    let seen = lab.upstream.seen();
    assert_eq!(seen.len(), 2);
    for request in &seen {
        assert_eq!(request.header("authorization"), format!("Bearer {VALUE}"));
        assert_eq!(request.header("accept-encoding"), "identity");
        assert!(!format!("{request:?}").contains(&lab.token));
    }
    assert_eq!(
        (seen[0].method.as_str(), seen[0].header("host")),
        ("GET", HOST)
    );
    assert_eq!(seen[0].uri, "/v1/x?y=1");
    assert_eq!(seen[1].uri, format!("https://{HOST}/v1/x?y=1"));
}

#[tokio::test]
async fn each_request_is_reported_once() {
    let lab = Lab::new(ok()).await;
    for guest in lab.guests().await {
        let answer = guest.get_with("/v1/x?y=1", &lab).await.unwrap();
        guest::text(answer).await;
        guest.close().await;
    }
    let records = lab.log.http();
    assert_eq!(records.len(), 2, "{records:?}");
    for (record, version) in records.iter().zip(["http/1.1", "h2"]) {
        assert_eq!(record.version, version);
        assert_eq!(
            (record.method.as_str(), record.host.as_str()),
            ("GET", HOST)
        );
        assert_eq!((record.path.as_str(), record.query), ("/v1/x", true));
        assert_eq!(record.status, Some(200));
        assert_eq!((record.sent, record.received), (0, 2));
        assert_eq!(record.secrets, [key()]);
        assert_eq!(record.verdict, HttpVerdict::Allowed);
    }
    let hellos = lab.log.all().into_iter().filter(|event| {
        *event
            == EdgeEvent::Hello {
                sni: HOST.to_owned(),
                ended: true,
            }
    });
    assert_eq!(hellos.count(), 2);
}

#[tokio::test]
async fn a_connection_takes_a_hundred_requests() {
    let lab = Lab::new(ok()).await;
    for guest in lab.guests().await {
        for number in 0..100 {
            let answer = guest.get_with(&format!("/{number}"), &lab).await.unwrap();
            assert_eq!(guest::text(answer).await, "ok");
        }
        guest.close().await;
    }
    assert_eq!(lab.upstream.handshakes(), 2);
    assert_eq!(lab.upstream.seen().len(), 200);
    assert_eq!(lab.log.http().len(), 200);
}

#[tokio::test]
async fn thirty_two_streams_are_open_at_once() {
    let all_are_there = Arc::new(Barrier::new(32));
    let lab = Lab::new(handler(move |request| {
        let all_are_there = Arc::clone(&all_are_there);
        async move {
            all_are_there.wait().await;
            Response::new(full(request.uri().path().to_owned()))
        }
    }))
    .await;
    let guest = Arc::new(lab.http2().await);
    let mut streams = tokio::task::JoinSet::new();
    for number in 0..32 {
        let guest = Arc::clone(&guest);
        let credential = format!("Bearer {}", lab.token);
        streams.spawn(async move {
            let path = format!("/{number}");
            let answer = guest.get(&path, &[("authorization", &credential)]).await;
            assert_eq!(guest::text(answer.unwrap()).await, path);
        });
    }
    while let Some(stream) = within(streams.join_next()).await {
        stream.unwrap();
    }
    assert_eq!(lab.upstream.handshakes(), 1);
    let is_right = |authorization: &str| authorization == format!("Bearer {VALUE}");
    let seen = lab.upstream.seen();
    assert!(
        seen.iter()
            .all(|request| is_right(request.header("authorization")))
    );
    assert_eq!(seen.len(), 32);
}

#[tokio::test]
async fn a_host_without_http_2_gets_http_1() {
    let authority = HostAuthority::new();
    for protocols in [&["http/1.1"][..], &[]] {
        let config = authority.config(&[HOST], protocols);
        let upstream = Upstream::http(config, ok()).await;
        let lab = Lab::with(upstream, &authority, &format!("K@{HOST}"), &[]);
        let tls = lab.tls(&["h2", "http/1.1"]).await.unwrap();
        let chosen = tls.stream.get_ref().1.alpn_protocol().map(<[u8]>::to_vec);
        assert_eq!(
            chosen,
            protocols.first().map(|name| name.as_bytes().to_vec())
        );
        let guest = Guest::http1(tls).await;
        let answer = guest.get_with("/", &lab).await.unwrap();
        assert_eq!(guest::text(answer).await, "ok");
    }
}

#[tokio::test]
async fn a_guest_that_offers_nothing_gets_http_1() {
    let lab = Lab::new(ok()).await;
    let tls = lab.tls(&[]).await.unwrap();
    assert_eq!(tls.stream.get_ref().1.alpn_protocol(), None);
    let guest = Guest::http1(tls).await;
    guest::text(guest.get_with("/", &lab).await.unwrap()).await;
    assert_eq!(
        lab.upstream.only().header("authorization"),
        format!("Bearer {VALUE}")
    );
}

#[tokio::test]
async fn a_guest_that_offers_another_protocol_is_refused() {
    let lab = Lab::new(ok()).await;
    assert!(lab.tls(&["acme-tls/1"]).await.is_err());
    assert_eq!(lab.upstream.handshakes(), 0);
}

#[tokio::test]
async fn an_answer_offers_no_other_way_to_the_host() {
    let lab = Lab::new(handler(|_| async {
        let answer = Response::builder().header("alt-svc", "h3=\":443\"");
        answer.header("x-other", "1").body(full("ok")).unwrap()
    }))
    .await;
    for guest in lab.guests().await {
        let answer = guest.get_with("/", &lab).await.unwrap();
        assert!(!answer.headers().contains_key("alt-svc"));
        assert_eq!(answer.headers()["x-other"], "1");
    }
}

#[tokio::test]
async fn a_redirect_is_the_guest_s_to_follow() {
    let lab = Lab::new(handler(|_| async {
        let answer = Response::builder().status(302);
        let answer = answer.header("location", "https://attacker.example/");
        answer.body(full("")).unwrap()
    }))
    .await;
    let guest = lab.http1().await;
    let answer = guest.get_with("/", &lab).await.unwrap();
    assert_eq!(answer.status(), 302);
    assert_eq!(answer.headers()["location"], "https://attacker.example/");
    assert_eq!(lab.upstream.seen().len(), 1);
}

#[tokio::test]
async fn an_answer_without_a_body_keeps_its_length() {
    let lab = Lab::new(handler(|request| async move {
        let answer = Response::builder().header("content-length", "5");
        let is_head = request.method() == Method::HEAD;
        answer
            .body(full(if is_head { "" } else { "hello" }))
            .unwrap()
    }))
    .await;
    for guest in lab.guests().await {
        let builder = guest.request(Method::HEAD, "/");
        let credential = format!("Bearer {}", lab.token);
        let request = builder.header("authorization", credential).body(full(""));
        let answer = guest.send(request.unwrap()).await.unwrap();
        assert_eq!(answer.headers()["content-length"], "5");
        assert_eq!(guest::text(answer).await, "");
    }
}

#[tokio::test]
async fn the_guest_s_connection_ends_with_the_host_s() {
    let lab = Lab::new(handler(|_| async {
        let answer = Response::builder().header("connection", "close");
        answer.body(full("bye")).unwrap()
    }))
    .await;
    let guest = lab.http1().await;
    let answer = guest.get_with("/", &lab).await.unwrap();
    assert_eq!(guest::text(answer).await, "bye");
    let outcome = guest.closed().await;
    assert!(matches!(outcome, Served::Ended { .. }), "{outcome:?}");
}
