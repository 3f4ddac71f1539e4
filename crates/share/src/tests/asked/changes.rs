//! Changes about which a user is asked.

use super::*;

#[test]
fn a_denied_change_is_not_made() {
    let mut bench = Bench::new();
    let (docs, guide) = (bench.find("docs"), bench.find("docs/guide"));
    // Reading needs no answer.
    let handle = open(&mut bench.guest, guide, Opcode::Open, libc::O_RDONLY).unwrap();
    assert_eq!(bench.write(guide, handle), Err(libc::EACCES));
    assert_eq!(bench.questions(), 0);
    let create = CreateIn {
        flags: libc::O_RDWR.unsigned_abs(),
        mode: 0o644,
        ..CreateIn::default()
    };
    let cut = SetattrIn {
        valid: 1 << 3,
        ..SetattrIn::default()
    };
    let made = MkdirIn {
        mode: 0o755,
        umask: 0,
    };
    let requests = [
        (Opcode::Setattr, guide, body(cut, &[]), "docs/guide"),
        (Opcode::Create, docs, body(create, &["new"]), "docs/new"),
        (Opcode::Mkdir, docs, body(made, &["new"]), "docs/new"),
        (
            Opcode::Symlink,
            docs,
            body(NOTHING, &["new", "x"]),
            "docs/new",
        ),
        (
            Opcode::Unlink,
            docs,
            body(NOTHING, &["guide"]),
            "docs/guide",
        ),
        (
            Opcode::Link,
            docs,
            body(LinkIn { oldnodeid: guide }, &["new"]),
            "docs/guide",
        ),
        (
            Opcode::Rename,
            docs,
            body(RenameIn { newdir: docs }, &["guide", "new"]),
            "docs/guide",
        ),
    ];
    for (slot, (call, node, request, path)) in (1..).zip(requests) {
        bench.guest.begin(slot, call, node, &request);
        assert_eq!(bench.guest.ended(slot), None, "{call:?}");
        bench.answer(Access::Change, path, false);
        assert!(bench.is_denied(slot), "{call:?}");
    }
    assert_eq!(bench.content("docs/guide"), "content");
    assert_eq!(fs::read_dir(bench.path("docs")).unwrap().count(), 1);
    // A name that leads elsewhere is refused before anyone is asked about it.
    let asked = bench.questions();
    let request = body(NOTHING, &[".."]);
    let refused = bench.guest.call(Opcode::Rmdir, docs, &request);
    assert_eq!(refused, Err(libc::EINVAL));
    assert_eq!(bench.questions(), asked);
}

#[test]
fn a_rename_asks_about_both_names() {
    let mut bench = Bench::new();
    let (docs, guide) = (bench.find("docs"), bench.find("docs/guide"));
    let rename = body(RenameIn { newdir: docs }, &["guide", "new"]);
    bench.guest.begin(1, Opcode::Rename, docs, &rename);
    bench.answer(Access::Change, "docs/guide", true);
    assert_eq!(bench.guest.ended(1), None);
    bench.answer(Access::Change, "docs/new", true);
    assert_eq!(bench.guest.ended(1), Some(Ok(Vec::new())));
    assert_eq!(bench.content("docs/new"), "content");
    bench.begin_open(2, guide, libc::O_WRONLY);
    bench.answer(Access::Change, "docs/new", false);
    assert!(bench.is_denied(2));
}

#[test]
fn an_open_that_cuts_the_file_asks_once() {
    let mut bench = Bench::new();
    let guide = bench.find("docs/guide");
    let cut = SetattrIn {
        valid: 1 << 3,
        ..SetattrIn::default()
    };
    let cut = body(cut, &[]);
    bench.begin_open(1, guide, libc::O_WRONLY);
    bench.answer(Access::Change, "docs/guide", true);
    let handle = bench.opened(1);
    // The guest's kernel names no handle.
    bench.guest.call(Opcode::Setattr, guide, &cut).unwrap();
    assert_eq!(bench.content("docs/guide"), "");
    bench.release(guide, handle);
    bench.guest.begin(2, Opcode::Setattr, guide, &cut);
    assert_eq!(bench.guest.ended(2), None);
    assert_eq!(bench.questions(), 2);
}

#[test]
fn an_answer_for_a_queue_that_the_vmm_stopped_is_left_alone() {
    let mut bench = Bench::new();
    let docs = bench.find("docs");
    let request = body(NOTHING, &["guide"]);
    bench.guest.begin(1, Opcode::Unlink, docs, &request);
    bench.guest.ring.set_queue_ready(false);
    bench.answer(Access::Change, "docs/guide", true);
    assert_eq!(bench.guest.ended(1), None);
    assert_eq!(bench.content("docs/guide"), "content");
}

#[test]
fn nobody_is_asked_about_a_change_of_a_read_only_share() {
    let mut bench = Bench::with_access(true);
    let (secret, guide) = (bench.find("secret"), bench.find("docs/guide"));
    for file in [secret, guide] {
        let changed = open(&mut bench.guest, file, Opcode::Open, libc::O_RDWR);
        assert_eq!(changed, Err(libc::EROFS));
    }
    assert_eq!(bench.questions(), 0);
    bench.begin_open(1, secret, libc::O_RDONLY);
    bench.answer(Access::Read, "secret", true);
    bench.opened(1);
}
