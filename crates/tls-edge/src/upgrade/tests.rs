use std::time::Duration;

use http::Request;
use tokio::io::duplex;
use tokio::time::{advance, timeout};

use super::*;
use crate::exchanges::Exchanges;
use crate::record::Reports;

#[tokio::test(start_paused = true)]
async fn a_connection_that_has_changed_its_protocol_ends_if_it_is_idle() {
    let (reports, mut receiver) = Reports::new();
    let head = Request::builder().uri("/").body(()).unwrap().into_parts().0;
    let ongoing = Arc::new(Exchanges::default()).begin();
    let changed = Changed {
        watch: None,
        record: Record::new(&head, "a.test", reports, ongoing),
    };
    let (guest, mut of_guest) = duplex(64);
    let (host, mut of_host) = duplex(64);
    let copying = tokio::spawn(changed.copy(guest, host));
    let almost = CHANGED_IDLE_TIMEOUT - Duration::from_secs(1);
    for _ in 0..3 {
        let mut read = [0; 11];
        advance(almost).await;
        of_guest.write_all(b"still there").await.unwrap();
        of_host.read_exact(&mut read).await.unwrap();
        advance(almost).await;
        of_host.write_all(b"still there").await.unwrap();
        of_guest.read_exact(&mut read).await.unwrap();
    }
    assert!(!copying.is_finished());
    let ended = timeout(2 * CHANGED_IDLE_TIMEOUT, copying)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(ended.unwrap_err().kind(), io::ErrorKind::TimedOut);
    let record = receiver.try_recv().unwrap();
    assert!(matches!(
        record,
        crate::event::EdgeEvent::Http(http) if (http.sent, http.received) == (33, 33)
    ));
}

fn wanted(connection: &str, upgrades: &[&str]) -> Option<String> {
    let mut headers = HeaderMap::new();
    headers.insert(CONNECTION, connection.parse().unwrap());
    for upgrade in upgrades {
        headers.append(UPGRADE, upgrade.parse().unwrap());
    }
    let wanted = wanted_protocols(&headers)?;
    Some(wanted.to_str().unwrap().to_owned())
}

#[test]
fn a_protocol_is_wanted_if_both_headers_say_so() {
    assert_eq!(
        wanted("Upgrade", &["websocket"]).as_deref(),
        Some("websocket")
    );
    assert_eq!(
        wanted("keep-alive, upgrade", &["SPDY/3.1", "websocket"]).as_deref(),
        Some("SPDY/3.1, websocket")
    );
    assert_eq!(wanted("keep-alive", &["websocket"]), None);
    assert_eq!(wanted("upgrade", &[]), None);
    assert_eq!(wanted("upgrade", &[" , "]), None);
}

#[test]
fn http_without_tls_is_never_wanted() {
    for protocol in ["h2c", "H2C", "h2", "HTTP/2.0", "http/1.1", "h2c, HTTP/2.0"] {
        assert_eq!(wanted("upgrade", &[protocol]), None, "{protocol}");
    }
    assert_eq!(
        wanted("upgrade", &["h2c, websocket"]).as_deref(),
        Some("websocket")
    );
}
