use std::io;
use std::sync::{Arc, Barrier, mpsc};
use std::thread;

use artifact_cache::{Artifact, FetchUnit, Source};
use packed_file::{GROUP_BYTES, PackedFile, pack};

use crate::cache::{
    Answer, Blocks, Handle, Lines, Memory, Plain, Writes, assert_is, packed, plain,
};

#[test]
fn sources_are_asked_in_order_until_the_unit_is_proven() {
    let plain = Arc::new(plain(2 << 20));
    for (first, asked) in [
        (Answer::Right, 0),
        (Answer::Wrong, 1),
        (Answer::Short, 1),
        (Answer::Error, 1),
    ] {
        let one = Plain::new("one", &plain, first);
        let other = Plain::new("other", &plain, Answer::Right);
        let cache = Memory::new(plain.len());
        let artifact = Artifact::new("layer", Handle(cache.clone()), Blocks(plain.clone()))
            .with_source(one.clone())
            .with_source(other.clone())
            .with_unit(FetchUnit::Mebibyte);
        let mut found = [7; 5];
        artifact.read(&mut found, 70_000).unwrap();
        assert_eq!(found, plain[70_000..70_005], "{first:?}");
        assert_eq!(one.asked(), [0], "{first:?}");
        assert_eq!(other.asked().len(), asked, "{first:?}");
        assert!(cache.bytes()[..1 << 20] == plain[..1 << 20]);
        let counts = artifact.counts();
        assert_eq!(counts.fetched_units, 1);
        assert_eq!(counts.fetched_bytes, non_zero_bytes(&plain[..1 << 20]));
        assert_eq!(counts.kept_bytes, counts.fetched_bytes);
    }
}

/// Returns the bytes of groups that are not zeros: a hole has the others.
fn non_zero_bytes(plain: &[u8]) -> u64 {
    let groups = plain.chunks(GROUP_BYTES);
    let groups = groups.filter(|group| group.iter().any(|byte| *byte != 0));
    groups.map(|group| group.len() as u64).sum()
}

#[test]
fn faults_of_sources_are_named_once_and_nothing_of_them_is_kept() {
    let plain = Arc::new(plain(GROUP_BYTES));
    let (cache, lines) = (Memory::new(plain.len()), Lines::default());
    let artifact = Artifact::new("layer", Handle(cache.clone()), Blocks(plain.clone()))
        .with_source(Plain::new("the liar", &plain, Answer::Wrong))
        .with_source(Plain::new("the bucket", &plain, Answer::Error))
        .with_log(lines.log());
    for _ in 0..3 {
        let error = artifact.read(&mut [0; 10], 5000).unwrap_err().to_string();
        assert!(error.contains("the liar has wrong bytes"), "{error}");
        assert!(
            error.contains("the bucket fails: the server is away"),
            "{error}"
        );
    }
    let lines = lines.all();
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert_eq!(lines[0], "the liar has wrong bytes of layer at byte 0");
    assert!(
        lines[1].starts_with("the bucket fails to give layer at byte 0"),
        "{lines:?}"
    );
    assert!(
        lines[2].starts_with("cannot read layer at byte 0: "),
        "{lines:?}"
    );
    assert!(cache.bytes().iter().all(|byte| *byte == 0));
    let counts = artifact.counts();
    assert_eq!(
        (
            counts.wrong_answers,
            counts.source_errors,
            counts.reads_failed
        ),
        (3, 3, 3)
    );
}

#[test]
fn a_source_that_recovers_is_used_again() {
    let plain = Arc::new(plain(3 * GROUP_BYTES));
    let source = Plain::new("the source", &plain, Answer::Error);
    let artifact = Artifact::new(
        "layer",
        Handle(Memory::new(plain.len())),
        Blocks(plain.clone()),
    );
    let artifact = artifact.with_source(source.clone());
    artifact.read(&mut [0; 10], 0).unwrap_err();
    *source.answer.lock().unwrap() = Answer::Right;
    assert_is(&artifact, &plain, 10_000);
}

#[test]
fn a_damaged_frame_leaves_the_others_of_its_unit() {
    let plain = Arc::new(plain(1 << 20));
    let mut bytes = Vec::new();
    let checksum = pack(&plain[..], &mut bytes).unwrap().checksum;
    // Frames of noise are as long as their groups.
    bytes[2 * GROUP_BYTES + 100] ^= 1;
    let source = PackedFile::open(bytes, Some(&checksum)).unwrap();
    let artifact = Artifact::new("layer", Handle(Memory::new(plain.len())), packed(&plain))
        .with_source(source)
        .with_unit(FetchUnit::Mebibyte);
    let mut found = vec![0; GROUP_BYTES];
    for group in 0..16 {
        let read = artifact.read(&mut found, (group * GROUP_BYTES) as u64);
        assert_eq!(read.is_err(), group == 2, "{group}");
        assert!(read.is_err() || found == plain[group * GROUP_BYTES..][..GROUP_BYTES]);
    }
}

#[test]
fn a_full_disk_harms_no_reader() {
    let plain = Arc::new(plain(10 * GROUP_BYTES + 5));
    let (cache, lines) = (Memory::new(plain.len()), Lines::default());
    let source = Plain::new("the source", &plain, Answer::Right);
    let artifact = Artifact::new("layer", Handle(cache.clone()), packed(&plain));
    let artifact = artifact.with_source(source).with_log(lines.log());
    cache.set(Writes::Full);
    assert_is(&artifact, &plain, 30_000);
    assert_is(&artifact, &plain, GROUP_BYTES);
    assert_eq!(lines.all().len(), 1, "{:?}", lines.all());
    assert!(lines.all()[0].starts_with("cannot keep fetched bytes of layer: "));
    cache.set(Writes::Kept);
    assert_is(&artifact, &plain, GROUP_BYTES);
    let fetched = artifact.counts().fetched_units;
    assert!(cache.bytes() == *plain);
    assert_is(&artifact, &plain, GROUP_BYTES);
    assert_eq!(artifact.counts().fetched_units, fetched);
}

/// A source that waits, for its first group, until it is told to go on.
struct Slow {
    inner: Arc<Plain>,
    begun: Barrier,
    go_on: Barrier,
}

impl Source for Slow {
    fn name(&self) -> String {
        "the slow source".to_owned()
    }
    fn fetch(&self, buf: &mut [u8], offset_bytes: u64) -> io::Result<()> {
        if offset_bytes == 0 {
            self.begun.wait();
            self.go_on.wait();
        }
        self.inner.fetch(buf, offset_bytes)
    }
}

#[test]
fn a_slow_unit_delays_no_other_unit() {
    let plain = Arc::new(plain(4 * GROUP_BYTES));
    let slow = Arc::new(Slow {
        inner: Plain::new("inner", &plain, Answer::Right),
        begun: Barrier::new(2),
        go_on: Barrier::new(2),
    });
    let artifact = Artifact::new("layer", Handle(Memory::new(plain.len())), packed(&plain));
    let artifact = artifact.with_source(slow.clone());
    let (sender, done) = mpsc::channel();
    thread::scope(|scope| {
        let (artifact, plain) = (&artifact, &plain);
        scope.spawn(move || {
            let mut found = [0; 100];
            artifact.read(&mut found, 0).unwrap();
            assert_eq!(found, plain[..100]);
            sender.send(()).unwrap();
        });
        slow.begun.wait();
        let mut found = vec![0; 3 * GROUP_BYTES];
        artifact.read(&mut found, GROUP_BYTES as u64).unwrap();
        assert!(found == plain[GROUP_BYTES..]);
        assert!(done.try_recv().is_err());
        slow.go_on.wait();
        done.recv().unwrap();
    });
}
