use packed_file::{Packed, pack};
use proptest::prelude::*;

/// A run of bytes of a plain file.
#[derive(Debug, Clone)]
pub(crate) enum Run {
    Zeros(usize),
    Text(usize),
    Noise(u64, usize),
}

/// Returns plain files of a few runs, each of which may have several groups.
pub(crate) fn plain_files() -> impl Strategy<Value = Vec<u8>> {
    let length = prop_oneof![0_usize..100, 65_530_usize..65_540, 0_usize..200_000];
    let run = prop_oneof![
        length.clone().prop_map(Run::Zeros),
        length.clone().prop_map(Run::Text),
        (any::<u64>(), length).prop_map(|(seed, length)| Run::Noise(seed, length)),
    ];
    prop::collection::vec(run, 0..5).prop_map(|runs| runs.iter().flat_map(bytes_of).collect())
}

/// Returns the bytes of a run.
pub(crate) fn bytes_of(run: &Run) -> Vec<u8> {
    match *run {
        Run::Zeros(length) => vec![0; length],
        Run::Text(length) => b"all work and no play\n"
            .iter()
            .copied()
            .cycle()
            .take(length)
            .collect(),
        Run::Noise(seed, length) => {
            let mut noise = vec![0; length];
            blake3::Hasher::new()
                .update(&seed.to_le_bytes())
                .finalize_xof()
                .fill(&mut noise);
            noise
        }
    }
}

/// Returns the packed file of a plain one.
pub(crate) fn packed(plain: &[u8]) -> (Vec<u8>, Packed) {
    let mut bytes = Vec::new();
    let packed = pack(plain, &mut bytes).expect("memory does not fail");
    assert_eq!(packed.packed_bytes, bytes.len() as u64);
    assert_eq!(packed.size_bytes, plain.len() as u64);
    (bytes, packed)
}
