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
        ("accept", "text/html"),
        ("accept-encoding", "gzip"),
        ("accept-encoding", "br"),
        ("accept-charset", "utf-16"),
        ("a-im", "gzip"),
        ("grpc-accept-encoding", "gzip, identity"),
        ("connect-accept-encoding", "gzip"),
        ("sec-websocket-extensions", "permessage-deflate"),
    ]);
    ask_for_plain(&mut request);
    assert_eq!(names(&request), ["accept", "accept-encoding"]);
    let encodings: Vec<_> = request.get_all(ACCEPT_ENCODING).iter().collect();
    assert_eq!(encodings, ["identity"]);
}

#[test]
fn an_answer_is_asked_for_as_a_whole() {
    let mut request = map(&[
        ("range", "bytes=0-9,10-19"),
        ("if-range", "\"x\""),
        ("if-none-match", "\"x\""),
    ]);
    ask_for_plain(&mut request);
    assert_eq!(names(&request), ["accept-encoding", "if-none-match"]);
}

#[test]
fn no_header_makes_another_request_of_one() {
    let mut request = map(&[
        ("x-original-url", "/admin"),
        ("x-rewrite-url", "/admin"),
        ("x-http-method", "DELETE"),
        ("x-http-method-override", "DELETE"),
        ("x-method-override", "DELETE"),
        ("x-forwarded-for", "192.0.2.1"),
    ]);
    remove_overrides(&mut request);
    assert_eq!(names(&request), ["x-forwarded-for"]);
}

#[test]
fn a_coding_that_hides_a_value_is_an_encoded_answer() {
    assert!(!is_encoded(&map(&[])));
    for coding in [
        "Identity",
        "",
        " , identity",
        "aws-chunked",
        "UTF-8",
        "utf8",
        "binary",
        "none",
    ] {
        let answer = map(&[("content-encoding", coding)]);
        assert!(!is_encoded(&answer), "{coding}");
    }
    for coding in ["gzip", "identity, br", "aws-chunked,gzip", "utf-16", "x"] {
        let answer = map(&[("content-encoding", coding)]);
        assert!(is_encoded(&answer), "{coding}");
    }
    for name in ["grpc-encoding", "connect-content-encoding", "im"] {
        assert!(is_encoded(&map(&[(name, "gzip")])), "{name}");
        assert!(!is_encoded(&map(&[(name, "identity")])), "{name}");
    }
    let two = map(&[("content-encoding", "identity"), ("content-encoding", "x")]);
    assert!(is_encoded(&two));
}

#[test]
fn fields_and_bytes_are_counted() {
    let two = map(&[("x", "123"), ("x", "45")]);
    assert!(!exceed(&two, 2, 7));
    assert!(exceed(&two, 1, 7) && exceed(&two, 2, 6));
    assert!(!exceed(&HeaderMap::new(), 0, 0));
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
