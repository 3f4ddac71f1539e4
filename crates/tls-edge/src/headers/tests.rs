use super::*;

fn map(headers: &[(&'static str, &str)]) -> HeaderMap {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.append(*name, value.parse().unwrap());
    }
    map
}

fn names(headers: &HeaderMap) -> Vec<&str> {
    let mut names: Vec<_> = headers.keys().map(HeaderName::as_str).collect();
    names.sort_unstable();
    names
}

#[test]
fn headers_of_the_connection_stay_with_it() {
    let mut request = map(&[
        ("accept", "*/*"),
        ("connection", "keep-alive, X-Own, upgrade"),
        ("connection", "close"),
        ("keep-alive", "timeout=5"),
        ("proxy-connection", "keep-alive"),
        ("x-own", "1"),
        ("upgrade", "h2c"),
        ("http2-settings", "AAMAAABkAAQ"),
        ("te", "gzip;q=0.5"),
        ("expect", "100-continue"),
        ("authorization", "Bearer x"),
    ]);
    clean_request(&mut request);
    assert_eq!(names(&request), ["accept", "authorization"]);
}

#[test]
fn a_client_that_takes_trailers_is_told_so_to_the_host() {
    let mut request = map(&[("te", "gzip, trailers"), ("connection", "te")]);
    clean_request(&mut request);
    assert_eq!(request.get_all(TE).iter().collect::<Vec<_>>(), ["trailers"]);
}

#[test]
fn a_header_that_decides_the_length_is_not_removed_by_its_name() {
    let mut request = map(&[
        ("connection", "content-length, transfer-encoding"),
        ("content-length", "3"),
    ]);
    clean_request(&mut request);
    assert_eq!(names(&request), ["content-length"]);
}

#[test]
fn an_answer_offers_no_way_around() {
    let mut answer = map(&[
        ("alt-svc", "h3=\":443\""),
        ("connection", "close"),
        ("transfer-encoding", "chunked"),
        ("trailer", "grpc-status"),
        ("content-type", "text/plain"),
    ]);
    clean_answer(&mut answer);
    assert_eq!(names(&answer), ["content-type", "trailer"]);
}

#[test]
fn a_body_of_unknown_length_is_chunked_in_http_1() {
    let both = map(&[("content-length", "3"), ("transfer-encoding", "chunked")]);
    let with = |length, is_h2| {
        let mut headers = both.clone();
        set_length(&mut headers, length, is_h2);
        headers
    };
    assert_eq!(names(&with(Some(3), false)), ["content-length"]);
    assert_eq!(names(&with(None, false)), ["transfer-encoding"]);
    assert_eq!(names(&with(None, true)), [""; 0]);
}

#[test]
fn an_answer_is_asked_for_in_plain_text() {
    let mut request = map(&[
        ("accept-encoding", "gzip"),
        ("accept-encoding", "br"),
        ("sec-websocket-extensions", "permessage-deflate"),
    ]);
    ask_for_plain(&mut request);
    assert_eq!(names(&request), ["accept-encoding"]);
    assert_eq!(request.get_all(ACCEPT_ENCODING).iter().count(), 1);
}

#[test]
fn a_coding_other_than_identity_is_an_encoded_answer() {
    assert!(!is_encoded(&map(&[])));
    assert!(!is_encoded(&map(&[("content-encoding", "Identity")])));
    for coding in ["gzip", "identity, br", "", "aws-chunked"] {
        assert!(
            is_encoded(&map(&[("content-encoding", coding)])),
            "{coding}"
        );
    }
    let two = map(&[("content-encoding", "identity"), ("content-encoding", "x")]);
    assert!(is_encoded(&two));
}

#[test]
fn a_transfer_is_chunked_or_plain() {
    assert!(is_plainly_transferred(&map(&[])));
    assert!(is_plainly_transferred(&map(&[(
        "transfer-encoding",
        "chunked"
    )])));
    assert!(!is_plainly_transferred(&map(&[(
        "transfer-encoding",
        "gzip, chunked"
    )])));
}
