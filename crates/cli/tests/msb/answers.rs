//! Answers to words and settings that msb does not accept.

use crate::program::Msb;

#[test]
fn a_word_of_dockers_is_answered_with_one_line() {
    let msb = Msb::new();
    for (words, line) in [
        (
            &["network", "ls"][..],
            "msb has no networks to list; see --network of msb run",
        ),
        (
            &["--home", "images", "container", "export", "a", "b"],
            "msb has no export; msb cp -x NAME:/ - writes a sandbox's files as a tar archive",
        ),
        (
            &["run", "--gpus", "all", "x"],
            "msb run does not support --gpus: devices of the host cannot be passed to a sandbox, whose \
             machine has its own",
        ),
    ] {
        assert_eq!(msb.run(words).refused(), [line]);
    }
}

#[test]
fn a_command_line_without_a_command_shows_what_there_is() {
    let msb = Msb::new();
    for (words, part) in [(&[][..], "\n  images "), (&["volume"], "\n  prune ")] {
        let ended = msb.run(words);
        assert_eq!(ended.code, 125);
        let shown = ended.stdout + &ended.stderr;
        assert!(shown.contains(part) && !shown.contains("__"), "{shown}");
    }
}

#[test]
fn a_setting_that_is_none_is_found_by_every_command() {
    let msb = Msb::new();
    for command in [&["ps"][..], &["images"], &["volume", "ls"], &["version"]] {
        let ended = msb.with_variables(command, b"", &[("MSB_LIMITS", "foo=1")]);
        let refused = ended.refused();
        assert!(
            refused[0].starts_with("msb: cannot use MSB_LIMITS: "),
            "{refused:?}"
        );
    }
    msb.with_variables(&["ps"], b"", &[("MSB_LIMITS", "layer-time=3d")])
        .printed();
}

#[test]
fn sizes_are_refused_before_an_image_is_looked_for() {
    let msb = Msb::new();
    for (words, part) in [
        (
            ["--cpus", "1.5"],
            "write a whole number of processors from 1 to 255",
        ),
        (
            ["--cpus", "1000"],
            "write a whole number of processors from 1 to 255",
        ),
        (["--memory", "8m"], "write a size from 64M to 4096T"),
    ] {
        for command in ["run", "update"] {
            let words = [&[command][..], &words, &["nosuch"]].concat();
            let refused = msb.run(&words).refused();
            assert!(refused[0].contains(part), "{refused:?}");
        }
    }
}
