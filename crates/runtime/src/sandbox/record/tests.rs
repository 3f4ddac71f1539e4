use serde_json::json;

use super::*;
use crate::sandbox::{ImageUsers, Sandbox};
use crate::{Home, Volume};

const IMAGE: &str = "sha256:aa";
const OTHER: &str = "sha256:bb";

/// A change of a record's JSON.
type Change = fn(&mut Value);

/// Returns a stopped sandbox of an image, which has settings that a default would lose.
fn sandbox(home: &Home) -> Sandbox {
    let mut spec = Spec::for_tests("web");
    spec.image_digest = IMAGE.to_owned();
    spec.guest.read_only = true;
    spec.last_snapshot_number = 7;
    let sandbox = Sandbox::for_tests(home, spec);
    fs::write(sandbox.files.upper(), []).expect("written");
    fs::write(sandbox.files.lock(), []).expect("written");
    sandbox
}

fn only(home: &Home) -> Sandbox {
    let mut listing = Sandbox::list(home).expect("listed");
    assert!(listing.unreadable.is_empty(), "{listing:?}");
    listing.sandboxes.pop().expect("one")
}

fn error(home: &Home) -> RecordError {
    let listing = Sandbox::list(home).expect("listed");
    assert!(listing.sandboxes.is_empty(), "{listing:?}");
    listing.unreadable[0].error().clone()
}

/// Writes the record with a change of its JSON, sealed again, and its copy.
fn rewrite(sandbox: &Sandbox, change: impl FnOnce(&mut Value)) {
    let mut record = serde_json::to_value(RecordFile {
        format_version: FORMAT_VERSION,
        sandbox: &sandbox.spec,
    })
    .expect("a value");
    change(&mut record);
    let sealed = sealed_records::seal(&record).expect("sealed");
    for path in [sandbox.files.spec(), sandbox.files.spec_copy()] {
        fs::write(path, &sealed).expect("written");
    }
}

#[test]
fn a_flipped_byte_of_either_file_changes_nothing() {
    let root = tempfile::tempdir().expect("a directory");
    let home = Home::new(root.path());
    let sandbox = sandbox(&home);
    let whole = fs::read(sandbox.files.spec()).expect("read");
    for path in [sandbox.files.spec(), sandbox.files.spec_copy()] {
        for index in 0..whole.len() {
            let mut flipped = whole.clone();
            flipped[index] ^= 1 << (index % 8);
            fs::write(&path, &flipped).expect("written");
            let found = only(&home);
            assert_eq!(
                found.spec,
                sandbox.spec,
                "byte {index} of {}",
                path.display()
            );
            assert_eq!(found.record_damage.is_some(), path == sandbox.files.spec());
            assert_eq!(found.has_damaged_copy(), path == sandbox.files.spec_copy());
            let users = ImageUsers::new(&home);
            assert!(users.need(IMAGE).expect("read") && !users.need(OTHER).expect("read"));
        }
        fs::write(&path, &whole).expect("written");
    }
}

#[test]
fn a_claim_and_a_repair_make_both_files_whole() {
    let root = tempfile::tempdir().expect("a directory");
    let home = Home::new(root.path());
    let sandbox = sandbox(&home);
    for path in [sandbox.files.spec(), sandbox.files.spec_copy()] {
        fs::write(&path, "damaged").expect("written");
        assert!(only(&home).repair_record().expect("repaired"));
        assert!(!only(&home).repair_record().expect("whole already"));
        fs::write(&path, "damaged").expect("written");
        only(&home).claim().expect("claimed").expect("free");
        assert!(is_settled(&sandbox.files, &sandbox.spec).expect("compared"));
    }
}

#[test]
fn a_sandbox_that_is_damaged_in_both_files_keeps_its_image_its_volumes_and_its_name() {
    let root = tempfile::tempdir().expect("a directory");
    let home = Home::new(root.path());
    let sandbox = sandbox(&home);
    let flip = |path: &Path, what: &str| {
        let text = fs::read_to_string(path).expect("read");
        fs::write(path, text.replacen(what, "X", 1)).expect("written");
    };
    flip(&sandbox.files.spec(), "true");
    flip(&sandbox.files.spec_copy(), "sha256:aa");
    assert!(matches!(error(&home), RecordError::Damaged { .. }));
    let users = ImageUsers::new(&home);
    assert!(users.need(IMAGE).expect("read") && users.need(OTHER).expect("read"));
    assert_eq!(users.unknown().expect("read").len(), 1);
    let id = sandbox.spec.id.to_string();
    for name in [&id, &id[..6]] {
        let error = Sandbox::find(&home, name).expect_err("unreadable");
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }
    Sandbox::sweep(&home).expect("swept");
    assert!(sandbox.directory().exists());
    let volume = "data".parse().expect("a name");
    let volume = Volume::create(&home, volume, 1 << 24, Default::default()).expect("created");
    assert_eq!(volume.sandboxes(&home).expect("listed"), [id.as_str()]);
    let unreadable = Sandbox::find_unreadable(&home, &id).expect("read");
    let unreadable = unreadable.expect("found");
    let held = sandbox.lock().expect("a lock").expect("free");
    unreadable.remove().expect_err("it runs");
    drop(held);
    unreadable.remove().expect("removed");
    assert!(!sandbox.directory().exists());
}

#[test]
fn both_files_with_one_damage_still_have_the_name() {
    let root = tempfile::tempdir().expect("a directory");
    let home = Home::new(root.path());
    let sandbox = sandbox(&home);
    for path in [sandbox.files.spec(), sandbox.files.spec_copy()] {
        let text = fs::read_to_string(&path).expect("read");
        fs::write(path, text.replacen("true", "false", 1)).expect("written");
    }
    let found = Sandbox::find_unreadable(&home, "web").expect("read");
    assert_eq!(found.expect("found").id(), sandbox.spec.id.as_str());
    let taken = super::super::check_names(&home, ["web"]);
    taken.expect_err("an unreadable sandbox keeps its name");
}

#[test]
fn a_record_of_a_later_msb_is_refused_and_not_rewritten() {
    let root = tempfile::tempdir().expect("a directory");
    let home = Home::new(root.path());
    let mut sandbox = sandbox(&home);
    let cases: [(Change, &str); 5] = [
        (|record| record["format_version"] = json!(2), "format 2"),
        (
            |record| record["sandbox"]["firewall"] = json!(true),
            "'firewall'",
        ),
        (
            |record| record["sandbox"]["lifetime"]["uptime"] = json!(1),
            "'lifetime.uptime'",
        ),
        (|record| record["restart"] = json!(1), "'restart'"),
        (
            |record| record["sandbox"]["restart"] = json!("daily"),
            "daily",
        ),
    ];
    for (change, named) in cases {
        rewrite(&sandbox, change);
        let before = fs::read(sandbox.files.spec()).expect("read");
        let error = error(&home);
        assert!(error.to_string().contains(named), "{error}");
        let name = Sandbox::find_unreadable(&home, "web").expect("read");
        let remains = name
            .expect("it has its name")
            .image_digest()
            .map(str::to_owned);
        assert_eq!(remains.as_deref(), Some(IMAGE));
        let users = ImageUsers::new(&home);
        assert!(users.need(IMAGE).expect("read") && !users.need(OTHER).expect("read"));
        sandbox.update(Default::default()).expect_err("refused");
        sandbox.remove_with_owner(true).expect_err("refused");
        sandbox.repair_record().expect_err("refused");
        assert_eq!(fs::read(sandbox.files.spec()).expect("read"), before);
    }
    // The copy of an earlier record has lost nothing yet, and would, if it were used.
    write(&sandbox.files, &sandbox.spec).expect("written");
    let intact = fs::read(sandbox.files.spec_copy()).expect("read");
    rewrite(&sandbox, |record| {
        record["sandbox"]["firewall"] = json!(true)
    });
    fs::write(sandbox.files.spec_copy(), intact).expect("written");
    assert!(matches!(error(&home), RecordError::UnknownField { .. }));
}

#[test]
fn a_description_of_format_0_is_adopted_and_a_damaged_one_is_not() {
    let root = tempfile::tempdir().expect("a directory");
    let home = Home::new(root.path());
    let sandbox = sandbox(&home);
    let old = serde_json::to_vec_pretty(&sandbox.spec).expect("written");
    fs::remove_file(sandbox.files.spec_copy()).expect("removed");
    fs::write(sandbox.files.spec(), &old).expect("written");
    assert_eq!(only(&home).spec, sandbox.spec);
    assert_eq!(only(&home).record_damage, None);
    only(&home).claim().expect("claimed").expect("free");
    assert!(is_settled(&sandbox.files, &sandbox.spec).expect("compared"));
    fs::remove_file(sandbox.files.spec_copy()).expect("removed");
    fs::write(sandbox.files.spec(), &old[..old.len() / 2]).expect("written");
    assert!(matches!(error(&home), RecordError::Damaged { .. }));
}

#[test]
fn a_record_that_cannot_be_read_is_of_a_sandbox_that_exists() {
    let root = tempfile::tempdir().expect("a directory");
    let home = Home::new(root.path());
    let sandbox = sandbox(&home);
    // Reading a process's own memory from its start gives EIO, as a broken disk does.
    for path in [sandbox.files.spec(), sandbox.files.spec_copy()] {
        fs::remove_file(&path).expect("removed");
        std::os::unix::fs::symlink("/proc/self/mem", &path).expect("linked");
        let listing = Sandbox::list(&home).expect("listed");
        assert_eq!(listing.sandboxes.len() + listing.unreadable.len(), 1);
    }
    assert!(matches!(error(&home), RecordError::Damaged { .. }));
}

#[test]
fn the_record_of_another_sandbox_is_not_this_ones() {
    let root = tempfile::tempdir().expect("a directory");
    let home = Home::new(root.path());
    let (one, other) = (sandbox(&home), Sandbox::at(&home, Spec::for_tests("other")));
    fs::create_dir(&other.files.directory).expect("made");
    fs::copy(one.files.spec(), other.files.spec()).expect("copied");
    let listing = Sandbox::list(&home).expect("listed");
    assert_eq!((listing.sandboxes.len(), listing.unreadable.len()), (1, 1));
}
