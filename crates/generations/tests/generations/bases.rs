//! Disks that begin with a part of a disk image, or with blocks of files.

use std::fs;
use std::io::Cursor;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use disk_image::Format;
use generations::{
    Base, BaseError, BlockFile, CreateError, DiskId, FileBlocks, FileRun, FileStorage, ImagePart,
    OpenError, Pool, Snapshot, Stamp, StorageError, Verified,
};

const BLOCK: usize = 4096;
/// The first byte of the part, which is not the first one of a block of the image.
const START: usize = 3 * 512;
/// The length of the part, whose last block is not whole.
const LENGTH: usize = 20 * BLOCK + 512;

fn image(directory: &Path) -> (ImagePart, Vec<u8>) {
    let bytes: Vec<u8> = (0..START + LENGTH + 5000)
        .map(|at| (at / 13 % 251) as u8)
        .collect();
    let path = directory.join("disk.img");
    fs::write(&path, &bytes).unwrap();
    let base = ImagePart {
        stamp: Stamp::from(&fs::metadata(&path).unwrap()),
        path,
        format: Format::Raw,
        start_bytes: START as u64,
        length_bytes: LENGTH as u64,
    };
    (base, bytes[START..START + LENGTH].to_vec())
}

fn pool(directory: &Path) -> Pool<FileStorage> {
    Pool::new(FileStorage::open(directory).unwrap())
}

fn over(pool: &Pool<FileStorage>, base: &ImagePart) -> DiskId {
    let id = pool.new_disk_id().unwrap();
    pool.create_over(id, &Base::ImagePart(base.clone()))
        .unwrap();
    id
}

/// Returns the whole text of an error, with its sources.
fn text(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text.push_str(&format!(": {error}"));
        source = error.source();
    }
    text
}

#[test]
fn a_disk_over_an_image_has_its_part_and_writes_none_of_it() {
    let directory = tempfile::tempdir().unwrap();
    let (base, mut expected) = image(directory.path());
    let file = fs::read(&base.path).unwrap();
    let pool = pool(&directory.path().join("pool"));
    let id = over(&pool, &base);
    assert_eq!(pool.base(id).unwrap(), Some(Base::ImagePart(base.clone())));
    let read = |pool: &Pool<FileStorage>, id| {
        let disk = pool.read_disk(id).unwrap();
        let mut bytes = vec![0; usize::try_from(disk.size_bytes()).unwrap()];
        disk.read(&mut bytes, 0).unwrap();
        bytes
    };
    assert!(read(&pool, id) == expected);

    let mut disk = pool.open_disk(id).unwrap();
    disk.write(b"changed", 5000).unwrap();
    disk.zero(8 * BLOCK as u64, BLOCK as u64).unwrap();
    let grown = 40 * BLOCK;
    disk.grow(grown as u64).unwrap();
    let state = disk.cut().unwrap();
    disk.write(b"later", 9 * BLOCK as u64).unwrap();
    disk.flush().unwrap();
    drop(disk);
    expected[5000..5007].copy_from_slice(b"changed");
    expected[8 * BLOCK..9 * BLOCK].fill(0);
    expected.resize(grown, 0);

    let snapshot = pool.open_snapshot(&state).unwrap();
    let mut bytes = vec![0; grown];
    snapshot.read(&mut bytes, 0).unwrap();
    assert!(bytes == expected);

    // A fork in another pool has the same base.
    let other = self::pool(&directory.path().join("other"));
    pool.share(&state, &other).unwrap();
    let fork = other.new_disk_id().unwrap();
    other.fork(&state, &[fork]).unwrap();
    assert!(read(&other, fork) == expected);
    assert_eq!(
        other.base(fork).unwrap(),
        Some(Base::ImagePart(base.clone()))
    );

    // A merge makes it a generation of the pool.
    assert!(pool.is_base(state.generations[0]).unwrap());
    let merged = pool.merge(&state.generations).unwrap();
    assert!(!pool.is_base(merged).unwrap());
    pool.record_digest(state.generations[0]).unwrap();
    assert_eq!(
        pool.verify(state.generations[0]).unwrap(),
        Verified::Content
    );
    assert!(
        fs::read(&base.path).unwrap() == file,
        "the image was written to"
    );
}

#[test]
fn an_image_that_changed_is_refused_by_name() {
    let directory = tempfile::tempdir().unwrap();
    let (base, _) = image(directory.path());
    let pool = pool(&directory.path().join("pool"));
    let id = over(&pool, &base);
    let refusal = || text(&pool.open_disk(id).expect_err("refused"));
    let before = fs::read(&base.path).unwrap();

    let file = fs::File::options().write(true).open(&base.path).unwrap();
    file.write_all_at(b"x", 7).unwrap();
    let said = refusal();
    assert!(
        said.contains("disk.img has changed since a disk was made over it: it was written to"),
        "{said}"
    );

    file.set_len(100).unwrap();
    let said = refusal();
    let expected = format!("it had {} bytes and has 100", before.len());
    assert!(said.contains(&expected), "{said}");

    fs::remove_file(&base.path).unwrap();
    let said = refusal();
    assert!(said.contains("cannot open"), "{said}");
    fs::write(&base.path, &before).unwrap();
    let said = refusal();
    assert!(said.contains("has changed"), "{said}");
    // What is not read of the image is there.
    assert_eq!(pool.disks().unwrap(), [id]);
}

#[test]
fn a_disk_over_what_is_no_such_image_is_not_made() {
    let directory = tempfile::tempdir().unwrap();
    let (base, _) = image(directory.path());
    let pool = pool(&directory.path().join("pool"));
    let refused = |base: ImagePart| {
        let id = pool.new_disk_id().unwrap();
        pool.create_over(id, &Base::ImagePart(base))
            .expect_err("refused")
    };
    let other_format = ImagePart {
        format: Format::Qcow2,
        ..base.clone()
    };
    let too_long = ImagePart {
        length_bytes: 1 << 20,
        ..base.clone()
    };
    for base in [other_format, too_long] {
        let error = refused(base);
        let CreateError::Storage(StorageError { source, .. }) = error else {
            panic!("{error}");
        };
        let inner = source.get_ref().unwrap().downcast_ref();
        assert!(
            matches!(
                inner,
                Some(BaseError::Image { .. } | BaseError::Changed { .. })
            ),
            "{source}"
        );
    }
    let odd = ImagePart {
        length_bytes: 1000,
        ..base
    };
    assert!(matches!(refused(odd), CreateError::Size(_)));
    assert!(
        fs::read_dir(directory.path().join("pool"))
            .unwrap()
            .next()
            .is_none()
    );
}

#[test]
fn a_flipped_bit_of_the_file_that_names_a_base_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let (base, _) = image(directory.path());
    let pool = pool(&directory.path().join("pool"));
    let id = over(&pool, &base);
    let generation = pool.sealed_state(id).unwrap().generations[0];
    let path = directory.path().join(format!("pool/{generation}.data"));
    let intact = fs::read(&path).unwrap();
    for at in [0, 9, intact.len() / 2, intact.len() - 1] {
        let mut damaged = intact.clone();
        damaged[at] ^= 4;
        fs::write(&path, damaged).unwrap();
        let error = pool.open_disk(id).expect_err("refused");
        assert!(matches!(error, OpenError::Damaged(_)), "{error}");
    }
}

/// The blocks of two files, and the runs of them that a disk of 64 blocks has.
fn layers(directory: &Path) -> (FileBlocks, Vec<u8>) {
    let mut files = Vec::new();
    let mut contents = Vec::new();
    for (name, blocks) in [("one", 30), ("two", 9)] {
        let content: Vec<u8> = (0..blocks * BLOCK).map(|at| (at / 7 % 241) as u8).collect();
        fs::write(directory.join(name), &content).unwrap();
        files.push(BlockFile {
            path: Path::new("..").join(name),
            size_bytes: content.len() as u64,
            blake3: blake3::hash(&content).into(),
        });
        contents.push(content);
    }
    let runs = [(3, 5, 0, 20), (8, 1, 1, 0), (9, 20, 0, 0), (40, 9, 1, 0)];
    let runs = runs.map(|(first_block, count, file, file_block)| FileRun {
        first_block,
        count,
        file,
        file_block,
    });
    let mut expected = vec![0; 64 * BLOCK];
    for run in &runs {
        let [to, from, count] =
            [run.first_block, run.file_block, run.count].map(|block| block as usize * BLOCK);
        expected[to..to + count]
            .copy_from_slice(&contents[usize::from(run.file)][from..from + count]);
    }
    let blocks = FileBlocks {
        length_bytes: expected.len() as u64,
        files,
        runs: runs.to_vec(),
    };
    (blocks, expected)
}

#[test]
fn a_disk_over_blocks_of_files_reads_through_the_runs() {
    let directory = tempfile::tempdir().unwrap();
    let (blocks, mut expected) = layers(directory.path());
    let pool = pool(&directory.path().join("pool"));
    let id = pool.new_disk_id().unwrap();
    let base = Base::FileBlocks(blocks);
    pool.create_over(id, &base).unwrap();
    assert_eq!(pool.base(id).unwrap(), Some(base.clone()));
    let mut disk = pool.open_disk(id).unwrap();
    for (offset, length) in [
        (0, 64 * BLOCK),
        (3 * BLOCK - 1, 2),
        (8 * BLOCK + 5, BLOCK),
        (63 * BLOCK, 7),
    ] {
        let mut bytes = vec![1; length];
        disk.read(&mut bytes, offset as u64).unwrap();
        assert!(bytes == expected[offset..offset + length], "{offset}");
    }
    // A part of a block that a file has, and blocks that none has.
    for at in [9 * BLOCK + 17, 30 * BLOCK] {
        disk.write(b"changed", at as u64).unwrap();
        expected[at..at + 7].copy_from_slice(b"changed");
    }
    let state = disk.cut().unwrap();
    disk.flush().unwrap();
    let whole = |disk: &dyn fstree::ReadAt| {
        let mut bytes = vec![1; expected.len()];
        disk.read_exact_at(&mut bytes, 0).unwrap();
        bytes
    };
    assert!(whole(&pool.open_snapshot(&state).unwrap()) == expected);

    // The runs of zeros between those of the files are not written anywhere.
    let snapshot = pool.open_snapshot(&state).unwrap();
    let written: u64 = snapshot.written().map(|range| range.unwrap().1).sum();
    assert_eq!(written, 36 * BLOCK as u64);

    let generation = state.generations[0];
    pool.record_digest(generation).unwrap();
    assert_eq!(pool.verify(generation).unwrap(), Verified::Content);

    // What the base is opened with alone is the disk without the changes.
    let opened = base.open(&directory.path().join("pool")).unwrap();
    let before = whole(&opened);
    assert!(before[40 * BLOCK..] == expected[40 * BLOCK..]);
    assert!(before[30 * BLOCK..31 * BLOCK].iter().all(|byte| *byte == 0));

    let merged = pool.merge(&state.generations).unwrap();
    fs::remove_file(directory.path().join("two")).unwrap();
    assert!(text(&pool.open_snapshot(&state).expect_err("refused")).contains("two"));
    let mut without = state;
    let generations = without.generations.clone();
    assert!(without.replace_merged(&generations, merged));
    assert!(whole(&pool.open_snapshot(&without).unwrap()) == expected);
}

/// Writes the tree of a file beside it.
fn write_tree(directory: &Path, name: &str) {
    let content = fs::read(directory.join(name)).unwrap();
    let mut writer = block_tree::TreeWriter::new(Cursor::new(Vec::new())).unwrap();
    writer.update(&content).unwrap();
    let (sidecar, _) = writer.finish().unwrap();
    let path = directory.join(name).with_extension("tree");
    fs::write(path, sidecar.into_inner()).unwrap();
}

#[test]
fn a_file_with_a_tree_is_verified_when_it_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let (blocks, expected) = layers(directory.path());
    write_tree(directory.path(), "one");
    let pool = pool(&directory.path().join("pool"));
    let id = pool.new_disk_id().unwrap();
    pool.create_over(id, &Base::FileBlocks(blocks)).unwrap();
    let mut disk = pool.open_disk(id).unwrap();
    let mut bytes = vec![1; expected.len()];
    disk.read(&mut bytes, 0).unwrap();
    assert!(bytes == expected);

    // Block 24 of the disk is block 15 of the first file.
    let path = directory.path().join("one");
    let mut content = fs::read(&path).unwrap();
    content[15 * BLOCK + 100] ^= 1;
    fs::write(&path, &content).unwrap();
    for block in 0..64 {
        let mut bytes = vec![1; BLOCK];
        let read = disk.read(&mut bytes, (block * BLOCK) as u64);
        assert_eq!(read.is_ok(), block != 24, "block {block}");
        assert!(block == 24 || bytes == expected[block * BLOCK..(block + 1) * BLOCK]);
    }
    let refused = disk.read(&mut bytes, 0).expect_err("damaged");
    let said = text(&refused);
    assert!(
        said.contains("one is corrupt") && said.contains("byte 61440"),
        "{said}"
    );
    // A part of a block is not made whole from wrong bytes.
    disk.write(b"changed", (24 * BLOCK) as u64)
        .expect_err("damaged");
}

#[test]
fn a_damaged_tree_of_a_file_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let (blocks, _) = layers(directory.path());
    write_tree(directory.path(), "one");
    let pool = pool(&directory.path().join("pool"));
    let id = pool.new_disk_id().unwrap();
    pool.create_over(id, &Base::FileBlocks(blocks)).unwrap();
    let path = directory.path().join("one.tree");
    let intact = fs::read(&path).unwrap();
    for at in [0, 9, 40, intact.len() - 1] {
        let mut damaged = intact.clone();
        damaged[at] ^= 4;
        fs::write(&path, damaged).unwrap();
        let said = text(&pool.open_disk(id).expect_err("refused"));
        assert!(said.contains("one.tree is corrupt"), "{said}");
    }
    fs::write(&path, &intact).unwrap();
    pool.open_disk(id).unwrap();
}

#[test]
fn blocks_that_nobody_changed_are_parts_of_the_files() {
    let directory = tempfile::tempdir().unwrap();
    let (base, _) = layers(directory.path());
    let pool = pool(&directory.path().join("pool"));
    let id = pool.new_disk_id().unwrap();
    pool.create_over(id, &Base::FileBlocks(base.clone()))
        .unwrap();
    let block = BLOCK as u64;
    let mut disk = pool.open_disk(id).unwrap();
    disk.write(b"changed", 20 * block).unwrap();
    disk.discard(44 * block, block).unwrap();
    let state = disk.cut().unwrap();
    disk.write(b"later", 41 * block).unwrap();
    disk.flush().unwrap();
    drop(disk);
    let parts = |disk: &Snapshot<FileStorage>, first: u64, count: u64| {
        let parts = disk.parts_of_base(&base, first, count)?.into_iter();
        let parts = parts.map(|run| (run.first_block, run.count, run.file, run.file_block));
        Some(parts.collect::<Vec<_>>())
    };
    let disk = pool.read_disk(id).unwrap();
    let expected = vec![(5, 3, 0, 22), (8, 1, 1, 0), (9, 2, 0, 0)];
    assert_eq!(parts(&disk, 5, 6), Some(expected));
    assert_eq!(parts(&disk, 21, 8), Some(vec![(21, 8, 0, 12)]));
    for (first, count) in [
        (2, 2),
        (28, 2),
        (20, 1),
        (15, 10),
        (41, 1),
        (44, 1),
        (48, 2),
        (60, 10),
        (u64::MAX, 2),
    ] {
        assert_eq!(parts(&disk, first, count), None, "{first}, {count}");
    }
    let snapshot = pool.open_snapshot(&state).unwrap();
    assert_eq!(parts(&snapshot, 41, 2), Some(vec![(41, 2, 1, 1)]));
}

#[test]
fn runs_that_leave_their_files_and_files_of_another_length_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let (good, _) = layers(directory.path());
    let pool = pool(&directory.path().join("pool"));
    let refused = |change: fn(&mut FileBlocks)| {
        let mut blocks = good.clone();
        change(&mut blocks);
        let id = pool.new_disk_id().unwrap();
        text(
            &pool
                .create_over(id, &Base::FileBlocks(blocks))
                .expect_err("refused"),
        )
    };
    let changes: [fn(&mut FileBlocks); 6] = [
        |blocks| blocks.runs[1].first_block = 7,
        |blocks| blocks.runs[0].file_block = 26,
        |blocks| blocks.runs[2].file = 2,
        |blocks| blocks.runs[3].first_block = 60,
        |blocks| blocks.runs[3].count = 0,
        |blocks| blocks.runs[3].file_block = u64::MAX,
    ];
    for change in changes {
        let said = refused(change);
        assert!(said.contains("are not in the files"), "{said}");
    }
    let said = refused(|blocks| blocks.files[0].size_bytes += 4096);
    assert!(said.contains("one has changed"), "{said}");
}
