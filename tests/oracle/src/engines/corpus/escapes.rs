//! Names that try to leave the root, and names at the limits of a name.

use testkit::TarEntry;

use super::{Case, directory, file, hardlink, symlink};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, path) in [
        ("up", "../x"),
        ("up-deep", "a/b/../../../x"),
        ("up-many", "../../../../../../tmp/x"),
        ("inner", "a/../b"),
        ("inner-deep", "a/b/c/../../d"),
        ("inner-end", "a/b/.."),
        ("dot", "./."),
        ("dot-file", "./x/."),
        ("root-up", "/../x"),
        ("absolute", "/x"),
        ("double", "//x//y"),
        ("slash", "/"),
        ("dots", "..."),
        ("four", "..../x"),
        ("trailing", "x/"),
        ("trailing-dot", "x/."),
        ("backslash", "..\\x"),
        ("drive", "C:\\x"),
        ("dotdot-alone", ".."),
        ("empty", ""),
        ("space", " "),
        ("newline", "a\nb"),
        ("escape", "\x1b[31mred"),
        ("tilde", "~/x"),
        ("dash", "-rf"),
        ("star", "*"),
    ] {
        cases.push(Case::one(
            format!("path/{name}"),
            [directory("a"), TarEntry::file(path, "1").mtime(4, 0)],
        ));
        cases.push(Case::one(
            format!("path-directory/{name}"),
            [TarEntry::directory(path).mtime(4, 0)],
        ));
    }
    for (name, target) in [
        ("absolute", "/etc"),
        ("up", "../../../../etc"),
        ("root", "/"),
        ("dot", "."),
        ("parent", ".."),
        ("inside", "real"),
        ("absolute-inside", "/real"),
        ("self", "link"),
        ("missing", "nowhere"),
        ("missing-absolute", "/no/where"),
        ("through-up", "real/../../../real"),
        ("long", &"x/".repeat(2000)),
    ] {
        let link = symlink("link", target);
        let base = [directory("real"), file("real/kept"), directory("real")];
        let with = |last: TarEntry| base.iter().cloned().chain([link.clone(), last]);
        cases.push(Case::one(
            format!("through/file/{name}"),
            with(file("link/passwd")),
        ));
        cases.push(Case::one(
            format!("through/directory/{name}"),
            with(directory("link/new")),
        ));
        cases.push(Case::one(
            format!("through/hardlink/{name}"),
            with(hardlink("stolen", "link/kept")),
        ));
        cases.push(Case::one(
            format!("through/whiteout/{name}"),
            with(file("link/.wh.kept")),
        ));
        let lower = base.iter().cloned().chain([link.clone()]);
        cases.push(Case::two(
            format!("through-lower/{name}"),
            lower,
            [file("link/passwd")],
        ));
        cases.push(Case::one(format!("onto/{name}"), with(file("link"))));
        cases.push(Case::one(
            format!("hardlink-target/{name}"),
            with(TarEntry::hardlink("stolen", target).mtime(2, 0)),
        ));
    }
    cases.push(Case::one(
        "through/chain",
        [
            symlink("a", "b"),
            symlink("b", "c"),
            directory("c"),
            file("a/x"),
            directory("c"),
        ],
    ));
    cases.push(Case::one(
        "through/circle",
        [symlink("a", "b"), symlink("b", "a"), file("a/x")],
    ));
    cases.push(Case::one(
        "through/swapped",
        [
            directory("d"),
            file("d/x"),
            symlink("d", "/etc"),
            file("d/passwd"),
        ],
    ));
    for length in [100, 101, 155, 255, 256, 1000] {
        cases.push(Case::one(
            format!("length/component/{length}"),
            [file(&"n".repeat(length))],
        ));
    }
    // Dumps do not show paths beyond `PATH_MAX`; `cargo test -p oci-layers` has them.
    for depth in [10, 100, 1000] {
        let path = vec!["d"; depth].join("/");
        cases.push(Case::one(format!("length/depth/{depth}"), [file(&path)]));
    }
    for length in [1, 99, 100, 4095, 4096, 70_000] {
        cases.push(Case::one(
            format!("length/target/{length}"),
            [symlink("s", &"t".repeat(length))],
        ));
    }
    for bytes in [
        &b"\xff\xfe"[..],
        b"caf\xe9",
        b"\xed\xa0\x80",
        b"a\x7f",
        b"\x01",
    ] {
        cases.push(Case::one(
            format!("bytes/{}", bytes.escape_ascii()),
            [TarEntry::file(bytes, "1").mtime(3, 0)],
        ));
    }
    cases
}
