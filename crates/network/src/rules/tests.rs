use super::*;

fn parse(reach: DefaultPolicy, allow: &[&str], deny: &[&str]) -> Result<NetworkRules, String> {
    NetworkRules::parse(reach, allow, deny).map_err(|error| error.to_string())
}

#[test]
fn rules_are_added_once_and_removed_by_their_text() {
    let listed = DefaultPolicy::Listed;
    let mut rules = parse(
        listed,
        &["A.example:443", "https://b.example/v1/*:GET"],
        &[],
    )
    .unwrap();
    rules.add_allowed("a.example:443").unwrap();
    rules.add_denied("10.1.2.3/8").unwrap();
    assert_eq!(
        rules.allow_texts(),
        ["a.example:443", "https://b.example/v1/*:GET"]
    );
    assert_eq!(rules.deny_texts(), ["10.0.0.0/8"]);
    assert!(!rules.remove("a.example").unwrap());
    for rule in ["a.example:443", "https://b.example/v1/*:GET", "10.0.0.0/8"] {
        assert!(rules.remove(rule).unwrap(), "{rule}");
        assert!(!rules.remove(rule).unwrap(), "{rule}");
    }
    let empty = NetworkRules {
        reach: listed,
        ..NetworkRules::default()
    };
    assert_eq!(rules, empty);
}

#[test]
fn what_cannot_hold_is_refused() {
    for (reach, allow, deny, said) in [
        (DefaultPolicy::Listed, "a b", "a", "is not a rule"),
        (
            DefaultPolicy::Listed,
            "a",
            "a.example:80",
            "leave the port out",
        ),
        (
            DefaultPolicy::Outbound,
            "https://a.example",
            "a",
            "--network listed",
        ),
        (DefaultPolicy::Listed, "https://*", "a", "*"),
    ] {
        let refused = parse(reach, &[allow], &[deny]).unwrap_err();
        assert!(refused.contains(said), "{refused}");
    }
}

#[test]
fn the_rules_of_a_running_network_are_bounded() {
    let count = |count: usize| {
        let all: Vec<_> = (0..count).map(|number| format!("a{number}")).collect();
        NetworkRules::parse(DefaultPolicy::Listed, &all, &[]).unwrap()
    };
    assert_eq!(count(RULES_MAX).check_size(), Ok(()));
    let count = count(RULES_MAX + 1).check_size();
    assert_eq!(count, Err(InvalidRules::TooMany { count: 1025 }));
    let label = "x".repeat(60);
    let long: Vec<_> = (0..900)
        .map(|number| format!("a{number}.{label}.{label}.{label}"))
        .collect();
    let long = NetworkRules::parse(DefaultPolicy::Listed, &long, &[]).unwrap();
    let refused = long.check_size();
    assert!(
        matches!(refused, Err(InvalidRules::TooLong { .. })),
        "{refused:?}"
    );
}

#[test]
fn settings_are_changed_in_their_rules_alone() {
    let mut settings: Settings =
        serde_json::from_str(r#"{"reach":"outbound","resolvers":["1.1.1.1:53"],"deny":["a"]}"#)
            .unwrap();
    let rules = parse(DefaultPolicy::Listed, &["b"], &[]).unwrap();
    settings.set_rules(rules.clone());
    assert_eq!(settings.rules(), rules);
    assert_eq!(settings.resolvers.len(), 1);
}
