//! Values that change while connections are open, and ones that are not there.

use msb_tls_edge::HttpVerdict;

use crate::guest;
use crate::lab::{Lab, VALUE, key};
use crate::upstream::ok;

#[tokio::test]
async fn the_next_request_of_a_connection_has_the_new_value() {
    let lab = Lab::new(ok()).await;
    for guest in lab.guests().await {
        for value in [VALUE, "second-value-0123", "third-value-4567"] {
            lab.set_value(value);
            guest::text(guest.get_with("/", &lab).await.unwrap()).await;
            let seen = lab.upstream.seen();
            let last = seen.last().unwrap();
            assert_eq!(last.header("authorization"), format!("Bearer {value}"));
        }
    }
    assert_eq!(lab.upstream.handshakes(), 2);
}

#[tokio::test]
async fn a_request_without_a_value_is_not_sent() {
    let lab = Lab::new(ok()).await;
    lab.edge.values().remove(&key()).unwrap();
    for guest in lab.guests().await {
        let answer = guest.get_with("/", &lab).await.unwrap();
        assert_eq!(answer.status(), 502);
        assert_eq!(answer.headers()["x-msb-refused"], "secret.value");
        let text = guest::text(answer).await;
        assert!(
            text.contains("secret K") && text.contains("was removed"),
            "{text}"
        );
        // The connection is good for requests that need no value.
        let answer = guest.get("/", &[]).await.unwrap();
        assert_eq!(guest::text(answer).await, "ok");
        guest.close().await;
    }
    assert_eq!(lab.upstream.seen().len(), 2);
    let verdicts: Vec<_> = lab.log.http().iter().map(|record| record.verdict).collect();
    let of_one = [HttpVerdict::Denied, HttpVerdict::Allowed];
    assert_eq!(verdicts, [of_one, of_one].concat());
}
