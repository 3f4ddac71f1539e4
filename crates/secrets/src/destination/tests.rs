use proptest::prelude::*;

use super::*;

fn destination(text: &str) -> HttpsDestination {
    text.parse().unwrap()
}

#[test]
fn a_destination_is_written_as_it_is_read() {
    for (text, canonical) in [
        ("api.example.com", "api.example.com"),
        ("https://API.example.com", "api.example.com"),
        ("api.example.com:443", "api.example.com"),
        ("api.example.com:8443", "api.example.com:8443"),
        ("*.example.com", "*.example.com"),
        ("h.example/", "h.example/"),
        ("h.example/v1/*", "h.example/v1/*"),
        (
            "https://h.example:8443/v1/*:GET,HEAD",
            "h.example:8443/v1/*:GET,HEAD",
        ),
        ("h.example:GET", "h.example:GET"),
        ("h.example:8443:GET,POST,GET", "h.example:8443:GET,POST"),
        (
            "h.example/models/x:generateContent",
            "h.example/models/x:generateContent",
        ),
        (
            "h.example/models/x:generateContent:POST",
            "h.example/models/x:generateContent:POST",
        ),
        (
            "h.example/pkg.Service/Method:POST",
            "h.example/pkg.Service/Method:POST",
        ),
        ("h.example/a%3AGET", "h.example/a%3AGET"),
        ("h.example/a%2Cb", "h.example/a%2Cb"),
    ] {
        let read = destination(text);
        assert_eq!(read.to_string(), canonical);
        let json = serde_json::to_string(&read).unwrap();
        assert_eq!(json, format!("\"{canonical}\""));
        assert_eq!(
            serde_json::from_str::<HttpsDestination>(&json).unwrap(),
            read
        );
    }
}

#[test]
fn texts_that_are_no_destinations_say_why() {
    for (text, expected) in [
        ("http://h.example", "is not reached over HTTPS"),
        ("ftp://h.example", "is not reached over HTTPS"),
        ("https://https://h.example", "is not reached over HTTPS"),
        ("h.example:0", "has an invalid port"),
        ("h.example:65536", "has an invalid port"),
        ("h.example:+1", "has an invalid port"),
        ("h.example:", "has an invalid port"),
        ("h.example:get", "has an invalid port"),
        ("h.example:443-444", "has an invalid port"),
        ("h.example:GET/v1", "is not a destination"),
        ("h.example:443:1", "has an invalid port"),
        ("[::1]:443", "is an address"),
        ("::1", "is an address"),
        ("10.0.0.1:443", "is an address"),
        ("*", "is every host"),
        ("*/v1", "is every host"),
        ("*.com", "is too many hosts"),
        ("", "is not the name of a host"),
        ("/v1", "is not the name of a host"),
        ("https://", "is not the name of a host"),
        ("h.example/v1/*/x", "has * before its end"),
        ("h.example/v1/../x", "is not the path of a rule"),
        ("h.example//v1", "is not the path of a rule"),
        ("h.example/v1?x=1", "is not the path of a rule"),
        ("h.example/v1:GET,,HEAD", "is not a method"),
        (
            "h.example/v1:CONNECT",
            "the method CONNECT is not supported",
        ),
        ("h.example:TRACE", "the method TRACE is not supported"),
    ] {
        let error = text
            .parse::<HttpsDestination>()
            .expect_err(text)
            .to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
    let many: Vec<String> = (0..17_u8)
        .map(|index| char::from(b'A' + index).to_string())
        .collect();
    let error = format!("h.example:{}", many.join(","))
        .parse::<HttpsDestination>()
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("has 17 methods, the limit is 16"),
        "{error}"
    );
}

#[test]
fn the_user_of_a_url_is_not_repeated() {
    let error = "https://me:hunter22@h.example/v1"
        .parse::<HttpsDestination>()
        .unwrap_err();
    assert!(!error.to_string().contains("hunter22"), "{error}");
}

#[test]
fn a_destination_without_a_path_admits_every_request() {
    let all = destination("h.example");
    assert!(
        all.admits("GET", "/") && all.admits("POST", "/a//b/../%2f") && all.admits("OPTIONS", "*")
    );
    let reads = destination("h.example:GET,HEAD");
    assert!(reads.admits("GET", "//") && reads.admits("HEAD", "/"));
    assert!(!reads.admits("POST", "/") && !reads.admits("get", "/") && !reads.admits("", "/"));
}

#[test]
fn a_destination_with_a_path_admits_what_is_below_it() {
    let messages = destination("h.example/v1/*:POST");
    assert!(messages.admits("POST", "/v1/messages") && messages.admits("POST", "/%761/messages"));
    assert!(!messages.admits("GET", "/v1/messages") && !messages.admits("POST", "/v2"));
    for path in [
        "/v1/../x",
        "/v1%2f..",
        "//v1/x",
        "/v1//x",
        "/v1/%2e%2e/x",
        "/v1/..;/x",
        "/v1/\\x",
        "/v1/a?b",
        "/v1/%",
        "/v1/%252e%252e/x",
        "v1/",
        "*",
        "",
        "https://h.example/v1/x",
    ] {
        assert!(!messages.admits("POST", path), "{path}");
    }
}

#[test]
fn a_destination_is_for_its_port_alone() {
    let other = destination("*.h.example:8443");
    assert!(other.is_for("a.h.example", 8443));
    assert!(!other.is_for("a.h.example", 443) && !other.is_for("h.example", 8443));
}

fn text() -> impl Strategy<Value = String> {
    let host = "(\\*\\.)?[a-z][a-z0-9]{0,5}(\\.[a-z]{1,4}){1,2}";
    let port = prop::option::of(1_u16..);
    let path = "(/[a-zA-Z0-9:._~-]{1,6}|/%(2[0-9ABCDE]|3[0-9ACDEF]|C3%A9)){0,3}/?\\*?";
    let methods = prop::collection::vec("[A-Z]{1,8}", 0..4);
    (host, port, path, methods).prop_map(|(host, port, path, methods)| {
        let port = port.map(|port| format!(":{port}")).unwrap_or_default();
        let path = if path.starts_with('/') {
            path
        } else {
            String::new()
        };
        let colon = if methods.is_empty() { "" } else { ":" };
        format!("{host}{port}{path}{colon}{}", methods.join(","))
    })
}

proptest! {
    #[test]
    fn every_destination_that_is_read_is_written_alike(text in text()) {
        if let Ok(read) = text.parse::<HttpsDestination>() {
            prop_assert_eq!(read.to_string().parse::<HttpsDestination>(), Ok(read));
        }
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,40}") {
        if let Ok(read) = text.parse::<HttpsDestination>() {
            prop_assert_eq!(read.to_string().parse::<HttpsDestination>(), Ok(read));
        }
    }
}
