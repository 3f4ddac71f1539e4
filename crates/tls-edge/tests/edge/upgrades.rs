//! Connections that change their protocol.

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use msb_tls_edge::{HttpRecord, Served};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::task::JoinHandle;

use crate::guest;
use crate::lab::{HOST, Lab, VALUE, within};
use crate::upstream::{Handler, full, handler, ok};

/// Answers 101, and then does what a function does with the connection.
fn changes<F, A>(serve: F) -> Handler
where
    F: Fn(TokioIo<Upgraded>) -> A + Clone + Send + Sync + 'static,
    A: Future<Output = ()> + Send + 'static,
{
    handler(move |request: Request<Incoming>| {
        let serve = serve.clone();
        async move {
            tokio::spawn(async move {
                let upgraded = hyper::upgrade::on(request).await.unwrap();
                serve(TokioIo::new(upgraded)).await;
            });
            let answer = Response::builder().status(StatusCode::SWITCHING_PROTOCOLS);
            let answer = answer
                .header("connection", "upgrade")
                .header("upgrade", "websocket");
            answer
                .header("sec-websocket-accept", "x")
                .body(full(""))
                .unwrap()
        }
    })
}

/// Sends a request for another protocol. Returns its answer, and the outcome of the connection.
async fn ask(lab: &Lab, protocols: &str) -> (Response<Incoming>, JoinHandle<Served>) {
    ask_as(lab, protocols, &lab.token).await
}

/// Does the same with a credential.
async fn ask_as(
    lab: &Lab,
    protocols: &str,
    credential: &str,
) -> (Response<Incoming>, JoinHandle<Served>) {
    let tls = lab.tls(&["http/1.1"]).await.unwrap();
    let (mut sender, connection) = http1::handshake(TokioIo::new(tls.stream)).await.unwrap();
    tokio::spawn(connection.with_upgrades());
    let request = Request::builder()
        .method(Method::GET)
        .uri("/socket")
        .header("host", HOST)
        .header("authorization", format!("Bearer {credential}"))
        .header("connection", "keep-alive, Upgrade, HTTP2-Settings")
        .header("upgrade", protocols)
        .header("http2-settings", "AAMAAABkAAQ")
        .header("sec-websocket-key", "x")
        .header("sec-websocket-extensions", "permessage-deflate");
    let request = request.body(Full::<Bytes>::default()).unwrap();
    let answer = within(sender.send_request(request)).await.unwrap();
    (answer, tls.served)
}

#[tokio::test]
async fn a_websocket_is_copied_both_ways() {
    let lab = Lab::new(changes(|socket| async move {
        let (mut reader, mut writer) = tokio::io::split(socket);
        let _ = tokio::io::copy(&mut reader, &mut writer).await;
        let _ = writer.shutdown().await;
    }))
    .await;
    let (answer, served) = ask(&lab, "websocket").await;
    assert_eq!(answer.status(), 101);
    assert_eq!(answer.headers()["upgrade"], "websocket");
    assert_eq!(answer.headers()["sec-websocket-accept"], "x");
    let mut socket = TokioIo::new(within(hyper::upgrade::on(answer)).await.unwrap());
    for number in 0..100 {
        let message = format!("message {number}: {} ", lab.token);
        let mut echo = vec![0; message.len()];
        within(async {
            socket.write_all(message.as_bytes()).await.unwrap();
            socket.flush().await.unwrap();
            socket.read_exact(&mut echo).await.unwrap();
        })
        .await;
        assert_eq!(echo, message.as_bytes());
    }
    within(socket.shutdown()).await.unwrap();
    assert_eq!(within(socket.read(&mut [0; 1])).await.unwrap(), 0);
    drop(socket);
    let outcome = within(served).await.unwrap();
    assert!(
        matches!(outcome, Served::Ended { is_clean: true }),
        "{outcome:?}"
    );
    let seen = lab.upstream.only();
    assert_eq!(seen.header("authorization"), format!("Bearer {VALUE}"));
    assert_eq!(seen.header("upgrade"), "websocket");
    assert!(!seen.headers.contains_key("sec-websocket-extensions"));
    let [record]: [HttpRecord; 1] = lab.log.http().try_into().unwrap();
    assert_eq!(record.status, Some(101));
    assert!(
        record.sent > 1000 && record.sent == record.received,
        "{record:?}"
    );
}

#[tokio::test]
async fn a_message_that_holds_the_value_is_withheld() {
    let lab = Lab::new(changes(|mut socket| async move {
        let _ = socket.write_all(format!("hello {VALUE}!").as_bytes()).await;
        let _ = socket.flush().await;
        let _ = socket.read(&mut [0; 1]).await;
    }))
    .await;
    // The host may have the value from a request of another connection.
    for credential in [lab.token.as_str(), "none"] {
        let (answer, served) = ask_as(&lab, "websocket", credential).await;
        let mut socket = TokioIo::new(within(hyper::upgrade::on(answer)).await.unwrap());
        let mut bytes = Vec::new();
        // The end of TLS is missing.
        within(socket.read_to_end(&mut bytes)).await.unwrap_err();
        let text = String::from_utf8(bytes).unwrap();
        assert!(
            format!("hello {VALUE}").starts_with(&text) && !text.contains(VALUE),
            "{text}"
        );
        let outcome = within(served).await.unwrap();
        assert!(
            matches!(outcome, Served::Ended { is_clean: false }),
            "{outcome:?}"
        );
    }
    assert_eq!(lab.log.reflected(), 2);
}

#[tokio::test]
async fn http_2_without_tls_is_not_offered_to_the_host() {
    let lab = Lab::new(ok()).await;
    for protocols in ["h2c", "h2c, HTTP/2.0"] {
        let (answer, _) = ask(&lab, protocols).await;
        assert_eq!(answer.status(), 200);
        assert_eq!(guest::text(answer).await, "ok");
    }
    for request in lab.upstream.seen() {
        for name in ["upgrade", "http2-settings", "connection"] {
            assert!(!request.headers.contains_key(name), "{request:?}");
        }
    }
}

#[tokio::test]
async fn a_host_that_does_not_change_the_protocol_goes_on_with_http() {
    let lab = Lab::new(handler(|_| async {
        Response::builder().status(403).body(full("no")).unwrap()
    }))
    .await;
    let (answer, _) = ask(&lab, "websocket").await;
    assert_eq!(answer.status(), 403);
    let body = within(answer.into_body().collect()).await.unwrap();
    assert_eq!(body.to_bytes(), "no");
    assert_eq!(lab.upstream.only().header("upgrade"), "websocket");
}

#[tokio::test]
async fn a_change_that_was_not_asked_for_is_refused() {
    let lab = Lab::new(handler(|_| async {
        let answer = Response::builder().status(StatusCode::SWITCHING_PROTOCOLS);
        answer
            .header("upgrade", "websocket")
            .body(full(""))
            .unwrap()
    }))
    .await;
    let guest = lab.http1().await;
    let answer = guest.get_with("/", &lab).await.unwrap();
    assert_eq!(answer.status(), 502);
}
