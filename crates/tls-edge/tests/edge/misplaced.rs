//! Placeholders where no value is placed: the host gets the placeholder.

use std::sync::{Arc, Mutex};

use http::{Method, Response};
use http_body_util::BodyExt as _;
use msb_tls_edge::EdgeEvent;

use crate::guest;
use crate::lab::{Lab, VALUE};
use crate::upstream::{full, handler, ok};

/// Returns the places that were reported, in their order.
fn reported(lab: &Lab) -> Vec<String> {
    let places = lab.log.all().into_iter().filter_map(|event| match event {
        EdgeEvent::SecretMisplaced { place, .. } => Some(place),
        _ => None,
    });
    places.collect()
}

#[tokio::test]
async fn a_placeholder_in_another_header_stays() {
    let lab = Lab::new(ok()).await;
    let token = lab.token.clone();
    let headers = [
        ("user-agent", token.clone()),
        ("referer", format!("https://x.example/{token}")),
        ("cookie", format!("k={token}")),
        ("authorization", format!("Bearer {token}x")),
        ("x-api-key", format!("{token} {token}")),
    ];
    for (name, value) in &headers {
        for guest in lab.guests().await {
            let answer = guest.get("/", &[(*name, value.as_str())]).await.unwrap();
            assert_eq!(answer.status(), 200);
            guest::text(answer).await;
            guest.close().await;
        }
    }
    let seen = lab.upstream.seen();
    assert!(!format!("{seen:?}").contains(VALUE));
    for ((name, value), requests) in headers.iter().zip(seen.chunks(2)) {
        assert!(
            requests.iter().all(|request| request.header(name) == value),
            "{name}"
        );
    }
    let expected: Vec<_> = headers
        .iter()
        .flat_map(|(name, _)| [*name, *name])
        .collect();
    assert_eq!(reported(&lab), expected);
    assert!(
        lab.log
            .http()
            .iter()
            .all(|record| record.secrets.is_empty())
    );
}

#[tokio::test]
async fn a_credential_that_is_there_twice_stays() {
    let lab = Lab::new(ok()).await;
    let credential = format!("Bearer {}", lab.token);
    for guest in lab.guests().await {
        let headers = [
            ("authorization", &*credential),
            ("authorization", &*credential),
        ];
        guest::text(guest.get("/", &headers).await.unwrap()).await;
        guest.close().await;
    }
    assert!(!format!("{:?}", lab.upstream.seen()).contains(VALUE));
    assert_eq!(reported(&lab), ["authorization", "authorization"]);
}

#[tokio::test]
async fn a_placeholder_in_the_uri_stays_and_is_not_logged() {
    let lab = Lab::new(ok()).await;
    let token = lab.token.clone();
    for guest in lab.guests().await {
        let path = format!("/{token}?key={token}");
        guest::text(guest.get(&path, &[]).await.unwrap()).await;
        guest.close().await;
    }
    for request in lab.upstream.seen() {
        assert!(request.uri.ends_with(&format!("/{token}?key={token}")));
    }
    assert_eq!(reported(&lab), ["path", "query", "path", "query"]);
    for record in lab.log.http() {
        assert!(record.query && !record.path.contains(&token), "{record:?}");
    }
}

#[tokio::test]
async fn a_placeholder_in_a_body_stays() {
    let bodies = Arc::new(Mutex::new(Vec::new()));
    let arrived = Arc::clone(&bodies);
    let lab = Lab::new(handler(move |request| {
        let arrived = Arc::clone(&arrived);
        async move {
            let body = request.into_body().collect().await.unwrap().to_bytes();
            arrived.lock().unwrap().push(body);
            Response::new(full("ok"))
        }
    }))
    .await;
    for guest in lab.guests().await {
        let credential = format!("Bearer {}", lab.token);
        let request = guest
            .request(Method::POST, "/")
            .header("authorization", credential);
        let body = full(format!("key={}", lab.token));
        guest::text(guest.send(request.body(body).unwrap()).await.unwrap()).await;
    }
    let expected = format!("key={}", lab.token);
    assert_eq!(*bodies.lock().unwrap(), [expected.clone(), expected]);
}
