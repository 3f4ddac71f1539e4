//! A hostile guest's requests over HTTP/1.1 on a connection whose TLS is ended.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use msb_secrets::{Secret, SecretValue};
use msb_tls_edge::fuzzing::exchange;
use msb_tls_edge::{EdgeEvent, HttpRecord, HttpVerdict};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};

use crate::strict_http::{Request, find};

const HOST: &str = "api.example.com";
const VALUE: &str = "v4lue+0123456789/abcdef";
/// The placeholder that inputs have.
const PLACEHOLDER: &str = "msb-secret-0123456789abcdef0123456789abcdef01234567";
/// The headers that take a value.
const CREDENTIALS: [&str; 6] = [
    "authorization",
    "x-api-key",
    "api-key",
    "x-goog-api-key",
    "private-token",
    "x-auth-token",
];
/// The headers that a host must not see, because they speak of the guest's connection.
const OF_CONNECTION: [&str; 4] = ["keep-alive", "proxy-connection", "http2-settings", "expect"];
/// The longest method in a record, and what is left of a longer one.
const METHOD_MAX: usize = 16;
const METHOD_SHORT: usize = 13;

/// Plays a guest that sends bytes, and a host that answers each request.
///
/// # Panics
/// If the host reads another request than the one that was checked, or the value where it must not be.
pub fn run(bytes: &[u8]) {
    let Some((&choice, bytes)) = bytes.split_first() else {
        return;
    };
    if find(bytes, VALUE.as_bytes()).is_some() {
        return;
    }
    let echoes = choice & 1 != 0;
    // The smaller the buffer, the more pieces a request arrives in.
    let buffer_bytes = [1 << 16, 512, 64, 7][usize::from(choice >> 1) & 3];
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let (guest, guest_end) = tokio::io::duplex(buffer_bytes);
        let (host, host_end) = tokio::io::duplex(buffer_bytes);
        let value = SecretValue::new(VALUE).expect("a value");
        let all = async {
            tokio::join!(
                exchange((guest_end, host_end), HOST, secret(), value),
                play_guest(guest, bytes),
                play_host(host, echoes),
            )
        };
        // Time is virtual: it passes when nothing else can happen.
        if let Ok((events, answers, requests)) =
            tokio::time::timeout(Duration::from_secs(60), all).await
        {
            let shown = find(&answers, VALUE.as_bytes());
            assert!(shown.is_none(), "an answer has the value");
            compare(&requests, events);
        }
    });
}

fn secret() -> Secret {
    let mut secret: Secret = format!("KEY@{HOST}").parse().expect("a secret");
    secret.placeholder = Some(PLACEHOLDER.parse().expect("a placeholder"));
    secret
}

/// Sends the bytes, and returns the answers.
async fn play_guest(guest: DuplexStream, bytes: &[u8]) -> Vec<u8> {
    let (mut reader, mut writer) = tokio::io::split(guest);
    let mut answers = Vec::new();
    // The connection may be closed before all is sent.
    let _ = tokio::join!(
        async {
            let _ = writer.write_all(bytes).await;
            writer.shutdown().await
        },
        reader.read_to_end(&mut answers),
    );
    answers
}

/// Reads requests and answers each. Returns them, also one whose body does not end.
async fn play_host(mut host: DuplexStream, echoes: bool) -> Vec<Request> {
    let (mut requests, mut arrived) = (Vec::new(), Vec::new());
    while let Ok(1..) = host.read_buf(&mut arrived).await {
        while let Some(request) = Request::read(&arrived)
            && let Some(length) = request.length
        {
            check(&request, &arrived[..length]);
            let body = if echoes {
                &arrived[..length]
            } else {
                &b"ok"[..]
            };
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
            let answer = [head.as_bytes(), body].concat();
            arrived.drain(..length);
            requests.push(request);
            // The edge may have closed the connection.
            let _ = host.write_all(&answer).await;
        }
    }
    if let Some(request) = Request::read(&arrived) {
        check(&request, &arrived);
        requests.push(request);
    }
    requests
}

/// Checks a request that the host got.
fn check(request: &Request, bytes: &[u8]) {
    let Request {
        method,
        target,
        headers,
        ..
    } = request;
    assert!(!["CONNECT", "TRACE"].contains(&&**method), "{method}");
    let is_origin = target.starts_with(b"/") || target == b"*";
    assert!(is_origin, "the target is {}", target.escape_ascii());
    let hosts: Vec<_> = request.all("host").collect();
    assert_eq!(hosts, [HOST.as_bytes()]);
    for (name, value) in headers {
        assert!(!OF_CONNECTION.contains(&&**name), "{name}");
        if has_value(value) {
            let is_whole = CREDENTIALS.contains(&&**name) && is_credential(name, value);
            assert!(is_whole, "{name} has the value");
            assert_eq!(request.all(name).count(), 1, "{name} has the value twice");
        }
    }
    let placed = headers.iter().filter(|(_, value)| has_value(value)).count();
    let raw = bytes.windows(VALUE.len());
    let shown = raw.filter(|part| *part == VALUE.as_bytes()).count();
    assert!(shown <= placed, "the value is beside the headers");
}

/// Returns true if a header's value has the secret's, also in a Basic credential.
fn has_value(value: &[u8]) -> bool {
    find(value, VALUE.as_bytes()).is_some() || basic(value).is_some_and(|text| is_in(&text))
}

fn is_in(text: &[u8]) -> bool {
    find(text, VALUE.as_bytes()).is_some()
}

/// Returns true if the value is all of a credential.
fn is_credential(name: &str, header: &[u8]) -> bool {
    if header == VALUE.as_bytes() {
        return true;
    }
    if name != "authorization" {
        return false;
    }
    if let Some(text) = basic(header) {
        let colon = text.iter().position(|byte| *byte == b':');
        let (user, password) = text.split_at(colon.unwrap_or(0));
        let password = password.get(1..).unwrap_or_default();
        let is_it = |part: &[u8]| part == VALUE.as_bytes();
        let is_clean = |part: &[u8]| is_it(part) || !is_in(part);
        return is_clean(user) && is_clean(password) && (is_it(user) || is_it(password));
    }
    let scheme = header.strip_suffix(VALUE.as_bytes()).unwrap_or_default();
    scheme.ends_with(b" ") && !scheme.trim_ascii().contains(&b' ')
}

/// Returns the user and the password of `Basic`.
fn basic(header: &[u8]) -> Option<Vec<u8>> {
    let (scheme, encoded) = header.split_at_checked("basic ".len())?;
    if !scheme.eq_ignore_ascii_case(b"basic ") {
        return None;
    }
    STANDARD.decode(encoded.trim_ascii()).ok()
}

/// Compares the requests that the host got with those that the edge says it has sent.
fn compare(requests: &[Request], events: Vec<EdgeEvent>) {
    let records = events.into_iter().filter_map(|event| match event {
        EdgeEvent::Http(http) if http.verdict == HttpVerdict::Allowed => Some(http),
        _ => None,
    });
    let mut records: Vec<HttpRecord> = records.collect();
    for request in requests {
        let has_value = request.headers.iter().any(|(_, value)| has_value(value));
        let is_it = |record: &HttpRecord| {
            record.method == logged(&request.method) && record.secrets.is_empty() != has_value
        };
        let place = records.iter().position(is_it);
        let place = place.unwrap_or_else(|| panic!("{} was not checked", request.method));
        records.swap_remove(place);
    }
}

fn logged(method: &str) -> String {
    if method.len() <= METHOD_MAX {
        return method.to_owned();
    }
    format!("{}…", &method[..METHOD_SHORT])
}
