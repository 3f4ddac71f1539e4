//! Requests and answers of any bytes, for the fuzz targets alone.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use msb_secrets::{Secret, SecretName, SecretValue};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Semaphore;

use crate::connection::{HttpStream, join};
use crate::event::{EdgeEvent, Events};
use crate::forward::Terms;
use crate::needle::Needle;
use crate::raw::Raw;
use crate::reflect::Scan;
use crate::settings::{Destinations, EdgeSettings};
use crate::values::{HeldValue, Values};

/// The port of the host.
const PORT: u16 = 443;

#[derive(Default)]
struct Log(Mutex<Vec<EdgeEvent>>);

impl Events for Log {
    fn event(&self, event: EdgeEvent) {
        let events = self.0.lock();
        events.unwrap_or_else(PoisonError::into_inner).push(event);
    }
}

/// Answers the requests of a guest in HTTP/1.1, after both handshakes, until a side ends. Returns the events.
///
/// # Panics
/// If the secret has no placeholder, or is not for the host.
pub async fn exchange<G, H>(
    (guest, host): (G, H),
    host_name: &str,
    secret: Secret,
    value: SecretValue,
) -> Vec<EdgeEvent>
where
    G: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    H: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let values = Values::new([secret.name.clone()]);
    let set = values.set(&secret.name, value, None);
    set.expect("the secret is one of these");
    let settings = EdgeSettings {
        secrets: vec![secret],
        requests: Vec::new(),
    };
    let destinations = Destinations::new(settings).expect("the secret has a placeholder");
    let destination = destinations.of(host_name, PORT);
    let terms = Terms {
        destination: destination.expect("the secret is for the host"),
        values,
        active: Arc::new(Semaphore::new(1)),
    };
    let log = Log::default();
    // It always gets its turn.
    let _ = join(in_http1(guest), Ok(in_http1(host)), terms, &log).await;
    let events = log.0.into_inner();
    events.unwrap_or_else(PoisonError::into_inner)
}

fn in_http1<S>(stream: S) -> HttpStream<Raw<S>> {
    HttpStream {
        stream: Raw::after(stream, &[]),
        is_h2: false,
    }
}

/// Searches a body that arrives in pieces for the value of a secret. Returns what is passed on, and true if the value was
/// found.
///
/// # Panics
/// If anything is passed on once the value was found.
pub fn search(name: SecretName, value: SecretValue, pieces: &[&[u8]]) -> (Vec<u8>, bool) {
    let mut scan = Scan::default();
    scan.watch(vec![Arc::new(HeldValue::new(name, value))]);
    let (mut passed, mut is_found) = (Vec::new(), false);
    for piece in pieces {
        match scan.feed(&Bytes::copy_from_slice(piece)) {
            Ok(bytes) => {
                assert!(!is_found, "a body goes on after the value");
                passed.extend_from_slice(&bytes);
            }
            Err(_) => is_found = true,
        }
    }
    let rest = scan.finish();
    assert!(
        !is_found || rest.is_empty(),
        "a body goes on after the value"
    );
    passed.extend_from_slice(&rest);
    (passed, is_found)
}

/// Returns true if a text holds a form of a value.
pub fn shows(value: &str, text: &[u8]) -> bool {
    let needles = Needle::all_of(value);
    needles.iter().any(|needle| needle.is_in(text))
}
