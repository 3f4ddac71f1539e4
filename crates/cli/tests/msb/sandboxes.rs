//! Lists and creations of sandboxes.

use crate::program::Msb;

#[test]
fn a_table_is_no_wider_than_its_names_make_it() {
    let msb = Msb::with_image(&["app:dev"]);
    let long = "x".repeat(180);
    msb.run(&["create", "--name", "wide", "app:dev", "echo", &long])
        .printed();
    let widest = |words: &[&str]| {
        let table = msb.run(words).printed();
        table
            .lines()
            .map(|line| line.chars().count())
            .max()
            .unwrap_or(0)
    };
    assert!(widest(&["ps", "-a"]) < 120);
    assert!(widest(&["ps", "-a", "--no-trunc"]) > 180);
}

#[test]
fn listings_are_chosen_and_shown_as_docker_does() {
    let msb = Msb::with_image(&["app:dev"]);
    for name in ["one", "two", "three"] {
        let label = format!("name={name}");
        msb.run(&["create", "--name", name, "--label", &label, "app:dev"])
            .printed();
    }
    let shown = |words: &[&str]| {
        let format = ["--format", "{{.Names}}"];
        let printed = msb.run(&[&["ps"], words, &format].concat()).printed();
        let mut names: Vec<String> = printed.lines().map(str::to_owned).collect();
        names.sort();
        names
    };
    assert!(shown(&[]).is_empty());
    assert_eq!(shown(&["-a"]), ["one", "three", "two"]);
    assert_eq!(shown(&["--last", "2"]).len(), 2);
    assert_eq!(shown(&["-l"]).len(), 1);
    assert_eq!(shown(&["-a", "--filter", "label=name=two"]), ["two"]);
    assert!(shown(&["--filter", "status=paused"]).is_empty());
    assert_eq!(shown(&["--filter", "status=created"]).len(), 3);
    let id = msb.run(&["ps", "-aq", "--filter", "name=one"]).printed();
    let by_id = format!("id={}", &id[..6]);
    assert_eq!(shown(&["-a", "--filter", &by_id]), ["one"]);
    let table = msb.run(&["ps", "-a", "--format", "table {{.Names}}\\t{{.State}}"]);
    let table = table.printed();
    assert_eq!(table.lines().next(), Some("NAMES   STATE"));
    let line = msb.run(&["ps", "-l", "--format", "{{json .ID}}"]).printed();
    assert_eq!(line.trim().len(), "\"0123456789ab\"".len(), "{line}");
    let refused = msb.run(&["ps", "-a", "--format", "{{.Nope}}"]).refused();
    assert!(refused[0].contains(".Names"), "{refused:?}");
    assert!(msb.run(&["ps", "-as"]).printed().contains("SIZE"));
    assert!(msb.run(&["container", "ls"]).printed().lines().count() == 1);
}

#[test]
fn an_id_is_written_to_a_file_that_is_new() {
    let msb = Msb::with_image(&["app:dev"]);
    let file = msb.home.path().join("id");
    let path = file.to_str().expect("text");
    let refused = msb.run(&["create", "--pull", "never", "--cidfile", path, "nosuch"]);
    refused.refused();
    assert!(!file.exists());
    let created = msb.run(&["create", "--cidfile", path, "--privileged", "app:dev"]);
    assert_eq!(
        created.stderr,
        "msb: --privileged changes nothing: root in a sandbox always has every capability of the guest's \
        kernel\n"
    );
    let id = created.printed();
    assert_eq!(std::fs::read_to_string(&file).expect("read"), id.trim());
    let refused = msb.run(&["create", "--cidfile", path, "app:dev"]).refused();
    assert!(refused[0].contains("the file exists"), "{refused:?}");
    let quiet = msb.run(&["create", "-q", "--privileged", "app:dev"]);
    assert_eq!(quiet.stderr, "");
}
