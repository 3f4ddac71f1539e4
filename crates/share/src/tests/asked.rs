//! Accesses about which a user is asked.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use fuse_backend_rs::abi::fuse_abi::{
    CreateIn, GetxattrIn, LinkIn, MkdirIn, Opcode, OpenIn, ROOT_ID, ReadIn, ReleaseIn, RenameIn,
    SetattrIn, WriteIn,
};
use vhost_user_backend::VringT as _;

use super::guest::{Guest, NOTHING, body, node};
use super::listed::Listed;
use super::ruled::{listed, lookup, open};
use crate::waiting::{WAIT_TIMEOUT, WAITING_MAX};
use crate::{Access, Answers, Asker, Entry, Kind, PathAccess, Permission, Permissions};

type Rules = &'static [(&'static str, Permission)];

const RULES: Rules = &[
    ("secret", Permission::Ask),
    ("vault", Permission::Ask),
    ("docs", Permission::AskToChange),
    ("sealed", Permission::Name),
    ("fixed", Permission::Read),
];
const FILES: [&str; 7] = [
    "secret",
    "vault/key",
    "vault/other",
    "docs/guide",
    "sealed",
    "fixed",
    "src/main",
];

/// Permissions that a test changes.
#[derive(Clone)]
struct Changing(Arc<Mutex<Rules>>);

impl Changing {
    fn listed(&self) -> Listed {
        Listed(*self.0.lock().unwrap())
    }
}

impl Permissions for Changing {
    fn of(&self, path: &[u8]) -> Permission {
        self.listed().of(path)
    }

    fn shows_below(&self, path: &[u8]) -> bool {
        self.listed().shows_below(path)
    }

    fn depends_below(&self, path: &[u8]) -> bool {
        self.listed().depends_below(path)
    }
}

/// A user who is told everything, and answers when the test says so.
#[derive(Clone, Default)]
struct User(Arc<Mutex<Told>>);

#[derive(Default)]
struct Told {
    asked: Vec<(u64, PathAccess)>,
    withdrawn: Vec<u64>,
    refused: Vec<PathAccess>,
    is_away: bool,
}

impl User {
    fn told(&self) -> MutexGuard<'_, Told> {
        self.0.lock().unwrap()
    }
}

impl Asker for User {
    fn ask(&self, token: u64, question: &PathAccess) -> bool {
        let mut told = self.told();
        told.asked.push((token, question.clone()));
        !told.is_away
    }

    fn withdraw(&self, token: u64) {
        self.told().withdrawn.push(token);
    }

    fn refused(&self, refused: &PathAccess) {
        self.told().refused.push(refused.clone());
    }
}

/// A guest of a directory with [`RULES`].
struct Bench {
    directory: tempfile::TempDir,
    guest: Guest,
    answers: Answers,
    user: User,
    rules: Changing,
    root: u64,
}

impl Bench {
    fn new() -> Self {
        Self::with_access(false)
    }

    fn with_access(is_read_only: bool) -> Self {
        let directory = tempfile::tempdir().unwrap();
        for file in FILES {
            let path = directory.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "content").unwrap();
        }
        let entry = Entry {
            name: "0",
            path: directory.path(),
            kind: Kind::Directory,
        };
        let rules = Changing(Arc::new(Mutex::new(RULES)));
        let permissions = |_| Some(Box::new(rules.clone()) as Box<dyn Permissions>);
        let user = User::default();
        let asker = Box::new(user.clone());
        let (mut guest, answers) = Guest::asking(&[entry], is_read_only, permissions, asker);
        let root = node(&guest.call(Opcode::Lookup, ROOT_ID, b"0\0").unwrap());
        Self {
            directory,
            guest,
            answers,
            user,
            rules,
            root,
        }
    }

    /// Returns the number of a file, which is found without a question.
    fn find(&mut self, path: &str) -> u64 {
        let mut found = self.root;
        for name in path.split('/') {
            found = lookup(&mut self.guest, found, name).unwrap();
        }
        found
    }

    fn begin_open(&mut self, slot: u16, node: u64, flags: i32) {
        let input = OpenIn {
            flags: flags.unsigned_abs(),
            fuse_flags: 0,
        };
        self.guest
            .begin(slot, Opcode::Open, node, &body(input, &[]));
    }

    /// Returns the handle of the file that the request in a slot has opened.
    fn opened(&self, slot: u16) -> u64 {
        let answer = self.guest.ended(slot).expect("an answer");
        node(&answer.expect("opened"))
    }

    fn read(&mut self, node: u64, handle: u64) -> Result<Vec<u8>, i32> {
        let input = ReadIn {
            fh: handle,
            size: 4096,
            ..ReadIn::default()
        };
        self.guest.call(Opcode::Read, node, &body(input, &[]))
    }

    fn write(&mut self, node: u64, handle: u64) -> Result<Vec<u8>, i32> {
        let input = WriteIn {
            fh: handle,
            size: 3,
            ..WriteIn::default()
        };
        let request = [&body(input, &[])[..], b"new"].concat();
        self.guest.call(Opcode::Write, node, &request)
    }

    fn release(&mut self, node: u64, handle: u64) {
        let input = ReleaseIn {
            fh: handle,
            ..ReleaseIn::default()
        };
        let released = self.guest.call(Opcode::Release, node, &body(input, &[]));
        released.unwrap();
    }

    /// Answers the last question, which is to be about this.
    fn answer(&self, access: Access, path: &str, is_allowed: bool) {
        let last = self.user.told().asked.last().cloned();
        let (token, asked) = last.expect("a question");
        let expected = PathAccess {
            entry: 0,
            path: path.into(),
            access,
        };
        assert_eq!(asked, expected);
        self.answers.answer(token, is_allowed);
    }

    fn questions(&self) -> usize {
        self.user.told().asked.len()
    }

    fn is_denied(&self, slot: u16) -> bool {
        self.guest.ended(slot) == Some(Err(libc::EACCES))
    }

    fn path(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    fn content(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }
}

#[test]
fn a_question_delays_no_other_request() {
    let mut bench = Bench::new();
    let secret = bench.find("secret");
    bench.begin_open(1, secret, libc::O_RDONLY);
    assert_eq!(bench.guest.ended(1), None);
    let main = bench.find("src/main");
    let handle = open(&mut bench.guest, main, Opcode::Open, libc::O_RDWR).unwrap();
    assert_eq!(bench.read(main, handle), Ok(b"content".to_vec()));
    bench.write(main, handle).unwrap();
    assert_eq!(bench.guest.ended(1), None);
    bench.answer(Access::Read, "secret", true);
    let handle = bench.opened(1);
    assert_eq!(bench.read(secret, handle), Ok(b"content".to_vec()));
    assert_eq!(bench.questions(), 1);
}

#[test]
fn without_an_answer_the_open_fails() {
    let mut bench = Bench::new();
    let secret = bench.find("secret");
    bench.begin_open(1, secret, libc::O_RDONLY);
    let now = Instant::now();
    let deadline = bench.answers.expire(now).expect("a request waits");
    assert!(deadline > now && deadline <= now + WAIT_TIMEOUT);
    assert_eq!(bench.guest.ended(1), None);
    assert_eq!(bench.answers.expire(deadline), None);
    assert!(bench.is_denied(1));
    assert_eq!(bench.user.told().withdrawn.len(), 1);
    // An answer that comes later is about nothing.
    bench.answer(Access::Read, "secret", true);
    assert!(bench.is_denied(1));
}

#[test]
fn the_65th_is_denied() {
    let mut bench = Bench::new();
    let secret = bench.find("secret");
    let last = u16::try_from(WAITING_MAX).unwrap();
    assert_eq!(last, 64);
    for slot in 1..=last {
        bench.begin_open(slot, secret, libc::O_RDONLY);
    }
    assert!((1..=last).all(|slot| bench.guest.ended(slot).is_none()));
    bench.begin_open(65, secret, libc::O_RDONLY);
    assert!(bench.is_denied(65));
    assert_eq!(bench.questions(), 64);
    // An answer makes room for another question.
    bench.answer(Access::Read, "secret", true);
    bench.opened(last);
    bench.begin_open(66, secret, libc::O_RDONLY);
    assert_eq!(bench.guest.ended(66), None);
    bench.answers.deny_all();
    assert!((1..last).chain([66]).all(|slot| bench.is_denied(slot)));
    assert_eq!(bench.user.told().withdrawn.len(), 64);
}

#[test]
fn an_answer_holds_while_the_file_is_open() {
    let mut bench = Bench::new();
    let secret = bench.find("secret");
    bench.begin_open(1, secret, libc::O_RDONLY);
    bench.answer(Access::Read, "secret", true);
    let handle = bench.opened(1);
    assert!(bench.read(secret, handle).is_ok());
    assert_eq!(bench.write(secret, handle), Err(libc::EACCES));
    bench.begin_open(2, secret, libc::O_RDWR);
    assert_eq!(
        bench.guest.ended(2),
        None,
        "another open is another question"
    );
    bench.answer(Access::Change, "secret", true);
    let changing = bench.opened(2);
    bench.write(secret, changing).unwrap();
    assert_eq!(bench.read(secret, changing), Ok(b"newtent".to_vec()));
    bench.release(secret, handle);
    assert!(bench.read(secret, handle).is_err());
    assert_eq!(bench.content("secret"), "newtent");
}

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
fn names_and_attributes_need_no_answer() {
    let mut bench = Bench::new();
    let vault = bench.find("vault");
    for call in [Opcode::Readdir, Opcode::Readdirplus] {
        assert_eq!(
            listed(&mut bench.guest, vault, call, 4096),
            ["key", "other"]
        );
    }
    let key = bench.find("vault/key");
    bench.guest.call(Opcode::Getattr, key, &[0; 16]).unwrap();
    let input = GetxattrIn {
        size: 64,
        ..GetxattrIn::default()
    };
    let capability = body(input, &["security.capability"]);
    assert_eq!(
        bench.guest.call(Opcode::Getxattr, key, &capability),
        Err(libc::ENODATA)
    );
    let all = bench.guest.call(Opcode::Listxattr, key, &body(input, &[]));
    assert_eq!(all, Ok(Vec::new()));
    assert_eq!(bench.questions(), 0);
}

#[test]
fn a_change_of_the_permissions_answers_who_waits() {
    const ALLOWED: Rules = &[("secret", Permission::All), ("vault", Permission::Ask)];
    const DENIED: Rules = &[("secret", Permission::All), ("vault", Permission::Name)];
    let mut bench = Bench::new();
    let (secret, key) = (bench.find("secret"), bench.find("vault/key"));
    bench.begin_open(1, secret, libc::O_RDWR);
    bench.begin_open(2, key, libc::O_RDONLY);
    let set = |bench: &Bench, rules: Rules| {
        let changed = bench.answers.change(|| {
            *bench.rules.0.lock().unwrap() = rules;
            "changed"
        });
        assert_eq!(changed, "changed");
    };
    set(&bench, ALLOWED);
    let handle = bench.opened(1);
    bench.write(secret, handle).unwrap();
    assert_eq!(bench.guest.ended(2), None, "it needs the same answer");
    assert_eq!(bench.user.told().withdrawn.len(), 1);
    set(&bench, DENIED);
    assert!(bench.is_denied(2));
    assert_eq!(bench.user.told().withdrawn.len(), 2);
    // A stricter permission holds for what is open, too.
    set(&bench, RULES);
    assert_eq!(bench.write(secret, handle), Err(libc::EACCES));
    assert_eq!(bench.questions(), 2);
}

#[test]
fn a_request_that_changes_while_it_waits_needs_its_own_answer() {
    let mut bench = Bench::new();
    let files = ["secret", "vault/key", "vault/other"].map(|path| bench.find(path));
    bench.begin_open(1, files[0], libc::O_RDONLY);
    bench.guest.redirect(1, files[1]);
    bench.answer(Access::Read, "secret", true);
    assert_eq!(bench.guest.ended(1), None);
    bench.guest.redirect(1, files[2]);
    bench.answer(Access::Read, "vault/key", true);
    // The user is not asked without an end.
    assert!(bench.is_denied(1));
    assert_eq!(bench.questions(), 2);
}

#[test]
fn a_user_who_is_away_denies() {
    let mut bench = Bench::new();
    let secret = bench.find("secret");
    bench.user.told().is_away = true;
    bench.begin_open(1, secret, libc::O_RDONLY);
    assert!(bench.is_denied(1));
    assert_eq!(bench.answers.expire(Instant::now()), None);
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

#[test]
fn what_a_permission_refuses_is_told() {
    let mut bench = Bench::new();
    let (sealed, fixed) = (bench.find("sealed"), bench.find("fixed"));
    let read = open(&mut bench.guest, sealed, Opcode::Open, libc::O_RDONLY);
    assert_eq!(read, Err(libc::EACCES));
    let changed = open(&mut bench.guest, fixed, Opcode::Open, libc::O_RDWR);
    assert_eq!(changed, Err(libc::EROFS));
    let refused = |path: &str, access| PathAccess {
        entry: 0,
        path: path.into(),
        access,
    };
    assert_eq!(
        bench.user.told().refused,
        [
            refused("sealed", Access::Read),
            refused("fixed", Access::Change)
        ]
    );
    assert_eq!(bench.questions(), 0);
}
