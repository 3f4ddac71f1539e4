//! Lists, inspections and removals of images.

use crate::program::Msb;

#[test]
fn what_quiet_prints_can_be_removed() {
    let msb = Msb::with_image(&["app:dev", "app:latest", "owner/tool:1"]);
    let digests = msb.run(&["images", "-q"]).printed();
    assert_eq!(digests.lines().count(), 1, "{digests}");
    assert!(digests.starts_with("sha256:"), "{digests}");
    msb.run(&["rmi", digests.trim()]).printed();
    assert_eq!(msb.run(&["images", "-q"]).printed(), "");
}

#[test]
fn images_are_chosen_by_name_and_shown_by_templates() {
    let msb = Msb::with_image(&["app:dev", "app:latest", "owner/tool:1"]);
    let shown = |words: &[&str]| {
        let format = ["--format", "{{.Repository}} {{.Tag}}"];
        msb.run(&[&["images"], words, &format].concat()).printed()
    };
    assert_eq!(shown(&[]), "app dev\napp latest\nowner/tool 1\n");
    assert_eq!(shown(&["app"]), "app dev\napp latest\n");
    assert_eq!(shown(&["app:d*"]), "app dev\n");
    assert_eq!(shown(&["--filter", "reference=*/*"]), "owner/tool 1\n");
    assert_eq!(shown(&["--filter", "dangling=true"]), "");
    let table = msb.run(&["images", "--no-trunc"]).printed();
    assert!(table.lines().all(|line| !line.contains('…')), "{table}");
    assert!(
        table.contains("years ago") || table.contains("days ago"),
        "{table}"
    );
}

#[test]
fn inspect_finds_images_and_volumes() {
    let msb = Msb::with_image(&["app:dev"]);
    msb.run(&["volume", "create", "data"]).printed();
    msb.run(&["create", "--name", "app", "app:dev"]).printed();
    let shown = |words: &[&str]| msb.run(&[&["inspect"], words].concat()).printed();
    assert!(shown(&["app:dev"]).contains("\"manifest_digest\""));
    assert!(shown(&["data"]).contains("\"size_bytes\""));
    let of_both = shown(&["-f", "{{.Config.Cmd}}", "app", "app:dev"]);
    assert_eq!(of_both, "[/bin/sh]\n[/bin/sh]\n");
    let of_image = shown(&["--type", "image", "-f", "{{.RepoTags}}", "app:dev"]);
    assert_eq!(of_image, "[app:dev]\n");
    let refused = msb.run(&["inspect", "nosuch"]).refused();
    assert_eq!(refused, ["msb: no such sandbox, image or volume: nosuch"]);
    msb.run(&["inspect", "--type", "volume", "app"]).refused();
    msb.run(&["image", "inspect", "app:dev", "nosuch"])
        .refused();
}

#[test]
fn a_packed_image_is_used_as_a_plain_one_and_made_plain_again() {
    let msb = Msb::with_image(&["app:dev"]);
    let forms = || {
        let words = ["image", "inspect", "-f", "{{.layer_forms}}", "app:dev"];
        msb.run(&words).printed()
    };
    let plain = forms();
    assert!(plain.contains("plain"), "{plain}");
    msb.run(&["create", "--name", "work", "app:dev"]).printed();
    let changes = msb.run(&["diff", "work"]).printed();
    let table = msb.run(&["image", "pack", "--all"]).printed();
    assert!(table.contains("app:dev"), "{table}");
    let packed = forms();
    assert!(
        packed.contains("packed") && !packed.contains("plain"),
        "{packed}"
    );
    assert_eq!(msb.run(&["diff", "work"]).printed(), changes);
    msb.run(&["create", "--name", "other", "app:dev"]).printed();
    msb.run(&["image", "verify"]).printed();
    let usage = msb.run(&["df", "--verbose"]).printed();
    assert!(usage.contains("Packed layers take"), "{usage}");
    msb.run(&["image", "unpack", "app:dev"]).printed();
    assert_eq!(forms(), plain);
}
