//! Connections that one side ends while the other one goes on.

use std::convert::Infallible;
use std::error::Error as _;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use h2::Reason;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use msb_tls_edge::Served;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::Notify;
use tokio::time::sleep;

use crate::guest;
use crate::lab::{HOST, Lab, Tls, within};
use crate::upstream::{HostAuthority, Upstream, frames, full, handler};

/// Returns a server of HTTP/2 that has each connection end once `ending` is notified. `/open` is an answer without end.
async fn ending_server(authority: &HostAuthority, ending: Arc<Notify>) -> Upstream {
    let config = authority.config(&[HOST], &["h2"]);
    let open = Arc::new(Mutex::new(Vec::new()));
    Upstream::raw(config, move |stream| {
        let (ending, open) = (Arc::clone(&ending), Arc::clone(&open));
        async move {
            let service = service_fn(move |request: Request<Incoming>| {
                let body = if request.uri().path() == "/open" {
                    let (sender, body) = frames();
                    open.lock().unwrap().push(sender);
                    body
                } else {
                    full("ok")
                };
                async move { Ok::<_, Infallible>(Response::new(body)) }
            });
            let builder = http2::Builder::new(TokioExecutor::new());
            let connection = builder.serve_connection(TokioIo::new(stream), service);
            let mut connection = pin!(connection);
            tokio::select! {
                _ = connection.as_mut() => return,
                () = ending.notified() => connection.as_mut().graceful_shutdown(),
            }
            // The guest's connection may end first.
            let _ = connection.await;
        }
    })
    .await
}

#[tokio::test]
async fn a_request_that_the_host_does_not_take_is_one_to_send_again() {
    let authority = HostAuthority::new();
    let ending = Arc::new(Notify::new());
    let upstream = ending_server(&authority, Arc::clone(&ending)).await;
    let lab = Lab::with(upstream, &authority, &format!("K@{HOST}"), &[]);
    let guest = lab.http2().await;
    let open = guest.get("/open", &[]).await.unwrap();
    ending.notify_one();
    // Requests are answered until the announcement of the end has arrived.
    let error = loop {
        match guest.get_with("/", &lab).await {
            Ok(answer) => assert_eq!(guest::text(answer).await, "ok"),
            Err(error) => break error,
        }
    };
    let source = error.source();
    let source = source.and_then(|source| source.downcast_ref::<h2::Error>());
    let reason = source.and_then(h2::Error::reason);
    assert_eq!(reason, Some(Reason::REFUSED_STREAM), "{error:?}");
    // The guest is told to open another connection: this one ends with its last answer.
    drop(open);
    let outcome = guest.closed().await;
    assert!(matches!(outcome, Served::Ended { .. }), "{outcome:?}");
}

#[tokio::test]
async fn a_guest_that_ends_its_side_gets_its_answer() {
    let answering = Arc::new(Notify::new());
    let waiting = Arc::clone(&answering);
    let lab = Lab::new(handler(move |_| {
        let waiting = Arc::clone(&waiting);
        async move {
            waiting.notified().await;
            Response::new(full("late"))
        }
    }))
    .await;
    let Tls { mut stream, served } = lab.tls(&["http/1.1"]).await.unwrap();
    let request = format!("GET / HTTP/1.1\r\nhost: {HOST}\r\n\r\n");
    let mut answer = String::new();
    within(async {
        stream.write_all(request.as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
        // The edge sees the end of the guest's side before there is an answer.
        sleep(Duration::from_millis(50)).await;
        answering.notify_one();
        stream.read_to_string(&mut answer).await.unwrap();
    })
    .await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.ends_with("late"), "{answer}");
    let outcome = within(served).await.unwrap();
    assert!(
        matches!(outcome, Served::Ended { is_clean: true }),
        "{outcome:?}"
    );
}
