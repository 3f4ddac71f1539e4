//! `msb apply` of a staged directory whose rules ask about changes, and keep others back.

use std::fs;
use std::path::PathBuf;

use super::review::typed;
use super::{home, printed};
use crate::staged_disk::write_staged;
use crate::support::TestHome;

const BEFORE: [(&str, &str); 4] = [
    ("LICENSE", "MIT\n"),
    ("guide.md", "one\n"),
    ("main.c", "one\n"),
    ("plan.md", "one\n"),
];
const AFTER: [(&str, Option<&str>); 5] = [
    (".envrc", Some("echo\n")),
    ("LICENSE", Some("evil\n")),
    ("guide.md", Some("two\n")),
    ("main.c", Some("two\n")),
    ("plan.md", None),
];

/// Makes the sandbox `agent` with a staged project, and its changes. Returns the directory of the project.
fn project(home: &TestHome) -> PathBuf {
    let project = home.path().canonicalize().expect("there").join("project");
    fs::create_dir(&project).expect("made");
    for (name, text) in BEFORE {
        fs::write(project.join(name), text).expect("written");
    }
    let mount = format!("{}:/work:staged", project.display());
    let rules = ["--rule", "LICENSE=read-only", "--rule", "*.md=write-ask"];
    let words = ["create", "-q", "--name", "agent", "-v", &mount];
    printed(home, &[&words[..], &rules, &["app:1"]].concat());
    write_staged(home, "agent", 0, &AFTER);
    project
}

/// Returns the texts of the files, in their order; `None` for one that does not exist.
fn texts(project: &std::path::Path) -> Vec<Option<String>> {
    let names = AFTER.iter();
    names
        .map(|(name, _)| fs::read_to_string(project.join(name)).ok())
        .collect()
}

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[test]
fn a_change_that_a_rule_asks_about_is_applied_with_a_yes() {
    let home = home();
    let project = project(&home);
    let before = texts(&project);
    let path = |name: &str| project.join(name).display().to_string();
    // Nobody is there to say yes.
    let refused = home.msb(&["apply", "agent"]);
    assert_eq!(refused.code, Some(125), "{}", refused.stderr);
    let told = "2 of them are not accepted, such as '/work/guide.md': the rule *.md=write-ask asks \
        before it is changed";
    assert!(refused.stderr.contains(told), "{}", refused.stderr);
    let one = home.msb(&["apply", "--accept", "/work/guide.md", "agent"]);
    assert_eq!(one.code, Some(125), "{}", one.stderr);
    let told = "'/work/plan.md' is not accepted: the rule *.md=write-ask asks before it is changed";
    assert!(one.stderr.contains(told), "{}", one.stderr);
    let declined = typed(&home, &["apply", "agent"], "n\n");
    assert_eq!(declined.code, Some(125), "{}", declined.shown);
    for name in ["guide.md", "plan.md"] {
        let told = format!(
            "{}: the rule *.md=write-ask asks before it is changed",
            path(name)
        );
        assert!(declined.shown.contains(&told), "{}", declined.shown);
    }
    assert_eq!(texts(&project), before);
    let agreed = typed(&home, &["apply", "agent"], "y\n");
    assert_eq!(agreed.code, Some(0), "{}", agreed.shown);
    let expected = format!(
        "C {}\nC {}\nD {}\nR {} (direnv runs commands that it names)\nR {} (LICENSE=read-only)\n",
        path("guide.md"),
        path("main.c"),
        path("plan.md"),
        path(".envrc"),
        path("LICENSE"),
    );
    assert_eq!(agreed.stdout, expected, "{}", agreed.shown);
    let after = [None, text("MIT\n"), text("two\n"), text("two\n"), None];
    assert_eq!(texts(&project), after);
    let last = home.msb(&["apply", "agent"]);
    assert_eq!(last.code, Some(0), "{}", last.stderr);
    assert_eq!(last.stdout.matches("R ").count(), 2, "{}", last.stdout);
}

#[test]
fn what_a_rule_asks_about_is_asked_for_one_by_one_and_what_it_keeps_back_is_not() {
    let home = home();
    let project = project(&home);
    let path = |name: &str| project.join(name).display().to_string();
    // The questions are about .envrc, guide.md, main.c and plan.md.
    let reviewed = typed(&home, &["apply", "-i", "agent"], "n\ny\nn\nn\n");
    assert_eq!(reviewed.code, Some(0), "{}", reviewed.shown);
    let kept_back = format!("R {} (LICENSE=read-only)\n", path("LICENSE"));
    let expected = format!("C {}\n{kept_back}", path("guide.md"));
    assert_eq!(reviewed.stdout, expected, "{}", reviewed.shown);
    for told in [
        "direnv runs commands that it names",
        "the rule *.md=write-ask asks before it is changed",
    ] {
        assert!(reviewed.shown.contains(told), "{told}: {}", reviewed.shown);
    }
    assert!(!reviewed.shown.contains("LICENSE"), "{}", reviewed.shown);
    let after = [
        None,
        text("MIT\n"),
        text("two\n"),
        text("one\n"),
        text("one\n"),
    ];
    assert_eq!(texts(&project), after);
    let reviewed = typed(&home, &["apply", "-i", "agent"], "y\nq\n");
    assert_eq!(reviewed.code, Some(0), "{}", reviewed.shown);
    let expected = format!("A {}\n{kept_back}", path(".envrc"));
    assert_eq!(reviewed.stdout, expected, "{}", reviewed.shown);
    assert_eq!(texts(&project)[0], text("echo\n"));
    assert_eq!(texts(&project)[1..], after[1..]);
}

#[test]
fn what_was_applied_one_by_one_is_discarded_and_the_rest_stays() {
    let home = home();
    let project = project(&home);
    let words = ["apply", "-i", "--then-discard", "agent"];
    let reviewed = typed(&home, &words, "n\ny\nn\ny\n");
    assert_eq!(reviewed.code, Some(0), "{}", reviewed.shown);
    let left = "A /work/.envrc\nC /work/LICENSE\nC /work/main.c\n";
    assert_eq!(printed(&home, &["diff", "agent"]), left);
    // The sandbox has the staged files there, and with a restage the host's.
    let cat = ["fs", "cat", "agent", "/work/guide.md"];
    assert_eq!(printed(&home, &cat), "one\n");
    let restaged = printed(&home, &["restage", "agent"]);
    assert_eq!(restaged, "C /work/guide.md\nD /work/plan.md\n");
    assert_eq!(printed(&home, &cat), "two\n");
    assert_eq!(printed(&home, &["diff", "agent"]), left);
    assert_eq!(texts(&project)[3], text("one\n"));
}
