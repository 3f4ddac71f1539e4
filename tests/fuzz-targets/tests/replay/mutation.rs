//! Mutations of a corpus. Each follows from its number alone.

/// The longest input, in bytes: as long as libFuzzer's under `cargo xtask fuzz`.
const INPUT_BYTES: usize = 64 << 10;
/// Most changes of one mutation.
const CHANGES: usize = 4;
/// Integers at which lengths, counts and offsets wrap around or change their sign.
const INTERESTING: [u64; 13] = [
    0,
    1,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0x8000,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x7fff_ffff_ffff_ffff,
    0xffff_ffff_ffff_ffff,
];

/// Returns the mutation of this number.
pub(crate) fn mutated(corpus: &[Vec<u8>], number: u64) -> Vec<u8> {
    let mut random = Random(number);
    let mut bytes = random.chosen(corpus).clone();
    for _ in 0..=random.below(CHANGES) {
        random.change(&mut bytes, corpus);
    }
    bytes.truncate(INPUT_BYTES);
    bytes
}

/// The generator SplitMix64 (Steele, Lea and Flood, 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `end`, or 0.
    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    fn chosen<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    /// Returns a range within `length`.
    fn range(&mut self, length: usize) -> std::ops::Range<usize> {
        let start = self.below(length);
        start..start + self.below(length - start + 1)
    }

    fn change(&mut self, bytes: &mut Vec<u8>, corpus: &[Vec<u8>]) {
        let position = self.below(bytes.len());
        match self.below(8) {
            0 | 1 => {
                let bit = 1 << self.below(8);
                if let Some(byte) = bytes.get_mut(position) {
                    *byte ^= bit;
                }
            }
            2 | 3 => {
                let integer = self.integer();
                let end = bytes.len().min(position + integer.len());
                let place = &mut bytes[position..end];
                place.copy_from_slice(&integer[..place.len()]);
            }
            4 => bytes.truncate(position),
            5 => {
                let piece = bytes[self.range(bytes.len())].to_vec();
                bytes.splice(position..position, piece);
            }
            6 => {
                let piece = self.range(bytes.len());
                bytes.drain(piece);
            }
            _ => {
                let other = self.chosen(corpus);
                let from = self.below(other.len());
                bytes.truncate(position);
                bytes.extend(&other[from..]);
            }
        }
    }

    /// Returns an interesting integer of 1, 2, 4 or 8 bytes, in either order.
    fn integer(&mut self) -> Vec<u8> {
        let length = 1 << self.below(4);
        let value = *self.chosen(&INTERESTING);
        let mut bytes = value.to_le_bytes()[..length].to_vec();
        if self.below(2) == 0 {
            bytes.reverse();
        }
        bytes
    }
}

#[test]
fn a_mutation_follows_from_its_number() {
    let corpus = [(0..100).collect(), (100..200).collect(), vec![7; 10]];
    let some = |numbers: std::ops::Range<u64>| -> Vec<Vec<u8>> {
        numbers.map(|number| mutated(&corpus, number)).collect()
    };
    assert_eq!(some(0..1000), some(0..1000));
    let different: std::collections::BTreeSet<_> = some(0..1000).into_iter().collect();
    assert!(different.len() > 700, "{} are different", different.len());
}

#[test]
fn a_mutation_has_a_longest_length() {
    let corpus = [vec![7; INPUT_BYTES]];
    let lengths = (0..100).map(|number| mutated(&corpus, number).len());
    assert_eq!(lengths.max(), Some(INPUT_BYTES));
}
