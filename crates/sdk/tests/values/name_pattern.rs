use msb_sdk::NamePattern;

#[test]
fn names_match_as_dockers_filter_matches_them() {
    for (pattern, matching, other) in [
        ("dev", "my-dev-1", "test"),
        ("^dev$", "dev", "dev2"),
        ("^/dev$", "dev", "dev2"),
        ("^(a|b)-[0-9]+$", "b-12", "c-12"),
        ("", "anything", "\n"),
    ] {
        let pattern: NamePattern = pattern.parse().expect(pattern);
        assert!(pattern.matches(matching), "{pattern:?} {matching}");
        assert!(
            other == "\n" || !pattern.matches(other),
            "{pattern:?} {other}"
        );
    }
}

#[test]
fn what_is_no_expression_or_a_large_one_is_refused_in_one_line() {
    for pattern in ["(", "a{1000}{1000}{1000}", "*", &"x".repeat(2000)] {
        let error = pattern.parse::<NamePattern>().expect_err(pattern);
        let line = error.to_string();
        assert!(!line.contains('\n') && line.len() < 400, "{line}");
    }
}
