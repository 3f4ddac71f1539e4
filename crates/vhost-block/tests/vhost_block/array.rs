//! A disk of generations behind a device: an array of bytes, across cuts.

use generations::{DiskId, FileStorage, Pool};
use proptest::prelude::*;

use crate::guest::{DISCARD, FLUSH, Guest, OK, UNMAP, WRITE_ZEROES};

const SIZE_BYTES: usize = 2 << 20;
const SECTOR_BYTES: usize = 512;
const BLOCK_BYTES: usize = 4096;
const SECTORS: u64 = (SIZE_BYTES / SECTOR_BYTES) as u64;

/// A step of a guest, or of the host between two requests.
#[derive(Debug, Clone)]
enum Step {
    /// The first sector, the number of sectors, and their bytes.
    Write(u64, u32, u8),
    /// The same range of zeros; true if its space may be freed.
    Zero(u64, u32, bool),
    Discard(u64, u32),
    Read(u64, u32),
    Flush,
    Cut,
}

use Step::{Cut, Discard, Flush, Read, Write, Zero};

/// Steps that write blocks whole and in part, over others, across cuts and at the end.
const STEPS: [Step; 22] = [
    Write(0, 2048, 0x11),
    Write(8, 1, 0x22),
    Write(2047, 18, 0x33),
    Zero(128, 128, true),
    Zero(512, 600, false),
    Flush,
    Read(8, 1),
    Cut,
    Write(1, 1, 0x44),
    Write(2048, 2048, 0x55),
    Write(3072, 128, 0x66),
    Flush,
    Write(4094, 2, 0x77),
    Read(2, 6),
    Read(128, 128),
    Cut,
    Zero(0, 3, true),
    Write(3071, 2, 0x88),
    Discard(3072, 128),
    Write(3072, 128, 0x99),
    Flush,
    Read(4094, 2),
];

/// A guest, and the bytes that its disk is to have.
struct Machine {
    guest: Guest<generations::Disk<FileStorage>>,
    expected: Vec<u8>,
    pool: Pool<FileStorage>,
    id: DiskId,
    _directory: tempfile::TempDir,
}

impl Machine {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let pool = Pool::new(FileStorage::open(directory.path()).unwrap());
        let id = pool.new_disk_id().unwrap();
        pool.create_disk(id, SIZE_BYTES as u64).unwrap();
        Self {
            guest: Guest::new(pool.open_disk(id).unwrap()),
            expected: vec![0; SIZE_BYTES],
            pool,
            id,
            _directory: directory,
        }
    }

    fn carry_out(&mut self, step: &Step) {
        match *step {
            Write(sector, sectors, byte) => {
                let range = range(sector, sectors);
                // Bytes that differ from sector to sector.
                let bytes: Vec<_> = (0..range.len())
                    .map(|index| byte ^ (index / SECTOR_BYTES) as u8)
                    .collect();
                assert_eq!(self.guest.write(sector, &bytes), OK);
                self.expected[range].copy_from_slice(&bytes);
            }
            Zero(sector, sectors, may_unmap) => {
                let flags = if may_unmap { UNMAP } else { 0 };
                let zeroed = self.guest.send_range(WRITE_ZEROES, sector, sectors, flags);
                assert_eq!(zeroed, OK);
                self.expected[range(sector, sectors)].fill(0);
            }
            Discard(sector, sectors) => {
                assert_eq!(self.guest.send_range(DISCARD, sector, sectors, 0), OK);
                let range = range(sector, sectors);
                let start = range.start.next_multiple_of(BLOCK_BYTES);
                let end = range.end / BLOCK_BYTES * BLOCK_BYTES;
                if start < end {
                    self.expected[start..end].fill(0);
                }
            }
            Read(sector, sectors) => {
                let range = range(sector, sectors);
                let (status, bytes) = self.guest.read(sector, range.len());
                assert_eq!(status, OK);
                assert!(bytes == self.expected[range], "{step:?}");
            }
            Flush => assert_eq!(self.guest.send(FLUSH, 0, &[]), OK),
            Cut => {
                self.guest.disk().cut().unwrap();
            }
        }
    }

    /// Checks the whole disk, also without the device and without what no flush has kept.
    fn check(mut self) {
        self.carry_out(&Read(0, SECTORS as u32));
        self.carry_out(&Flush);
        // The guest has the lock of its disk.
        drop(self.guest);
        let mut bytes = vec![0; SIZE_BYTES];
        let disk = self.pool.read_disk(self.id).unwrap();
        disk.read(&mut bytes, 0).unwrap();
        assert!(bytes == self.expected, "the pool has other bytes");
    }
}

fn range(sector: u64, sectors: u32) -> std::ops::Range<usize> {
    let start = sector as usize * SECTOR_BYTES;
    start..start + sectors as usize * SECTOR_BYTES
}

#[test]
fn blocks_are_written_whole_and_in_part_across_cuts() {
    let mut machine = Machine::new();
    for step in &STEPS {
        machine.carry_out(step);
    }
    machine.check();
}

fn any_step() -> impl Strategy<Value = Step> {
    let range = (0..SECTORS).prop_flat_map(|sector| {
        let sectors = 0..=u32::try_from(SECTORS - sector).unwrap().min(600);
        (Just(sector), sectors)
    });
    let changed = (range.clone(), any::<u8>(), any::<bool>());
    prop_oneof![
        4 => changed.clone().prop_map(|((sector, sectors), byte, _)| Write(sector, sectors, byte)),
        2 => changed.prop_map(|((sector, sectors), _, flag)| Zero(sector, sectors, flag)),
        2 => range.clone().prop_map(|(sector, sectors)| Discard(sector, sectors)),
        3 => range.prop_map(|(sector, sectors)| Read(sector, sectors)),
        1 => Just(Flush),
        1 => Just(Cut),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_disk_is_an_array_of_bytes(steps in prop::collection::vec(any_step(), 1..40)) {
        let mut machine = Machine::new();
        for step in &steps {
            machine.carry_out(step);
        }
        machine.check();
    }
}
