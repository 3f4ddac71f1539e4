//! A guest that speaks HTTP over a connection that is ended.

use std::sync::Arc;

use http::{Method, Request, Response, request};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use msb_tls_edge::Served;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

use crate::lab::{HOST, Lab, Tls, within};
use crate::upstream::{TestBody, full};

/// A guest's client of one connection.
pub(crate) struct Guest {
    sender: Sender,
    served: JoinHandle<Served>,
}

enum Sender {
    Http1(Arc<Mutex<http1::SendRequest<TestBody>>>),
    Http2(http2::SendRequest<TestBody>),
}

impl Guest {
    pub(crate) async fn http1(tls: Tls) -> Self {
        let io = TokioIo::new(tls.stream);
        let (sender, connection) = within(http1::handshake(io)).await.unwrap();
        tokio::spawn(connection.with_upgrades());
        Self {
            sender: Sender::Http1(Arc::new(Mutex::new(sender))),
            served: tls.served,
        }
    }

    pub(crate) async fn http2(tls: Tls) -> Self {
        assert_eq!(
            tls.stream.get_ref().1.alpn_protocol(),
            Some(b"h2".as_slice())
        );
        let io = TokioIo::new(tls.stream);
        let (sender, connection) = within(http2::handshake(TokioExecutor::new(), io))
            .await
            .unwrap();
        tokio::spawn(connection);
        Self {
            sender: Sender::Http2(sender),
            served: tls.served,
        }
    }

    pub(crate) fn is_h2(&self) -> bool {
        matches!(self.sender, Sender::Http2(_))
    }

    /// Returns a request to the host, as this version of HTTP has it.
    pub(crate) fn request(&self, method: Method, path: &str) -> request::Builder {
        let builder = Request::builder().method(method);
        if self.is_h2() {
            builder.uri(format!("https://{HOST}{path}"))
        } else {
            builder.uri(path).header("host", HOST)
        }
    }

    /// Sends a request, and waits for the head of its answer.
    pub(crate) async fn send(
        &self,
        request: Request<TestBody>,
    ) -> hyper::Result<Response<Incoming>> {
        within(async {
            match &self.sender {
                Sender::Http1(sender) => {
                    let mut sender = sender.lock().await;
                    sender.ready().await?;
                    sender.send_request(request).await
                }
                Sender::Http2(sender) => sender.clone().send_request(request).await,
            }
        })
        .await
    }

    /// Sends a request without a body.
    pub(crate) async fn get(
        &self,
        path: &str,
        headers: &[(&str, &str)],
    ) -> hyper::Result<Response<Incoming>> {
        let mut builder = self.request(Method::GET, path);
        for (name, value) in headers {
            builder = builder.header(*name, *value);
        }
        self.send(builder.body(full("")).unwrap()).await
    }

    /// Sends a request with the placeholder as its credential.
    pub(crate) async fn get_with(
        &self,
        path: &str,
        lab: &Lab,
    ) -> hyper::Result<Response<Incoming>> {
        let credential = format!("Bearer {}", lab.token);
        self.get(path, &[("authorization", &credential)]).await
    }

    /// Closes the connection, and returns its outcome.
    pub(crate) async fn close(self) -> Served {
        drop(self.sender);
        within(self.served).await.unwrap()
    }

    /// Returns the outcome of the connection that the edge closes.
    pub(crate) async fn closed(self) -> Served {
        let Self { sender, served } = self;
        let served = within(served).await.unwrap();
        drop(sender);
        served
    }
}

/// Returns the text of an answer.
pub(crate) async fn text(answer: Response<Incoming>) -> String {
    let body = within(answer.into_body().collect()).await.unwrap();
    String::from_utf8(body.to_bytes().to_vec()).unwrap()
}

/// Returns the bytes of an answer until it ends or breaks off, and true if it broke off, which it may do before its
/// head is sent.
pub(crate) async fn bytes_of(answer: hyper::Result<Response<Incoming>>) -> (Vec<u8>, bool) {
    let Ok(answer) = answer else {
        return (Vec::new(), true);
    };
    let mut body = answer.into_body();
    let mut all = Vec::new();
    loop {
        match within(body.frame()).await {
            None => return (all, false),
            Some(Err(_)) => return (all, true),
            Some(Ok(frame)) => all.extend(frame.into_data().unwrap_or_default()),
        }
    }
}

/// Sends bytes over an ended connection, and returns all that comes back until it is closed.
pub(crate) async fn raw(lab: &Lab, bytes: &[u8]) -> String {
    let Tls { stream, served } = lab.tls(&["http/1.1"]).await.unwrap();
    let (mut reader, mut writer) = tokio::io::split(stream);
    let mut answer = Vec::new();
    within(async {
        // The edge may close while it is written to.
        let _ = writer.write_all(bytes).await;
        let _ = writer.flush().await;
        let _ = reader.read_to_end(&mut answer).await;
    })
    .await;
    drop((reader, writer));
    let _ = within(served).await.unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}
