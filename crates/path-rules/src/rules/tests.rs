use proptest::prelude::*;

use super::*;
use crate::Pattern;

fn rules(given: &[&str]) -> Rules {
    let mut rules = Rules::new();
    for rule in given {
        rules.push(rule.parse().expect(rule)).expect("few rules");
    }
    rules
}

fn state(given: &[&str], path: &str) -> State {
    rules(given).decide(path.as_bytes()).state
}

#[test]
fn the_nearest_rule_wins_in_both_directions() {
    let given = ["a=deny", "a/b=allow", "a/b/c=hide", "a/b/c/d=write-ask"];
    for (path, expected) in [
        ("", State::Allow),
        ("x", State::Allow),
        ("a", State::Deny),
        ("a/x", State::Deny),
        ("a/b", State::Allow),
        ("a/b/x/y", State::Allow),
        ("a/b/c/x", State::Hide),
        ("a/b/c/d/e", State::WriteAsk),
        ("x/a", State::Deny),
        ("x/a/b", State::Deny),
    ] {
        assert_eq!(state(&given, path), expected, "{path}");
    }
    // A pattern with ** matches the path itself, so it is nearer than a rule of a parent.
    assert_eq!(state(&["a/b=allow", "a/**=deny"], "a/b/c"), State::Deny);
    assert_eq!(state(&["a=deny", "a/b=allow"], "a/b/c"), State::Allow);
}

#[test]
fn the_directory_itself_can_have_a_rule() {
    let given = ["/=read-only", "src=allow"];
    assert_eq!(state(&given, ""), State::ReadOnly);
    assert_eq!(state(&given, "README.md"), State::ReadOnly);
    assert_eq!(state(&given, "src/main.rs"), State::Allow);
    assert_eq!(state(&["/=deny", ".=ask"], "x"), State::Ask);
    let rules = rules(&given);
    assert_eq!(rules.decide(b"a/b").depth, 0);
    assert_eq!(rules.decide(b"a/src/b").depth, 2);
}

#[test]
fn later_and_given_rules_win_at_one_path() {
    assert_eq!(state(&["*.md=deny", "a.md=allow"], "a.md"), State::Allow);
    assert_eq!(state(&["a.md=allow", "*.md=deny"], "a.md"), State::Deny);
    let mut rules = Rules::with_defaults();
    assert_eq!(rules.decide(b"x/.env").state, State::Hide);
    // A rule of the parent is farther than the default.
    rules.push("x=allow".parse().expect("a rule")).expect("few");
    assert_eq!(rules.decide(b"x/.env").state, State::Hide);
    rules
        .push("x/.env=read-only".parse().expect("a rule"))
        .expect("few");
    let decision = rules.decide(b"x/.env");
    assert_eq!(decision.state, State::ReadOnly);
    assert_eq!(decision.rule.map(Rule::origin), Some(Origin::Given));
    assert_eq!(rules.given().len(), 2);
    assert!(rules.has_defaults() && !Rules::new().has_defaults());
}

#[test]
fn a_default_never_permits_what_a_given_rule_forbids() {
    let mut rules = Rules::with_defaults();
    rules
        .push("private=deny".parse().expect("a rule"))
        .expect("few");
    // A template is no secret, but has no rule that allows it.
    assert_eq!(rules.decide(b"private/.env.example").state, State::Deny);
    assert_eq!(rules.decide_outgoing(b"private/.envrc").state, State::Deny);
}

#[test]
fn the_number_of_given_rules_is_limited() {
    let mut rules = Rules::with_defaults();
    for _ in 0..RULES_MAX {
        rules
            .push("a=hide".parse().expect("a rule"))
            .expect("in the limit");
    }
    let refused = rules.push("a=hide".parse().expect("a rule"));
    assert_eq!(refused, Err(TooManyRules));
    assert_eq!(rules.given().len(), RULES_MAX);
}

#[test]
fn files_that_run_programs_do_not_leave_unless_a_near_rule_allows_it() {
    let outgoing = |given: &[&str], path: &str| {
        let mut rules = Rules::with_defaults();
        for rule in given {
            rules.push(rule.parse().expect(rule)).expect("few rules");
        }
        let decision = rules.decide_outgoing(path.as_bytes());
        (decision.state, decision.program.is_some())
    };
    let hook = ".git/hooks/pre-commit";
    for (given, path, expected) in [
        (&[][..], "src/main.rs", (State::Allow, false)),
        (&[], hook, (State::ReadOnly, true)),
        (&["/=allow"], hook, (State::ReadOnly, true)),
        (&[".git=allow"], hook, (State::ReadOnly, true)),
        (&[".git=hide"], hook, (State::Hide, false)),
        (&[".git/hooks=allow"], hook, (State::Allow, false)),
        (&["pre-commit=write-ask"], hook, (State::WriteAsk, false)),
        (&[".envrc=allow"], "a/.envrc", (State::Allow, false)),
        (&["a=write-ask"], "a/.envrc", (State::ReadOnly, true)),
    ] {
        assert_eq!(outgoing(given, path), expected, "{given:?} {path}");
    }
    let without = Rules::new();
    assert_eq!(without.decide_outgoing(hook.as_bytes()).state, State::Allow);
    assert_eq!(
        Rules::with_defaults().decide(hook.as_bytes()).state,
        State::Allow
    );
}

#[test]
fn rules_that_restrict_match_in_any_case_on_the_way_out_only() {
    let given = rules(&[
        "docs=read-only",
        "docs/open=allow",
        "/a/*.Md=hide",
        "LOG=allow",
    ]);
    for (path, inside, outgoing) in [
        ("docs/new.md", State::ReadOnly, State::ReadOnly),
        ("DOCS/new.md", State::Allow, State::ReadOnly),
        ("d\u{200c}ocs/new.md", State::Allow, State::ReadOnly),
        ("docs/open/x", State::Allow, State::Allow),
        ("DOCS/open/x", State::Allow, State::ReadOnly),
        ("docs/OPEN/x", State::ReadOnly, State::ReadOnly),
        ("A/x.mD", State::Allow, State::Hide),
        ("docs/log", State::ReadOnly, State::ReadOnly),
        ("docs2/x", State::Allow, State::Allow),
    ] {
        let decided = given.decide(path.as_bytes()).state;
        assert_eq!(decided, inside, "{path}");
        let decided = given.decide_outgoing(path.as_bytes()).state;
        assert_eq!(decided, outgoing, "{path} outgoing");
    }
}

#[test]
fn a_walk_learns_which_given_rules_match_and_what_may_show_below() {
    let mut all = Rules::with_defaults();
    for rule in ["a/b=hide", "b=deny", "c=hide", "a/b/x/y=allow"] {
        all.push(rule.parse().expect(rule)).expect("few rules");
    }
    let a = all.root().child(b"a");
    let mut matched = Vec::new();
    let decision = a.decide_with(b"b", &mut |index| matched.push(index));
    assert_eq!((decision.state, &matched[..]), (State::Deny, &[0, 1][..]));
    let b = a.child(b"b");
    assert!(b.may_show_below());
    assert_eq!(b.given_below().collect::<Vec<_>>(), [3]);
    assert!(!all.root().child(b"c").may_show_below());
    assert_eq!(all.root().given_below().count(), 0);
}

#[test]
fn a_scope_is_uniform_if_no_rule_below_differs() {
    let all = rules(&["target=hide", "a/b/c=deny", "node_modules=hide"]);
    let root = all.root();
    assert!(!root.is_uniform());
    // node_modules below target is hidden, too.
    assert!(root.child(b"target").is_uniform());
    assert!(!root.child(b"a").is_uniform());
    let below_a = root.child(b"a").child(b"x");
    // Any directory may have a target.
    assert!(!below_a.is_uniform());
    let anchored = rules(&["a/b/c=deny"]);
    assert!(anchored.root().child(b"x").is_uniform());
    assert!(!anchored.root().child(b"a").child(b"b").is_uniform());
    assert!(
        anchored
            .root()
            .child(b"a")
            .child(b"b")
            .child(b"c")
            .is_uniform()
    );
}

/// The naive model: every rule is matched against every ancestor.
mod model {
    use super::{Rule, State};

    pub(super) fn decide(rules: &[Rule], path: &[&[u8]]) -> State {
        let ancestors = (0..=path.len()).rev().map(|length| &path[..length]);
        let mut nearest = ancestors.filter_map(|ancestor| {
            let mut last = rules.iter().rev();
            last.find(|rule| matches(rule.pattern().as_bytes(), ancestor))
        });
        nearest.next().map_or(State::Allow, Rule::state)
    }

    pub(super) fn matches(pattern: &[u8], path: &[&[u8]]) -> bool {
        let text = String::from_utf8_lossy(pattern);
        let body = text.trim_end_matches('/');
        let is_everywhere = !body.contains('/') && !["", ".", "**"].contains(&body);
        let parts: Vec<&[u8]> = pattern
            .split(|&byte| byte == b'/')
            .filter(|part| !matches!(*part, b"" | b"."))
            .collect();
        if is_everywhere {
            path.last().is_some_and(|last| is_name(parts[0], last))
        } else {
            is_path(&parts, path)
        }
    }

    fn is_path(parts: &[&[u8]], path: &[&[u8]]) -> bool {
        match (parts, path) {
            ([], path) => path.is_empty(),
            ([b"**"], path) => !path.is_empty(),
            ([b"**", rest @ ..], path) => {
                (0..=path.len()).any(|skipped| is_path(rest, &path[skipped..]))
            }
            ([part, rest @ ..], [name, others @ ..]) => {
                is_name(part, name) && is_path(rest, others)
            }
            (_, []) => false,
        }
    }

    fn is_name(pattern: &[u8], name: &[u8]) -> bool {
        is_text(&characters(pattern), &characters(name))
    }

    fn is_text(pattern: &[&[u8]], name: &[&[u8]]) -> bool {
        match (pattern, name) {
            ([], name) => name.is_empty(),
            ([b"*", rest @ ..], name) => {
                (0..=name.len()).any(|skipped| is_text(rest, &name[skipped..]))
            }
            ([first, rest @ ..], [character, others @ ..]) => {
                (*first == b"?" || first == character) && is_text(rest, others)
            }
            (_, []) => false,
        }
    }

    /// Splits a text into characters, and bytes that are no part of one.
    fn characters(text: &[u8]) -> Vec<&[u8]> {
        let mut characters = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let is_one = |length: &usize| {
                let text = rest.get(..*length).map(std::str::from_utf8);
                matches!(text, Some(Ok(text)) if text.chars().count() == 1)
            };
            let length = (1..=4).find(is_one).unwrap_or(1);
            let (character, others) = rest.split_at(length);
            characters.push(character);
            rest = others;
        }
        characters
    }
}

const NAMES: [&[u8]; 8] = [
    b"a",
    b"b",
    b"ab",
    b"aab",
    b".a",
    "é".as_bytes(),
    b"a\xff",
    b"bab",
];
const PARTS: [&[u8]; 16] = [
    b"a",
    b"b",
    b"ab",
    b"*",
    b"a*",
    b"*b",
    b"*a*b",
    b"?",
    b"??",
    b"?*",
    b"**",
    b"**",
    b".",
    "é".as_bytes(),
    b"a\xff",
    b"a**b",
];

fn name() -> impl Strategy<Value = &'static [u8]> {
    prop::sample::select(&NAMES[..])
}

fn pattern() -> impl Strategy<Value = Vec<u8>> {
    let parts = prop::collection::vec(prop::sample::select(&PARTS[..]), 1..5);
    (any::<bool>(), parts, any::<bool>()).prop_map(|(is_rooted, parts, is_closed)| {
        let mut text = parts.join(&b'/');
        if is_rooted {
            text.insert(0, b'/');
        }
        text.extend(is_closed.then_some(b'/'));
        text
    })
}

fn rule() -> impl Strategy<Value = Rule> {
    (pattern(), prop::sample::select(&State::ALL[..]))
        .prop_map(|(pattern, state)| Rule::new(Pattern::parse(&pattern).expect("a pattern"), state))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_pattern_matches_as_the_model_does(
        pattern in pattern(),
        path in prop::collection::vec(name(), 0..6),
    ) {
        let parsed = Pattern::parse(&pattern).expect("a pattern");
        prop_assert_eq!(parsed.matches(&path.join(&b'/')), model::matches(&pattern, &path));
    }

    #[test]
    fn decisions_are_those_of_the_model_in_a_walk_too(
        given in prop::collection::vec(rule(), 0..8),
        path in prop::collection::vec(name(), 0..6),
    ) {
        let mut rules = Rules::new();
        for rule in &given {
            rules.push(rule.clone()).expect("few rules");
        }
        let expected = model::decide(&given, &path);
        let decision = rules.decide(&path.join(&b'/'));
        prop_assert_eq!(decision.state, expected);
        prop_assert_eq!(decision.rule.map_or(State::Allow, Rule::state), expected);
        let mut scope = rules.root();
        let mut uniform = None;
        for name in &path {
            if scope.is_uniform() {
                uniform.get_or_insert(scope.decision().state);
            }
            let decided = scope.decide(name);
            scope = scope.child(name);
            prop_assert_eq!(decided, scope.decision());
        }
        prop_assert_eq!(scope.decision(), decision);
        prop_assert!(uniform.is_none_or(|state| state == expected));
    }

    #[test]
    fn any_bytes_are_parsed_or_refused(text in prop::collection::vec(any::<u8>(), 0..40)) {
        let mut rules = Rules::new();
        let _ = rules.read_file(&text);
        if let Ok(rule) = Rule::parse(&text) {
            let json = serde_json::to_string(&rule).expect("written");
            prop_assert_eq!(serde_json::from_str::<Rule>(&json).expect("read"), rule);
        }
        let _ = Rules::with_defaults().decide_outgoing(&text);
    }
}
