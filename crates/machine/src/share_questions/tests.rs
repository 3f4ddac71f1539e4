use msb_vmm::{ShareEntry, ShareKind};

use super::*;

fn directories() -> Vec<Option<RuledDirectory>> {
    let entry = ShareEntry {
        name: "1".to_owned(),
        path: "/srv".into(),
        kind: ShareKind::Directory,
        target: "/work".to_owned(),
        rules: vec!["sealed=deny".parse().expect("a rule")],
    };
    let rules = SharedRules::of(&entry).expect("few").expect("some");
    let target = entry.target;
    vec![None, Some(RuledDirectory { target, rules })]
}

fn access(entry: usize, path: &[u8]) -> PathAccess {
    PathAccess {
        entry,
        path: path.to_vec(),
        access: Access::Read,
    }
}

#[test]
fn a_question_has_the_path_in_the_sandbox_or_is_not_asked() {
    let (user, link) = user(directories());
    for (path, expected) in [(&b"a/b"[..], "/work/a/b"), (b"", "/work")] {
        assert!(user.ask(3, &access(1, path)));
        let asked = FromShare::Asked {
            token: 3,
            kind: Kind::Read,
            path: expected.to_owned(),
        };
        assert_eq!(link.sent.try_recv(), Ok(asked));
    }
    let long = vec![b'a'; SUBJECT_MAX_BYTES];
    for refused in [
        access(0, b"a"),
        access(2, b"a"),
        access(1, b"\xff"),
        access(1, &long),
    ] {
        assert!(!user.ask(4, &refused), "{refused:?}");
    }
    for token in 0..1000 {
        let is_asked = user.ask(token, &access(1, b"a"));
        assert_eq!(is_asked, token < PENDING as u64, "{token}");
    }
}

#[test]
fn a_refusal_is_told_once_with_its_rule_and_a_flood_is_bounded() {
    let (user, link) = user(directories());
    for number in 0..1000 {
        let path = format!("sealed/{number}");
        for _ in 0..2 {
            user.refused(&access(1, path.as_bytes()));
        }
    }
    // No rule decides about this one.
    user.refused(&access(1, b"src"));
    let told: Vec<FromShare> = link.sent.try_iter().collect();
    assert_eq!(told.len(), REFUSALS_MAX);
    let first = FromShare::Refused {
        kind: Kind::Read,
        path: "/work/sealed/0".to_owned(),
        rule: "sealed=deny".to_owned(),
    };
    assert_eq!(told[0], first);
    let mut refusals = user.refusals.lock().expect("no panic");
    let later = Instant::now() + REFUSALS_INTERVAL;
    assert!(refusals.add(&access(1, b"sealed/0"), later));
}

#[test]
fn a_rule_is_set_for_the_directory_at_its_target() {
    let directories = directories();
    let rule = "/a=hide".parse().expect("a rule");
    set_rule(&directories, "/work", &rule).expect("set");
    let ruled = directories[1].as_ref().expect("rules");
    assert_eq!(ruled.rules.deciding(b"a").as_deref(), Some("/a=hide"));
    set_rule(&directories, "/other", &rule).expect_err("no directory");
}
