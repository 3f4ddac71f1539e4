use http::{Request, header};
use http_body_util::BodyExt as _;

use super::*;
use crate::exchanges::Exchanges;
use crate::record::Reports;

async fn answered(refusal: &Refusal, is_h2: bool) -> (Response<()>, String) {
    let head = Request::new(()).into_parts().0;
    let ongoing = Arc::new(Exchanges::default()).begin();
    let record = Record::new(&head, "api.example.com", Reports::new().0, ongoing);
    let answer = refusal.answer("api.example.com", is_h2, record);
    let (head, body) = answer.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let text = String::from_utf8(body.to_vec()).unwrap();
    (Response::from_parts(head, ()), text)
}

#[tokio::test]
async fn a_refusal_names_the_host_and_its_reason() {
    let (answer, text) = answered(&Refusal::Authority, false).await;
    assert_eq!(answer.status(), 421);
    assert_eq!(answer.headers()["x-msb-refused"], "authority");
    assert_eq!(answer.headers()[header::CONNECTION], "close");
    assert!(text.starts_with("msb: ") && text.ends_with('\n'), "{text}");
    assert!(text.contains("api.example.com"), "{text}");
    let (answer, _) = answered(&Refusal::Authority, true).await;
    assert!(!answer.headers().contains_key(header::CONNECTION));
}

#[tokio::test]
async fn a_denied_request_is_answered_for_agents() {
    let denied = Refusal::Rule(DeniedRequest {
        method: "POST".to_owned(),
        path: "/v1/\"x\"".to_owned(),
    });
    let (answer, text) = answered(&denied, false).await;
    assert_eq!(answer.status(), 403);
    assert_eq!(answer.headers()["x-msb-rule"], "https://api.example.com");
    assert_eq!(answer.headers()[header::CONTENT_TYPE], "application/json");
    assert!(!answer.headers().contains_key(header::CONNECTION));
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["error"], "denied");
    assert_eq!(json["method"], "POST");
    assert_eq!(json["path"], "/v1/\"x\"");
}

#[tokio::test]
async fn each_failure_of_the_host_is_a_bad_gateway() {
    let name: SecretName = "K".parse().unwrap();
    let failures = [
        Refusal::NoValue(NoValue::Missing { name: name.clone() }),
        Refusal::NotPlaced(NotPlaced::NoValue { name: name.clone() }),
        Refusal::Unproved("its certificate has expired".to_owned()),
        Refusal::Unanswered,
        Refusal::Malformed,
        Refusal::Encoded(name.clone()),
        Refusal::Reflected(name),
    ];
    for failure in failures {
        let (answer, text) = answered(&failure, false).await;
        assert_eq!(answer.status(), 502, "{failure:?}");
        assert!(answer.headers().contains_key("x-msb-refused"));
        assert!(text.contains("api.example.com"), "{text}");
    }
}
