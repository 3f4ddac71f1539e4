//! Repositories of git, and files that run commands.

use super::*;
use crate::Effect;

const OLD: &[(&str, &str)] = &[
    ("work/.git/index", "1"),
    ("work/sub/.git/index", "1"),
    ("work/sub/a", "1"),
    ("work/main.c", "1"),
];
const NEW: &[(&str, &str)] = &[
    ("work/.git/index", "2"),
    ("work/.git/hooks/pre-commit", "!evil"),
    ("work/.envrc", "evil"),
    ("work/.vscode/tasks.json", "evil"),
    ("work/main.c", "2"),
    ("work/notes", "->/etc/passwd"),
];

fn planned(options: &ApplyOptions) -> (Plan, tempfile::TempDir) {
    let (old, new) = (InMemory(tree(OLD)), InMemory(tree(NEW)));
    let project = temporary();
    let files: Vec<(&str, &str)> = (OLD.iter())
        .map(|(path, content)| (path.strip_prefix("work/").expect("below"), *content))
        .collect();
    write_tree(&files, project.path());
    let host = HostDirectory::open(project.path()).expect("opened");
    let changes = compare(&old, &new, &Unrelated, &Scope::everything()).expect("compared");
    let plan = Plan::new((&old, &new), &changes, &host, options).expect("planned");
    (plan, project)
}

fn steps(plan: &Plan) -> Vec<String> {
    let shown = plan.steps.iter().filter(|step| !step.is_implied);
    shown
        .map(|step| format!("{} {}", step.action.letter(), step.path.escape_ascii()))
        .collect()
}

fn options() -> ApplyOptions {
    ApplyOptions {
        from: b"/work".to_vec(),
        ..ApplyOptions::default()
    }
}

#[test]
fn a_repository_is_left_out_and_stays() {
    let (plan, _project) = planned(&options());
    assert!(plan.conflicts.is_empty(), "{:?}", plan.conflicts);
    let expected = [
        "A .envrc",
        "A .vscode",
        "A .vscode/tasks.json",
        "C main.c",
        "A notes",
        // Its directory has a repository, which stays.
        "D sub/a",
    ];
    assert_eq!(steps(&plan), expected);
    assert_eq!(
        plan.left_out,
        [b"/work/.git".to_vec(), b"/work/sub/.git".to_vec()]
    );
}

#[test]
fn a_named_repository_is_applied() {
    let mut options = options();
    options.chosen = vec![b"work/.git".to_vec()];
    let (plan, _project) = planned(&options);
    let all = steps(&plan);
    for step in ["C .git/index", "A .git/hooks", "A .git/hooks/pre-commit"] {
        assert!(all.contains(&step.to_owned()), "{all:?}");
    }
    assert_eq!(plan.left_out, [b"/work/sub/.git".to_vec()]);
    let include = tree_diff::PathFilter::new(&[], &["*", ".git/hooks"]);
    let mut options = self::options();
    options.filter = include.expect("patterns");
    let (plan, _project) = planned(&options);
    assert_eq!(plan.left_out.len(), 2, "a pattern of every name names none");
}

#[test]
fn what_runs_commands_is_marked_until_it_is_accepted() {
    let mut options = options();
    options.chosen = vec![b"/work/.git".to_vec(), b"/work".to_vec()];
    let (plan, _project) = planned(&options);
    let unaccepted = |plan: &Plan| {
        let marked = plan.marked.iter().filter(|marked| marked.needs_acceptance);
        marked
            .map(|marked| String::from_utf8_lossy(&marked.sandbox_path).into_owned())
            .collect::<Vec<_>>()
    };
    let expected = [
        "/work/.envrc",
        "/work/.git/hooks/pre-commit",
        "/work/.vscode/tasks.json",
    ];
    assert_eq!(unaccepted(&plan), expected);
    let noted = plan.marked.iter().find(|marked| !marked.needs_acceptance);
    let target = b"/etc/passwd".to_vec();
    assert_eq!(
        noted.map(|marked| (&marked.path[..], &marked.effect)),
        Some((&b"notes"[..], &Effect::LeadsOutside { target }))
    );
    options.accepted = vec![b"/work/.envrc".to_vec(), b"work/.git/".to_vec()];
    assert_eq!(
        unaccepted(&planned(&options).0),
        ["/work/.vscode/tasks.json"]
    );
    options.accepted = vec![b"/".to_vec()];
    assert!(unaccepted(&planned(&options).0).is_empty());
}
