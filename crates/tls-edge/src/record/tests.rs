use http::Request;

use super::*;
use crate::exchanges::Exchanges;

fn ongoing() -> Ongoing {
    Arc::new(Exchanges::default()).begin()
}

fn head(uri: &str) -> request::Parts {
    let request = Request::builder().method("POST").uri(uri).body(());
    request.unwrap().into_parts().0
}

#[test]
fn a_request_is_reported_once_when_its_last_part_is_dropped() {
    let (reports, mut receiver) = Reports::new();
    let record = Record::new(
        &head("/v1/x?token=1"),
        "api.example.com",
        reports,
        ongoing(),
    );
    let other = Arc::clone(&record);
    record.allow(vec!["K".parse().unwrap()]);
    record.answer(StatusCode::CREATED);
    record.add_sent(3);
    drop(record);
    assert!(receiver.try_recv().is_err());
    other.add_received(5);
    other.add_received(2);
    drop(other);
    let Ok(EdgeEvent::Http(http)) = receiver.try_recv() else {
        panic!("no record");
    };
    assert_eq!(http.method, "POST");
    assert_eq!((http.path.as_str(), http.query), ("/v1/x", true));
    assert_eq!((http.sent, http.received), (3, 7));
    assert_eq!(http.status, Some(201));
    assert_eq!(http.verdict, HttpVerdict::Allowed);
    assert_eq!(http.secrets.len(), 1);
    assert!(receiver.try_recv().is_err());
}

#[test]
fn a_request_that_is_not_sent_is_denied() {
    let (reports, mut receiver) = Reports::new();
    let record = Record::new(&head("/"), "api.example.com", reports, ongoing());
    record.report_reflected("K".parse().unwrap());
    drop(record);
    let Ok(EdgeEvent::SecretReflected { host, path, .. }) = receiver.try_recv() else {
        panic!("no event");
    };
    assert_eq!((host.as_str(), path.as_str()), ("api.example.com", "/"));
    let Ok(EdgeEvent::Http(http)) = receiver.try_recv() else {
        panic!("no record");
    };
    assert_eq!((http.verdict, http.status), (HttpVerdict::Denied, None));
    assert!(!http.query);
}
