use std::sync::Arc;

use artifact_cache::{Artifact, FetchUnit};
use packed_file::GROUP_BYTES;

use crate::cache::{Answer, Blocks, Handle, Memory, Plain, Writes, assert_is, plain};

/// Returns an artifact over a cache file, as the next process opens it.
fn open(cache: &Arc<Memory>, plain: &Arc<Vec<u8>>) -> Artifact {
    Artifact::new("layer", Handle(cache.clone()), Blocks(plain.clone()))
        .with_source(Plain::new("the source", plain, Answer::Right))
        .with_unit(FetchUnit::Mebibyte)
}

#[test]
fn a_kill_or_a_power_cut_at_any_write_is_read_over() {
    let plain = Arc::new(plain((2 << 20) + 3 * GROUP_BYTES + 9));
    let cache = Memory::new(plain.len());
    assert_is(&open(&cache, &plain), &plain, 100_000);
    let writes = cache.writes();
    assert!(writes > 5, "{writes}");
    for first in 0..=writes {
        let cache = Memory::new(plain.len());
        cache.set(Writes::LostFrom(first));
        assert_is(&open(&cache, &plain), &plain, 100_000);
        cache.set(Writes::Kept);
        let later = open(&cache, &plain);
        assert_is(&later, &plain, 5000);
        assert_eq!(later.counts().reads_failed, 0);
        assert!(cache.bytes() == *plain, "lost from {first}");
    }
}
