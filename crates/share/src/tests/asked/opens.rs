//! Files whose opening a user is asked about, and the course of a question.

use super::*;

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
