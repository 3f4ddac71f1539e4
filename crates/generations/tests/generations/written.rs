//! The ranges of a snapshot that may have another byte than zero.

use generations::{FileStorage, Pool};

const SIZE: u64 = 64 << 20;

fn end(range: (u64, u64)) -> u64 {
    range.0 + range.1
}

#[test]
fn what_was_never_written_is_left_out_and_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let raw = directory.path().join("raw");
    let file = std::fs::File::create(&raw).unwrap();
    file.set_len(SIZE).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &[7; 8192], 32 << 20).unwrap();
    drop(file);
    let pool = Pool::new(FileStorage::open(&directory.path().join("pool")).unwrap());
    let id = pool.new_disk_id().unwrap();
    pool.adopt(id, &raw).unwrap();
    let mut disk = pool.open_disk(id).unwrap();
    disk.write(b"new", 5).unwrap();
    let state = disk.cut().unwrap();
    disk.flush().unwrap();
    let snapshot = pool.open_snapshot(&state).unwrap();
    let ranges: Vec<(u64, u64)> = snapshot.written().collect::<Result<_, _>>().unwrap();
    assert!(ranges.windows(2).all(|pair| end(pair[0]) <= pair[1].0));
    let covers = |offset| {
        ranges
            .iter()
            .any(|&range| range.0 <= offset && offset < end(range))
    };
    assert!(
        covers(5) && covers(32 << 20) && covers((32 << 20) + 8191),
        "{ranges:?}"
    );
    let sum: u64 = ranges.iter().map(|range| range.1).sum();
    assert!(sum <= 4 << 20, "{ranges:?}");
}
