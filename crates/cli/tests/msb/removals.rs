//! Removals, and the questions before them.

use crate::program::Msb;

#[test]
fn an_image_that_is_used_names_its_sandbox() {
    let msb = Msb::with_image(&["app:dev"]);
    msb.run(&["create", "--name", "work", "app:dev"]).printed();
    let refused = msb.run(&["image", "rm", "app:dev"]).refused();
    assert_eq!(refused[0], "msb: image app:dev is used by sandbox work");
    assert!(refused[1].starts_with(
        "hint: remove it first with msb rm work; or remove the image alone with msb image rm \
         --force app:dev"
    ));
    msb.run(&["rm", "-v", "work"]).printed();
    msb.run(&["image", "rm", "app:dev"]).printed();
}

#[test]
fn of_several_images_one_that_is_used_keeps_no_other() {
    let msb = Msb::with_image(&["app:dev"]);
    msb.run(&["create", "--name", "work", "app:dev"]).printed();
    let ended = msb.run(&["rmi", "nosuch", "app:dev"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (125, ""));
    assert!(ended.stderr.contains("nosuch") && ended.stderr.contains("sandbox work"));
}

#[test]
fn sandboxes_are_pruned_when_that_is_agreed_to() {
    let msb = Msb::with_image(&["app:dev"]);
    let prune = ["container", "prune"];
    assert_eq!(msb.run(&prune).printed(), "");
    for name in ["one", "two"] {
        msb.run(&["create", "--name", name, "app:dev"]).printed();
    }
    let unanswered = msb.run(&prune);
    assert!(
        unanswered
            .stderr
            .contains("is not running, and the files that it wrote: ")
    );
    unanswered.refused();
    let declined = msb.with_input(&prune, b"n\n");
    assert!(declined.stderr.ends_with("msb: nothing was removed\n"));
    declined.printed();
    assert_eq!(msb.run(&["ps", "-aq"]).printed().lines().count(), 2);
    let filtered = msb.run(&["container", "prune", "-f", "--filter", "name=one"]);
    assert!(filtered.printed().starts_with("one\n"));
    let agreed = msb.with_input(&prune, b"y\n").printed();
    assert!(agreed.starts_with("two\n") && agreed.ends_with(" reclaimed from sandboxes\n"));
    assert_eq!(msb.run(&["ps", "-aq"]).printed(), "");
}

#[test]
fn volumes_are_counted_and_pruned_when_that_is_agreed_to() {
    let msb = Msb::with_image(&["app:dev"]);
    // Where there is nothing to remove, nothing is asked and nothing is reported.
    let nothing = msb.run(&["volume", "prune"]);
    assert_eq!((nothing.stderr.as_str(), nothing.code), ("", 0));
    assert_eq!(nothing.printed(), "");
    let random = msb.run(&["volume", "create"]).printed();
    msb.run(&["create", "--name", "work", "-v", "kept:/data", "app:dev"])
        .printed();
    let table = msb.run(&["df"]).printed();
    let volumes = table.lines().find(|line| line.starts_with("Volumes"));
    let words: Vec<&str> = volumes.expect("a line").split_whitespace().collect();
    assert_eq!(words[1..3], ["2", "1"], "{table}");
    let unanswered = msb.run(&["volume", "prune"]);
    assert!(unanswered.stderr.contains(random.trim()));
    unanswered.refused();
    assert_eq!(
        msb.run(&["volume", "ls", "-q"]).printed().lines().count(),
        2
    );
    assert_eq!(
        msb.with_input(&["volume", "prune"], b"yes\n").printed(),
        random
    );
    assert_eq!(msb.run(&["volume", "prune", "-af"]).printed(), "");
    assert_eq!(msb.run(&["volume", "ls", "-q"]).printed(), "kept\n");
}

#[test]
fn everything_that_is_not_used_goes_at_once() {
    let msb = Msb::with_image(&["app:dev"]);
    msb.run(&["create", "--name", "work", "-v", "data:/data", "app:dev"])
        .printed();
    msb.run(&["system", "prune"]).refused();
    let pruned = msb.run(&["system", "prune", "-af", "--volumes"]).printed();
    for line in ["work\n", "data\n", "untagged: app:dev\n"] {
        assert!(pruned.contains(line), "{pruned}");
    }
    let left = ["ps -aq", "images -q", "volume ls -q"].map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        msb.run(&words).printed()
    });
    assert!(left.iter().all(String::is_empty), "{left:?}");
}
