//! Applies of which a step fails after others were done.

use std::io;

use rustix::io::Errno;

use super::super::{ApplyError, ApplyRecordError, ApplyRecords};
use super::killed::{small, small_host, texts, unfinished, with_prepared};
use super::{read_tree, temporary};

/// Returns the error of a step.
fn failure(errno: Errno) -> ApplyError {
    ApplyError::Host {
        action: "replace",
        path: "b".into(),
        source: io::Error::from(errno),
    }
}

#[test]
fn an_apply_that_the_disk_ends_is_finished_by_the_next_command() {
    let (sides, changes) = small();
    for errno in [Errno::NOSPC, Errno::IO] {
        let (host, home) = (small_host(), temporary());
        let records = ApplyRecords::of_home(home.path());
        let error = with_prepared(&sides, &changes, host.path(), &records, |prepared| {
            prepared.fail_after(1, failure(errno))
        });
        let ApplyError::Unfinished { record, source, .. } = &error else {
            panic!("{error:?}");
        };
        assert!(matches!(source, ApplyRecordError::Host(_)), "{error:?}");
        let waiting = records.waiting().expect("listed");
        assert_eq!(waiting.len(), 1);
        assert_eq!(&waiting[0].record, record);
        assert!(waiting[0].problem.is_none(), "{waiting:?}");
        let begun = [("a", "2"), ("b", "1"), ("gone", "1")];
        let mut found = read_tree(host.path());
        found.retain(|(path, _)| !path.starts_with(".msb-apply-"));
        assert_eq!(found, texts(&begun));
        records.finish(host.path()).expect("finished");
        let expected = [("a", "2"), ("b", "2"), ("d/", ""), ("d/new", "2")];
        assert_eq!(read_tree(host.path()), texts(&expected));
        assert!(records.waiting().expect("listed").is_empty());
    }
}

#[test]
fn an_apply_that_may_not_go_on_leaves_no_record_and_no_unfinished_file() {
    let (host, home) = (small_host(), temporary());
    let records = ApplyRecords::of_home(home.path());
    let (sides, changes) = small();
    let error = with_prepared(&sides, &changes, host.path(), &records, |prepared| {
        prepared.fail_after(1, failure(Errno::PERM))
    });
    assert!(matches!(error, ApplyError::Host { .. }), "{error:?}");
    assert!(records.waiting().expect("listed").is_empty());
    assert!(unfinished(host.path()).is_empty());
    let expected = [("a", "2"), ("b", "1"), ("gone", "1")];
    assert_eq!(read_tree(host.path()), texts(&expected));
}
