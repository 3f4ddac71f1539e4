//! Images of several layers.

use std::convert::Infallible;

use oci_layers::{Limit, Limits, merge};
use testkit::TarEntry;

use crate::fixture::{image_of, message, names, read_entries};

fn file(path: &str) -> TarEntry {
    TarEntry::file(path, path)
}

fn names_of(layers: &[&[TarEntry]]) -> Vec<String> {
    names(&image_of(layers).expect("the image is valid"))
}

#[test]
fn whiteouts_remove_lower_names_wherever_they_stand() {
    let base = [
        file("a"),
        file("d/x"),
        file("d/y"),
        TarEntry::symlink("s", "d"),
    ];
    let before = [
        file(".wh.a"),
        file("a"),
        file(".wh.d"),
        file("d/z"),
        file(".wh.s"),
    ];
    let after = [
        file("a"),
        file(".wh.a"),
        file("d/z"),
        file(".wh.d"),
        file(".wh.s"),
    ];
    for upper in [&before, &after] {
        assert_eq!(names_of(&[&base, upper]), ["/ d", "/a -", "/d d", "/d/z -"]);
    }
    let missing = [file(".wh.nothing"), TarEntry::directory(".wh.a")];
    let expected = ["/ d", "/d d", "/d/x -", "/d/y -", "/s l d"];
    assert_eq!(names_of(&[&base, &missing]), expected);
}

#[test]
fn a_whiteout_takes_the_attributes_too_when_the_directory_comes_back() {
    let base = [TarEntry::directory("d").mode(0o700), file("d/x")];
    let again = image_of(&[&base, &[file(".wh.d"), file("d/y")]]).expect("valid");
    assert!(again.to_string().contains("/d d 0755"), "{again}");
    let opaque = image_of(&[&base, &[file("d/.wh..wh..opq"), file("d/y")]]).expect("valid");
    assert!(opaque.to_string().contains("/d d 0700"), "{opaque}");
}

#[test]
fn opaque_directories_hide_lower_children_only() {
    let base = [
        TarEntry::directory("d").mode(0o700),
        file("d/x/deep"),
        file("e"),
    ];
    let entries = [
        file("d/.wh..wh..opq"),
        TarEntry::directory("d").mode(0o711),
        file("d/y"),
    ];
    let mut reversed = entries.clone();
    reversed.reverse();
    for upper in [entries, reversed] {
        let image = image_of(&[&base, &upper]).expect("valid");
        assert_eq!(names(&image), ["/ d", "/d d", "/d/y -", "/e -"]);
        assert!(image.to_string().contains("/d d 0711"), "{image}");
    }
    assert_eq!(
        names_of(&[&base, &[file(".wh..wh..opq"), file("f")]]),
        ["/ d", "/f -"]
    );
}

#[test]
fn markers_imply_no_directory() {
    let base = [
        TarEntry::directory("d"),
        file("d/x"),
        file("d/e/y"),
        file("f"),
    ];
    let gone = ["/ d", "/f -"];
    let as_it_was = ["/ d", "/d d", "/d/e d", "/d/e/y -", "/d/x -", "/f -"];
    let cases: [(&[&str], &[&str]); 9] = [
        (&["d/.wh.x", ".wh.d"], &gone),
        (&[".wh.d", "d/.wh.x"], &gone),
        (&["d/.wh.missing", ".wh.d"], &gone),
        (&["d/e/.wh.y", ".wh.d"], &gone),
        (&["d/.wh..wh..opq", ".wh.d"], &gone),
        (
            &["d/e/.wh.y", "d/.wh.e"],
            &["/ d", "/d d", "/d/x -", "/f -"],
        ),
        (&["no/.wh.x", "no/way/.wh.x"], &as_it_was),
        (&["no/.wh..wh..opq"], &as_it_was),
        (&["f/.wh.x"], &as_it_was),
    ];
    for (markers, expected) in cases {
        let upper: Vec<TarEntry> = markers.iter().map(|path| file(path)).collect();
        assert_eq!(names_of(&[&base, &upper]), expected, "{markers:?}");
    }
    let new = [file("d/.wh.x"), file(".wh.d"), file("d/new")];
    assert_eq!(
        names_of(&[&base, &new]),
        ["/ d", "/d d", "/d/new -", "/f -"]
    );
}

#[test]
fn markers_below_a_symlink_hold_for_what_it_leads_to() {
    let base = [
        file("etc/w"),
        file("etc/z"),
        TarEntry::symlink("le", "/etc"),
        TarEntry::symlink("loop", "loop"),
        TarEntry::symlink("dangling", "nowhere"),
    ];
    let shown = |files: &str| {
        let names = format!("/ d,/dangling l nowhere,/etc d{files},/le l /etc,/loop l loop");
        names.split(',').map(str::to_owned).collect::<Vec<_>>()
    };
    let both = ",/etc/w -,/etc/z -";
    let cases: [(&[&str], Vec<String>); 4] = [
        (&["le/.wh.w"], shown(",/etc/z -")),
        (&["le/.wh..wh..opq"], shown("")),
        (
            &["loop/.wh.w", "dangling/.wh.w", "le/no/.wh.w"],
            shown(both),
        ),
        (&["le/.wh.w", "etc/w"], shown(both)),
    ];
    for (paths, expected) in cases {
        let upper: Vec<TarEntry> = paths.iter().map(|path| file(path)).collect();
        assert_eq!(names_of(&[&base, &upper]), expected, "{paths:?}");
    }
    for (target, left) in [("/etc", ",/etc/z -"), ("/no", both)] {
        let upper = [TarEntry::symlink("own", target), file("own/.wh.w")];
        let mut expected = shown(left);
        expected.push(format!("/own l {target}"));
        assert_eq!(names_of(&[&base, &upper]), expected);
    }
}

#[test]
fn markers_in_a_directory_that_hides_a_symlink_remove_nothing() {
    let base = [file("etc/w"), TarEntry::symlink("le", "/etc")];
    let upper = [file("le/new"), file("le/.wh.w")];
    let expected = ["/ d", "/etc d", "/etc/w -", "/le d", "/le/new -"];
    assert_eq!(names_of(&[&base, &upper]), expected);
}

#[test]
fn implied_parents_keep_lower_attributes() {
    let base = [TarEntry::directory("d").mode(0o700).owner(7, 8).mtime(9, 0)];
    let image = image_of(&[&base, &[file("d/x"), file("n/y")]]).expect("valid");
    let text = image.to_string();
    assert!(text.contains("/d d 0700 7:8 - 9.000000000"), "{text}");
    assert!(text.contains("/n d 0755 0:0 - 0.000000000"), "{text}");
}

#[test]
fn types_change_and_old_children_stay_away() {
    let base = [
        file("d/x"),
        file("f"),
        TarEntry::symlink("s", "d"),
        file("t/x"),
    ];
    let upper = [
        file("d"),
        file("f/x"),
        TarEntry::directory("s"),
        file("t"),
        TarEntry::directory("t"),
    ];
    let expected = ["/ d", "/d -", "/f d", "/f/x -", "/s d", "/t d"];
    assert_eq!(names_of(&[&base, &upper]), expected);
}

#[test]
fn a_lower_symlink_is_hidden_by_what_comes_below_its_name() {
    let base = [file("usr/lib/a"), TarEntry::symlink("lib", "usr/lib")];
    assert_eq!(
        names_of(&[&base, &[file("lib/b")]]),
        [
            "/ d",
            "/lib d",
            "/lib/b -",
            "/usr d",
            "/usr/lib d",
            "/usr/lib/a -"
        ]
    );
}

#[test]
fn hard_links_to_lower_files_are_one_inode() {
    let base = [
        file("a"),
        TarEntry::hardlink("b", "a"),
        TarEntry::symlink("s", "d"),
        file("d/x"),
    ];
    let upper = [
        TarEntry::hardlink("c", "a"),
        file(".wh.a"),
        TarEntry::hardlink("y", "s/x"),
    ];
    assert_eq!(
        names_of(&[&base, &upper]),
        [
            "/ d",
            "/b - /b",
            "/c - /b",
            "/d d",
            "/d/x - /d/x",
            "/s l d",
            "/y - /d/x"
        ]
    );
    for (target, reason) in [
        (
            "nothing",
            "layer 1 has a hard link to 'nothing', which does not exist",
        ),
        ("d", "layer 1 has a hard link to the directory 'd'"),
    ] {
        let upper = [TarEntry::hardlink("c", target)];
        assert_eq!(image_of(&[&base, &upper]), Err(reason.to_owned()));
    }
}

#[test]
fn the_root_has_the_attributes_of_its_entry() {
    let base = [TarEntry::directory("./")
        .mode(0o700)
        .owner(1, 2)
        .xattr("user.a", "1")];
    let image = image_of(&[&base, &[file("a")]]).expect("valid");
    assert!(image.to_string().starts_with("/ d 0700 1:2 - "), "{image}");
}

#[test]
fn aufs_leftovers_are_left_out() {
    let layer = [
        TarEntry::directory(".wh..wh.plnk"),
        file(".wh..wh.plnk/1.2"),
        file(".wh..wh.aufs"),
        TarEntry::directory(".wh..wh.orph"),
        file("a"),
    ];
    assert_eq!(names_of(&[&layer]), ["/ d", "/a -"]);
}

#[test]
fn empty_layers_and_many_layers_are_images() {
    assert_eq!(names_of(&[]), ["/ d"]);
    let layers: Vec<_> = (0..127).map(|layer| [file(&format!("f{layer}"))]).collect();
    let layers: Vec<&[TarEntry]> = layers.iter().map(|layer| &layer[..]).collect();
    assert_eq!(names_of(&layers).len(), 128);
    assert_eq!(
        names_of(&[&[file("a")], &[], &[file("a")]]),
        ["/ d", "/a -"]
    );
}

#[test]
fn extents_say_which_layer_they_are_on() {
    let trees = ["a", "b"].map(|path| Ok::<_, Infallible>(read_entries([file(path)]).tree));
    let tree = merge(trees, &Limits::default()).expect("valid").tree;
    for (path, device) in [("a", 1), ("b", 2)] {
        let id = tree.find(path.as_bytes()).expect("it is there");
        match &tree.inode(id).kind {
            fstree::FileKind::Regular(data) => assert_eq!(data.extents[0].device, device),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn an_image_has_as_many_names_as_it_may() {
    let trees = || ["a", "b"].map(|path| Ok::<_, Infallible>(read_entries([file(path)]).tree));
    let limits = |most| Limits::default().with(Limit::ImageEntries, most);
    assert!(merge(trees(), &limits(2)).is_ok());
    let error = merge(trees(), &limits(1)).expect_err("it is one too many");
    assert!(message(&error).contains("image-entries=1"), "{error}");
}

#[test]
fn a_layer_that_cannot_be_had_is_named() {
    let layers = [
        Ok(read_entries([file("a")]).tree),
        Err(std::io::Error::other("gone")),
    ];
    let error = merge(layers, &Limits::default()).expect_err("it cannot be merged");
    assert_eq!(error.to_string(), "cannot read layer 1");
}
