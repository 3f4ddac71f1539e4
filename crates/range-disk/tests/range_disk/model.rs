//! Reads compared with a flat model.

use std::io::IoSliceMut;

use proptest::collection::vec;
use proptest::prelude::*;
use range_disk::RangeDisk;
use served_disk::Disk as _;

/// A range to be added: bytes of a source that has others on both sides, or zeros.
#[derive(Debug, Clone)]
enum Added {
    Source {
        source: Vec<u8>,
        offset: usize,
        length: usize,
    },
    Zeros(usize),
}

fn added() -> impl Strategy<Value = Added> {
    let source = (vec(1_u8.., 0..40), any::<u8>(), any::<u8>()).prop_map(|(source, from, to)| {
        let offset = usize::from(from) % (source.len() + 1);
        let length = usize::from(to) % (source.len() - offset + 1);
        Added::Source {
            source,
            offset,
            length,
        }
    });
    prop_oneof![4 => source, 1 => (0_usize..20).prop_map(Added::Zeros)]
}

/// Returns the disk, and the bytes that it stands for.
fn disk_and_model(added: &[Added]) -> (RangeDisk<Vec<u8>>, Vec<u8>) {
    let (mut disk, mut model) = (RangeDisk::new(), Vec::new());
    for range in added {
        match range {
            Added::Source {
                source,
                offset,
                length,
            } => {
                let pushed = disk.push(source.clone(), *offset as u64, *length as u64);
                pushed.expect("it is in the source");
                model.extend_from_slice(&source[*offset..offset + length]);
            }
            Added::Zeros(length) => {
                disk.push_zeros(*length as u64).expect("a short disk");
                model.resize(model.len() + length, 0);
            }
        }
    }
    (disk, model)
}

#[test]
fn long_reads_fill_many_buffers_with_few_reads_of_the_sources() {
    let source: Vec<u8> = (0..300_000_u32).map(|at| (at % 251) as u8).collect();
    let mut disk = RangeDisk::new();
    disk.push(source.clone(), 0, 150_000)
        .expect("it is in the source");
    disk.push(source.clone(), 150_000, 150_000)
        .expect("it is in the source");
    for length in [1000, 4096, 131_072, 200_000] {
        let mut buffers = vec![vec![0xEE; length]; 290_000 / length];
        buffers.insert(1, Vec::new());
        let mut slices: Vec<_> = buffers
            .iter_mut()
            .map(|buffer| IoSliceMut::new(buffer))
            .collect();
        disk.read_vectored(&mut slices, 777)
            .expect("they are on the disk");
        let read = buffers.concat();
        assert!(read == source[777..777 + read.len()], "{length}");
    }
}

proptest! {
    #[test]
    fn each_read_gives_the_bytes_of_the_model(
        added in vec(added(), 0..12),
        reads in vec((any::<u16>(), any::<u16>()), 1..20),
    ) {
        let (mut disk, model) = disk_and_model(&added);
        prop_assert_eq!(disk.size_bytes(), model.len() as u64);
        for (from, to) in reads {
            let start = usize::from(from) % (model.len() + 1);
            let length = usize::from(to) % (model.len() - start + 1);
            let mut read = vec![0xEE; length];
            disk.read(&mut read, start as u64).expect("it is on the disk");
            prop_assert_eq!(&read[..], &model[start..start + length]);
        }
    }

    #[test]
    fn buffers_are_filled_one_after_the_other(
        added in vec(added(), 0..12),
        lengths in vec(0_usize..30, 0..6),
        from in any::<u16>(),
    ) {
        let (mut disk, model) = disk_and_model(&added);
        let start = usize::from(from) % (model.len() + 1);
        let mut buffers: Vec<Vec<u8>> = Vec::new();
        let mut left = model.len() - start;
        for length in lengths {
            buffers.push(vec![0xEE; length.min(left)]);
            left -= length.min(left);
        }
        let mut slices: Vec<_> = buffers.iter_mut().map(|buffer| IoSliceMut::new(buffer)).collect();
        disk.read_vectored(&mut slices, start as u64).expect("they are on the disk");
        let read = buffers.concat();
        prop_assert_eq!(&read[..], &model[start..start + read.len()]);
    }
}
