//! Whiteouts and opaque markers in every shape and order.

use testkit::TarEntry;

use super::{Case, directory, entry, file, hardlink, symlink};

fn base() -> Vec<TarEntry> {
    vec![
        directory("d").mode(0o750),
        file("d/a"),
        file("d/b"),
        directory("d/e"),
        file("d/e/f"),
        directory("d/e"),
        directory("d").mode(0o750),
        file("x"),
        symlink("s", "d"),
        hardlink("y", "x"),
        symlink("absolute", "/d"),
        symlink("dangling", "nowhere"),
        symlink("loop", "loop"),
    ]
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |name: &str, upper: Vec<TarEntry>| {
        cases.push(Case::two(format!("whiteout/{name}"), base(), upper.clone()));
        cases.push(Case::one(format!("whiteout-alone/{name}"), upper));
    };
    for (name, path) in [
        ("file", ".wh.x"),
        ("tree", ".wh.d"),
        ("nested", "d/.wh.a"),
        ("nested-tree", "d/.wh.e"),
        ("symlink", ".wh.s"),
        ("hardlink", ".wh.y"),
        ("missing", ".wh.nothing"),
        ("missing-parent", "no/.wh.a"),
        ("empty", ".wh."),
        ("dot", ".wh.."),
        ("dotdot", ".wh..."),
        ("nested-empty", "d/.wh."),
        ("nested-dot", "d/.wh.."),
        ("nested-dotdot", "d/.wh..."),
        ("double", ".wh..wh.x"),
        ("double-opaque", ".wh..wh..wh..opq"),
        ("prefix", ".whx"),
        ("upper-case", ".WH.x"),
        ("plnk", ".wh..wh.plnk"),
        ("aufs", ".wh..wh.aufs"),
        ("orph", ".wh..wh.orph"),
        ("other", ".wh..wh.foo"),
        ("slash", ".wh.d/"),
        ("opaque", "d/.wh..wh..opq"),
        ("opaque-root", ".wh..wh..opq"),
        ("opaque-missing", "no/.wh..wh..opq"),
        ("through-file", "x/.wh.a"),
        ("opaque-dot", "d/./.wh..wh..opq"),
        ("up", "d/../.wh.x"),
    ] {
        add(name, vec![file(path)]);
        if ["file", "tree", "opaque", "nested"].contains(&name) {
            add(&format!("{name}-directory"), vec![directory(path)]);
            add(&format!("{name}-symlink"), vec![symlink(path, "x")]);
            add(
                &format!("{name}-content"),
                vec![TarEntry::file(path, "content").mtime(2, 0)],
            );
            add(
                &format!("{name}-device"),
                vec![TarEntry::char_device(path, 0, 0)],
            );
            add(&format!("{name}-pipe"), vec![entry(b'6', path)]);
            add(&format!("{name}-twice"), vec![file(path), file(path)]);
        }
    }
    let new = || TarEntry::file("d/new", "new").mtime(3, 0);
    add(
        "opaque-before",
        vec![
            file("d/.wh..wh..opq"),
            directory("d").mode(0o711),
            new(),
            directory("d").mode(0o711),
        ],
    );
    add(
        "opaque-after",
        vec![
            directory("d").mode(0o711),
            new(),
            file("d/.wh..wh..opq"),
            directory("d").mode(0o711),
        ],
    );
    // `d` has no entry in the layer whose marker hides the lower `d`.
    add("opaque-implied", vec![file(".wh..wh..opq"), new()]);
    add("opaque-implied-after", vec![new(), file(".wh..wh..opq")]);
    add(
        "opaque-implied-below",
        vec![file("d/.wh..wh..opq"), file("d/e/new")],
    );
    add("whiteout-implied", vec![file(".wh.d"), new()]);
    add("whiteout-implied-after", vec![new(), file(".wh.d")]);
    add("opaque-bare", vec![new(), file("d/.wh..wh..opq")]);
    add(
        "opaque-and-own",
        vec![
            file("d/.wh..wh..opq"),
            TarEntry::file("d/a", "again").mtime(3, 0),
        ],
    );
    add(
        "own-then-whiteout",
        vec![TarEntry::file("x", "own").mtime(3, 0), file(".wh.x")],
    );
    add(
        "whiteout-then-own",
        vec![file(".wh.x"), TarEntry::file("x", "own").mtime(3, 0)],
    );
    add(
        "tree-then-own",
        vec![file(".wh.d"), directory("d"), new(), directory("d")],
    );
    add(
        "own-then-tree",
        vec![directory("d"), new(), directory("d"), file(".wh.d")],
    );
    add("tree-and-child", vec![file(".wh.d"), file("d/.wh.a")]);
    add("child-and-tree", vec![file("d/.wh.a"), file(".wh.d")]);
    add("tree-and-deep", vec![file(".wh.d"), file("d/e/.wh.f")]);
    add("deep-and-tree", vec![file("d/e/.wh.f"), file(".wh.d")]);
    add("deep-and-child", vec![file("d/e/.wh.f"), file("d/.wh.e")]);
    add("child-and-deep", vec![file("d/.wh.e"), file("d/e/.wh.f")]);
    add(
        "missing-child-and-tree",
        vec![file("d/.wh.nothing"), file(".wh.d")],
    );
    add(
        "opaque-and-tree",
        vec![file("d/.wh..wh..opq"), file(".wh.d")],
    );
    add(
        "tree-and-opaque",
        vec![file(".wh.d"), file("d/.wh..wh..opq")],
    );
    add(
        "child-tree-and-own",
        vec![file("d/.wh.a"), file(".wh.d"), new()],
    );
    add(
        "tree-child-and-own",
        vec![file(".wh.d"), file("d/.wh.a"), new()],
    );
    add("missing-parents", vec![file("no/way/.wh.a")]);
    add("below-whiteout", vec![directory(".wh.d"), file(".wh.d/x")]);
    add(
        "aufs-directory",
        vec![
            directory(".wh..wh.plnk"),
            file(".wh..wh.plnk/1.2"),
            hardlink("z", ".wh..wh.plnk/1.2"),
        ],
    );
    add(
        "link-then-whiteout",
        vec![hardlink("z", "x"), file(".wh.x")],
    );
    add(
        "whiteout-then-link",
        vec![file(".wh.x"), hardlink("z", "x")],
    );
    add(
        "through-own-symlink",
        vec![symlink("t", "d"), file("t/.wh.a")],
    );
    add(
        "through-own-absolute-symlink",
        vec![symlink("t", "/d"), file("t/.wh.a")],
    );
    add(
        "through-own-symlink-and-tree",
        vec![symlink("t", "/d"), file("t/.wh.a"), file(".wh.d")],
    );
    add(
        "through-own-dangling-symlink",
        vec![symlink("t", "/no"), file("t/.wh.a")],
    );
    add("through-lower-symlink", vec![file("s/.wh.a")]);
    for name in ["absolute", "dangling", "loop"] {
        let marker = || file(&format!("{name}/.wh.a"));
        add(&format!("through-lower-{name}"), vec![marker()]);
        add(
            &format!("through-lower-{name}-and-own"),
            vec![marker(), file(&format!("{name}/new"))],
        );
    }
    add("opaque-through-lower-symlink", vec![file("s/.wh..wh..opq")]);
    add(
        "lower-symlink-and-child",
        vec![file(".wh.s"), file("s/.wh.a")],
    );
    add(
        "child-and-own-symlink",
        vec![file("s/.wh.a"), symlink("s", "/d")],
    );
    add("device-zero", vec![TarEntry::char_device("x", 0, 0)]);
    add("device-zero-new", vec![TarEntry::char_device("new", 0, 0)]);
    add("hardlink-marker", vec![file("w"), hardlink(".wh.x", "w")]);
    add(
        "trusted-opaque",
        vec![directory("d").xattr("trusted.overlay.opaque", "y")],
    );
    add(
        "trusted-redirect",
        vec![directory("new").xattr("trusted.overlay.redirect", "/d")],
    );
    add(
        "trusted-whiteout",
        vec![
            TarEntry::file("x", "")
                .xattr("trusted.overlay.whiteout", "y")
                .mtime(2, 0),
        ],
    );
    add(
        "user-opaque",
        vec![directory("d").xattr("user.overlay.opaque", "y")],
    );
    for length in [250, 251, 252, 255] {
        let name = "n".repeat(length);
        cases.push(Case::two(
            format!("whiteout/long/{length}"),
            [file(&name), file("kept")],
            [file(&format!(".wh.{name}"))],
        ));
    }
    cases
}
