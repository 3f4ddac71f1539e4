//! The command that becomes QEMU.

use std::process::Command;

use crate::program::Msb;

#[test]
fn a_qemu_whose_owner_was_killed_at_its_start_does_not_run() {
    let msb = Msb::new();
    let made = msb.home.path().join("made");
    let made_by = |parent: u32| {
        let (parent, made) = (parent.to_string(), made.to_str().expect("text"));
        msb.run(&["__qemu", &parent, "/bin/mkdir", made])
    };
    let mut ended = Command::new("/bin/true").spawn().expect("started");
    ended.wait().expect("ended");
    let refused = made_by(ended.id()).refused();
    assert!(refused[0].ends_with("has ended"), "{refused:?}");
    assert!(!made.exists(), "the program ran without its owner");
    made_by(std::process::id()).printed();
    assert!(made.is_dir());
}
