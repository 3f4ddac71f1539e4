//! Rules of staged directories, on the way out.

use path_rules::Rules;

use super::*;
use crate::Effect;
use crate::StagedRules;

/// The files of a project, in the form of [`tree`].
type Project<'a> = &'a [(&'a str, &'a str)];

/// Plans the changes between two trees of a project that is staged at `/work`, with given rules.
fn plan_of((old, new): (Project<'_>, Project<'_>), given: &[&str], accepted: &[&str]) -> Plan {
    let below_work = |files: &[(&str, &str)]| {
        let files: Vec<(String, &str)> = files
            .iter()
            .map(|(path, content)| (format!("work/{path}"), *content))
            .collect();
        let files = files.iter().map(|(path, content)| (&path[..], *content));
        InMemory(tree(&files.collect::<Vec<_>>()))
    };
    let mut rules = Rules::with_defaults();
    for rule in given {
        rules.push(rule.parse().expect("a rule")).expect("room");
    }
    let options = ApplyOptions {
        from: b"/work".to_vec(),
        accepted: accepted
            .iter()
            .map(|path| path.as_bytes().to_vec())
            .collect(),
        rules: Some(StagedRules {
            target: b"/work".to_vec(),
            rules,
        }),
        ..ApplyOptions::default()
    };
    let project = temporary();
    write_tree(old, project.path());
    let host = HostDirectory::open(project.path()).expect("opened");
    let (old, new) = (below_work(old), below_work(new));
    let changes = compare(&old, &new, &Unrelated, &Scope::everything()).expect("compared");
    let plan = Plan::new((&old, &new), &changes, &host, &options).expect("planned");
    assert!(plan.conflicts.is_empty(), "{:?}", plan.conflicts);
    plan
}

/// Returns the steps of such a plan, and what is kept back.
fn planned(
    sides: (Project<'_>, Project<'_>),
    given: &[&str],
    accepted: &[&str],
) -> (Vec<String>, Vec<String>) {
    let plan = plan_of(sides, given, accepted);
    let steps = plan.steps.iter().filter(|step| !step.is_implied);
    let steps = steps.map(|step| format!("{} {}", step.action.letter(), step.path.escape_ascii()));
    let refused = plan.refused.iter();
    let refused = refused.map(|one| format!("{} {}", one.path.escape_ascii(), one.rule));
    (steps.collect(), refused.collect())
}

#[test]
fn nothing_takes_the_place_of_a_file_that_is_kept() {
    let old = [("Makefile", "all:"), ("main.c", "1")];
    let new = [
        ("Makefile/x.md", "evil"),
        ("main.c", "1"),
        ("notes.md", "1"),
    ];
    let (steps, refused) = planned((&old, &new), &["*=read-only", "*.md=allow"], &[]);
    assert_eq!(steps, ["A notes.md"]);
    assert_eq!(refused, ["Makefile *=read-only"]);
}

#[test]
fn a_directory_is_not_removed_with_a_file_that_is_kept() {
    let old = [("docs/LICENSE", "MIT"), ("docs/a", "1")];
    let (steps, refused) = planned((&old, &[("b", "1")]), &["LICENSE=read-only"], &[]);
    assert_eq!(steps, ["A b", "D docs/a"]);
    assert_eq!(refused, ["docs/LICENSE LICENSE=read-only"]);
}

#[test]
fn hidden_names_and_programs_are_kept_back_and_each_tree_is_listed_once() {
    let new = [
        (".env", "TOKEN=stolen"),
        (".envrc", "evil"),
        ("target/debug/a", "1"),
        ("target/debug/b", "1"),
        ("src/a", "1"),
    ];
    let rules = ["target=hide"];
    let (steps, refused) = planned((&[], &new), &rules, &[]);
    assert_eq!(steps, ["A src", "A src/a"]);
    let expected = [
        ".env .env=hide",
        ".envrc direnv runs commands that it names",
        "target target=hide",
    ];
    assert_eq!(refused, expected);
    // A yes goes before a default rule, and not before a given one.
    let accepted = ["/work/.env", "/work/.envrc", "/work/target"];
    let (steps, refused) = planned((&[], &new), &rules, &accepted);
    assert_eq!(steps, ["A .env", "A .envrc", "A src", "A src/a"]);
    assert_eq!(refused, ["target target=hide"]);
}

#[test]
fn a_change_that_a_rule_asks_about_waits_for_a_yes() {
    let old = [
        ("docs/a", "1"),
        ("docs/b", "1"),
        ("docs/open/c", "1"),
        ("main.c", "1"),
        ("notes", "1"),
    ];
    let new = [
        (".envrc", "echo"),
        ("docs/a", "2"),
        ("docs/new", "1"),
        ("docs/open/c", "2"),
        ("main.c", "2"),
        ("notes", "!1"),
    ];
    let rules = [
        "docs=write-ask",
        "docs/open=allow",
        "notes=ask",
        ".envrc=write-ask",
    ];
    let asked = |accepted: &[&str]| -> Vec<String> {
        let plan = plan_of((&old, &new), &rules, accepted);
        assert!(plan.refused.is_empty(), "{:?}", plan.refused);
        let marked = plan.marked.iter().filter(|marked| marked.needs_acceptance);
        let line = |marked: &crate::Marked| match &marked.effect {
            Effect::Asked { rule } => format!("{} {rule}", marked.sandbox_path.escape_ascii()),
            effect => panic!("{effect:?}"),
        };
        marked.map(line).collect()
    };
    // The nearest rule decides, and a removal is a change. A given rule goes before what is known
    // of programs.
    let all = [
        "/work/.envrc .envrc=write-ask",
        "/work/docs/a docs=write-ask",
        "/work/docs/b docs=write-ask",
        "/work/docs/new docs=write-ask",
        "/work/notes notes=ask",
    ];
    assert_eq!(asked(&[]), all);
    assert_eq!(asked(&["/work/docs"]), [all[0], all[4]]);
    assert_eq!(
        asked(&["/work/docs/a", "/work/notes", "/work/.envrc"]),
        [all[2], all[3]]
    );
    assert!(asked(&["/"]).is_empty());
    assert_eq!(asked(&["/work/doc"]), all);
}

#[test]
fn a_linked_worktree_is_marked_as_git_reads_it() {
    let new = [
        ("wt/HEAD", "ref: refs/heads/x"),
        ("wt/commondir", "../evil"),
        ("evil/config", "[core]"),
    ];
    let old = InMemory(tree(&[]));
    let new = InMemory(tree(&new));
    let project = temporary();
    let host = HostDirectory::open(project.path()).expect("opened");
    let changes = compare(&old, &new, &Unrelated, &Scope::everything()).expect("compared");
    let options = ApplyOptions::default();
    let plan = Plan::new((&old, &new), &changes, &host, &options).expect("planned");
    let marked = plan.marked.iter().filter(|marked| marked.needs_acceptance);
    let marked: Vec<_> = marked
        .map(|marked| marked.path.escape_ascii().to_string())
        .collect();
    assert_eq!(marked, ["wt/HEAD", "wt/commondir"]);
}

#[test]
fn an_addition_under_a_hidden_name_stops_nothing_and_touches_no_file_of_the_host() {
    let hidden = [(".env", "TOKEN=of-the-host"), ("target/build.o", "large")];
    let project = temporary();
    write_tree(&hidden, project.path());
    let host = HostDirectory::open(project.path()).expect("opened");
    let old = InMemory(tree(&[]));
    let new = [
        (".env", "own"),
        ("target/build.o", "other"),
        ("main.c", "1"),
    ];
    let new = InMemory(tree(&new));
    let changes = compare(&old, &new, &Unrelated, &Scope::everything()).expect("compared");
    let mut rules = Rules::with_defaults();
    let rule = "target=hide".parse().expect("a rule");
    rules.push(rule).expect("room");
    let mut options = ApplyOptions {
        rules: Some(StagedRules {
            target: Vec::new(),
            rules,
        }),
        ..ApplyOptions::default()
    };
    let plan = Plan::new((&old, &new), &changes, &host, &options).expect("planned");
    assert!(plan.conflicts.is_empty(), "{:?}", plan.conflicts);
    let refused: Vec<&str> = plan.refused.iter().map(|one| &one.rule[..]).collect();
    assert_eq!(refused, [".env=hide", "target=hide"]);
    run((&old, &new), &host, &options, &plan).expect("applied");
    let expected = tree_with(&hidden, ("main.c", "1"));
    assert_eq!(read_tree(project.path()), expected);
    // With a yes it is compared with the host's file, as any other.
    options.accepted = vec![b"/.env".to_vec()];
    let plan = Plan::new((&old, &new), &changes, &host, &options).expect("planned");
    assert_eq!(plan.conflicts.len(), 1, "{:?}", plan.conflicts);
    assert_eq!(plan.conflicts[0].reason, ConflictReason::Exists);
}

/// Returns what [`read_tree`] finds of these files and another one.
fn tree_with(files: &[(&str, &str)], other: (&str, &str)) -> Vec<(String, String)> {
    let directory = temporary();
    write_tree(files, directory.path());
    write_tree(&[other], directory.path());
    read_tree(directory.path())
}
