//! The completions that a shell gets.

use crate::program::Msb;

/// Returns the words that bash is offered in place of the last word.
fn offered(msb: &Msb, words: &[&str]) -> Vec<String> {
    let index = words.len().to_string();
    let asked = [&["--", "msb"], words].concat();
    let variables = [
        ("MSB_COMPLETE", "bash"),
        ("_CLAP_COMPLETE_INDEX", index.as_str()),
        ("_CLAP_COMPLETE_COMP_TYPE", "9"),
        ("_CLAP_COMPLETE_SPACE", "true"),
        ("_CLAP_IFS", "\n"),
    ];
    let printed = msb.with_variables(&asked, b"", &variables).printed();
    printed.lines().map(str::to_owned).collect()
}

#[test]
fn names_are_offered_where_they_are_wanted() {
    let msb = Msb::with_image(&["app:dev", "tool:1"]);
    msb.run(&["create", "--name", "work", "app:dev"]).printed();
    msb.run(&["volume", "create", "wares"]).printed();
    assert_eq!(offered(&msb, &["rm", "wo"]), ["work"]);
    assert_eq!(
        offered(&msb, &["container", "stop", "-t", "3", ""])[0],
        "work"
    );
    assert_eq!(offered(&msb, &["run", "--rm", "ap"]), ["app:dev"]);
    assert!(offered(&msb, &["run", "--rm", "app:dev", "to"]).is_empty());
    assert_eq!(offered(&msb, &["volume", "rm", "w"]), ["wares"]);
    assert_eq!(offered(&msb, &["inspect", "w"]), ["work", "wares"]);
    assert_eq!(offered(&msb, &["images", "t"]), ["tool:1"]);
    msb.run(&["snapshot", "create", "work@clean"]).printed();
    for words in [
        &["rollback", "wo"][..],
        &["fork", "wo"],
        &["diff", "wo"],
        &["commit", "wo"],
        &["snapshot", "rm", "wo"],
        &["run", "--from", "wo"],
        &["apply", "--base", "wo"],
    ] {
        assert_eq!(offered(&msb, words), ["work"], "{words:?}");
        let words = [&words[..words.len() - 1], &["work@"]].concat();
        assert_eq!(offered(&msb, &words), ["work@clean"], "{words:?}");
    }
}

#[test]
fn what_nobody_types_is_not_offered() {
    let msb = Msb::new();
    let commands = offered(&msb, &[""]);
    assert!(commands.iter().any(|word| word == "run"), "{commands:?}");
    let hidden = [
        "__vmm",
        "__network",
        "__share",
        "__maintain",
        "__sockets",
        "container",
        "rmi",
    ];
    assert!(commands.iter().all(|word| !hidden.contains(&word.as_str())));
    let options = offered(&msb, &["run", "--"]);
    assert!(
        options.iter().any(|word| word == "--cidfile"),
        "{options:?}"
    );
    assert!(options.iter().all(|word| word != "--privileged"));
}

#[test]
fn each_shell_has_a_script_that_asks() {
    let msb = Msb::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = msb.run(&["completion", shell]).printed();
        assert!(script.contains("MSB_COMPLETE"), "{shell}: {script}");
    }
    msb.with_variables(&[], b"", &[("MSB_COMPLETE", "nosuch")])
        .refused();
}
