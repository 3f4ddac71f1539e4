//! Accesses about which a user is asked.

mod changes;
mod opens;

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
