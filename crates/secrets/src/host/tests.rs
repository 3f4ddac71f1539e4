use proptest::prelude::*;

use super::*;

fn pattern(text: &str) -> HostPattern {
    text.parse().unwrap()
}

#[test]
fn patterns_are_written_in_lower_case() {
    for (text, canonical, subtree) in [
        ("api.example.com", "api.example.com", "api.example.com"),
        ("API.Example.com.", "api.example.com", "api.example.com"),
        ("localhost", "localhost", "localhost"),
        (
            "xn--bcher-kva.example",
            "xn--bcher-kva.example",
            "xn--bcher-kva.example",
        ),
        ("1password.com", "1password.com", "1password.com"),
        ("*.Example.com", "*.example.com", ".example.com"),
    ] {
        let pattern = pattern(text);
        assert_eq!(pattern.to_string(), canonical);
        assert_eq!(pattern.permitted_subtree(), subtree);
        let json = serde_json::to_string(&pattern).unwrap();
        assert_eq!(json, format!("\"{canonical}\""));
        assert_eq!(serde_json::from_str::<HostPattern>(&json).unwrap(), pattern);
    }
}

#[test]
fn texts_that_are_no_hosts_say_why() {
    let long_label = format!("{}.com", "a".repeat(64));
    let long_name = format!("{}com", "a.".repeat(126));
    for (text, expected) in [
        ("*", "is every host"),
        ("*.", "is every host"),
        ("*.com", "is too many hosts"),
        ("*.127.0.0.1", "is an address"),
        ("127.0.0.1", "is an address"),
        ("1.2", "is an address"),
        ("[::1]", "is an address"),
        ("bücher.example", "is not in ASCII"),
        ("*.bücher.example", "is not in ASCII"),
        ("", "is not the name of a host"),
        (".", "is not the name of a host"),
        ("a..b", "is not the name of a host"),
        ("a.b..", "is not the name of a host"),
        (".a.b", "is not the name of a host"),
        ("-a.b", "is not the name of a host"),
        ("a-.b", "is not the name of a host"),
        ("a_b.c", "is not the name of a host"),
        ("a b.c", "is not the name of a host"),
        ("a*.b.c", "is not the name of a host"),
        ("*a.b.c", "is not the name of a host"),
        ("*.*.b.c", "is not the name of a host"),
        ("a.*.c", "is not the name of a host"),
        ("a.b\0", "is not the name of a host"),
        ("a.b\n", "is not the name of a host"),
        ("a.b/c", "is not the name of a host"),
        (long_label.as_str(), "is not the name of a host"),
        (long_name.as_str(), "is not the name of a host"),
    ] {
        let error = text.parse::<HostPattern>().expect_err(text).to_string();
        assert!(error.contains(expected), "{text}: {error}");
        assert!(!error.contains(['\n', '\0']), "{error:?}");
    }
}

#[test]
fn the_name_of_this_host_in_a_sandbox_is_refused_with_a_remedy() {
    for text in ["host.msb.internal", "HOST.msb.internal.", "*.msb.internal"] {
        let error = text.parse::<HostPattern>().expect_err(text);
        assert!(matches!(error, InvalidHost::Own { .. }), "{error:?}");
        assert!(
            error
                .to_string()
                .contains("write a name that resolvers know")
        );
    }
    for text in ["host.msb.example", "a.host.msb.internal", "msb.internal"] {
        pattern(text);
    }
}

#[test]
fn an_exact_name_matches_itself() {
    let exact = pattern("api.example.com");
    assert!(exact.matches("api.example.com") && exact.matches("API.EXAMPLE.COM"));
    for other in [
        "",
        "example.com",
        "a.api.example.com",
        "xapi.example.com",
        "api.example.com.",
        "api.example.com.evil.org",
        "api.example.comx",
        "api.example.com\0",
    ] {
        assert!(!exact.matches(other), "{other:?}");
    }
}

#[test]
fn a_wildcard_matches_the_names_below() {
    let below = pattern("*.example.com");
    for name in ["a.example.com", "A.B.example.COM", "xn--a.example.com"] {
        assert!(below.matches(name), "{name}");
    }
    for other in [
        "",
        "example.com",
        ".example.com",
        "..example.com",
        "a..example.com",
        "*.example.com",
        "badexample.com",
        "a.example.com.",
        "a.example.com.evil.org",
        "evil.org/.example.com",
        "evil.org\0.example.com",
        "é.example.com",
        "-.example.com",
    ] {
        assert!(!below.matches(other), "{other:?}");
    }
}

proptest! {
    #[test]
    fn no_text_panics_and_what_is_read_is_written_alike(text in ".{0,40}") {
        if let Ok(pattern) = text.parse::<HostPattern>() {
            let written = pattern.to_string();
            prop_assert_eq!(written.parse::<HostPattern>(), Ok(pattern));
            prop_assert_eq!(written.to_ascii_lowercase(), written);
        }
    }

    #[test]
    fn a_name_that_matches_ends_with_the_pattern(name in "[a-zA-Z0-9.*\\-é\0]{0,12}\\.?[eE]xample\\.com\\PC{0,2}") {
        if pattern("*.example.com").matches(&name) {
            prop_assert!(name.to_ascii_lowercase().ends_with(".example.com"));
            prop_assert!(name.parse::<HostName>().is_ok());
        }
    }
}
