//! Several entries of one name: every type onto every other, in one layer and across two.

use testkit::TarEntry;

use super::{Case, directory, entry, file, hardlink, symlink};

const KINDS: [&str; 7] = [
    "file",
    "directory",
    "full",
    "symlink",
    "dirlink",
    "pipe",
    "device",
];

/// Returns the entries that put this kind of thing at `name`.
fn put(kind: &str, name: &str, mark: &str) -> Vec<TarEntry> {
    match kind {
        "file" => vec![TarEntry::file(name, mark).mtime(7, 0)],
        "directory" => vec![directory(name)],
        "full" => vec![
            directory(name),
            file(&format!("{name}/{mark}")),
            directory(name),
        ],
        "symlink" => vec![symlink(name, "nowhere")],
        "dirlink" => vec![symlink(name, "target")],
        "pipe" => vec![entry(b'6', name)],
        _ => vec![TarEntry::char_device(name, 1, 3).mtime(9, 0)],
    }
}

fn around() -> Vec<TarEntry> {
    vec![
        directory("target"),
        file("target/kept"),
        directory("target"),
    ]
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for before in KINDS {
        for after in KINDS {
            let (first, second) = (put(before, "x", "old"), put(after, "x", "new"));
            let same = [around(), first.clone(), second.clone()].concat();
            cases.push(Case::one(format!("change/same/{before}-{after}"), same));
            let lower = [around(), first].concat();
            cases.push(Case::two(
                format!("change/across/{before}-{after}"),
                lower,
                second,
            ));
        }
    }
    cases.extend(below());
    cases.extend(links());
    cases
}

/// Returns cases with entries below a name that is not a directory.
fn below() -> Vec<Case> {
    let mut cases = Vec::new();
    for kind in ["file", "symlink", "dirlink", "pipe", "device"] {
        let child = [file("x/child")];
        let same = [around(), put(kind, "x", "old"), child.to_vec()].concat();
        cases.push(Case::one(format!("below/same/{kind}"), same));
        let lower = [around(), put(kind, "x", "old")].concat();
        cases.push(Case::two(format!("below/across/{kind}"), lower, child));
    }
    cases.push(Case::one(
        "reset/three",
        [
            directory("d"),
            file("d/old"),
            file("d"),
            directory("d"),
            file("d/new"),
            directory("d"),
        ],
    ));
    cases.push(Case::two(
        "reset/across",
        [directory("d"), file("d/old")],
        [file("d"), directory("d"), file("d/new"), directory("d")],
    ));
    cases
}

/// Returns cases with hard links to every kind of thing.
fn links() -> Vec<Case> {
    let mut cases = Vec::new();
    for kind in KINDS {
        let target = [around(), put(kind, "x", "old")].concat();
        let link = vec![TarEntry::hardlink("link", "x").mtime(9, 0)];
        cases.push(Case::one(
            format!("link/earlier/{kind}"),
            [target.clone(), link.clone()].concat(),
        ));
        cases.push(Case::one(
            format!("link/later/{kind}"),
            [link.clone(), target.clone()].concat(),
        ));
        cases.push(Case::two(format!("link/lower/{kind}"), target, link));
    }
    let linked = [file("a"), hardlink("b", "a"), hardlink("c", "b")];
    cases.push(Case::one("link/chain", linked.clone()));
    cases.push(Case::one("link/self", [hardlink("a", "a")]));
    cases.push(Case::one(
        "link/onto-itself",
        [file("a"), hardlink("a", "a")],
    ));
    cases.push(Case::one(
        "link/circle",
        [hardlink("a", "b"), hardlink("b", "a")],
    ));
    cases.push(Case::one("link/missing", [hardlink("a", "nowhere")]));
    cases.push(Case::one(
        "link/replaced",
        [
            file("a"),
            hardlink("b", "a"),
            TarEntry::file("a", "new").mtime(5, 0),
        ],
    ));
    cases.push(Case::one(
        "link/attributes",
        [
            file("a"),
            hardlink("b", "a").mode(0o600).owner(5, 6).mtime(5, 0),
        ],
    ));
    cases.push(Case::one(
        "link/onto-file",
        [file("a"), file("b"), hardlink("b", "a")],
    ));
    cases.push(Case::one(
        "link/onto-directory",
        [file("a"), directory("b"), file("b/x"), hardlink("b", "a")],
    ));
    cases.push(Case::one(
        "link/through-symlink",
        [
            directory("d"),
            file("d/x"),
            directory("d"),
            symlink("s", "d"),
            hardlink("b", "s/x"),
        ],
    ));
    cases.push(Case::one(
        "link/below-file",
        [file("a"), file("f"), hardlink("f/b", "a")],
    ));
    cases.push(Case::one(
        "link/with-content",
        [
            file("a"),
            {
                let mut link = hardlink("b", "a");
                link.content = b"body of a link".to_vec();
                link
            },
            file("after"),
        ],
    ));
    cases.push(Case::two(
        "link/lower-then-gone",
        linked.clone(),
        [file(".wh.a"), file(".wh.b")],
    ));
    cases.push(Case::two(
        "link/lower-replaced",
        linked,
        [TarEntry::file("b", "new").mtime(5, 0)],
    ));
    cases
}
