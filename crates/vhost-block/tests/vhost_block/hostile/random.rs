//! Descriptors, headers and numbers of requests at random.

use proptest::prelude::*;
use vm_memory::{Bytes as _, GuestAddress};

use super::guest;
use crate::in_time;
use crate::ring::{
    AVAILABLE, DATA, DESCRIPTORS, HEADER, INDIRECT, MEMORY_BYTES, STATUS, set_available,
    write_descriptor, write_header,
};

/// The number of descriptors of each table that are not zeros.
const DESCRIPTORS_MAX: u16 = 6;

/// A descriptor: its address, its length, its flags and its next one.
type Descriptor = (u64, u32, u16, u16);

fn address() -> impl Strategy<Value = u64> {
    let end = MEMORY_BYTES as u64;
    prop_oneof![
        6 => prop::sample::select(vec![HEADER, STATUS, DATA, INDIRECT, DESCRIPTORS, end - 1]),
        1 => 0..end,
        1 => any::<u64>(),
    ]
}

fn length() -> impl Strategy<Value = u32> {
    prop_oneof![
        6 => prop::sample::select(vec![0, 1, 15, 16, 32, 64, 96, 512, 1024, 1 << 20]),
        1 => any::<u32>(),
    ]
}

fn descriptor() -> impl Strategy<Value = Descriptor> {
    let next = prop_oneof![9 => 0..DESCRIPTORS_MAX, 1 => any::<u16>()];
    (address(), length(), 0_u16..8, next)
}

fn table() -> impl Strategy<Value = Vec<Descriptor>> {
    prop::collection::vec(descriptor(), usize::from(DESCRIPTORS_MAX))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn nothing_that_a_guest_writes_stops_the_thread(
        direct in table(),
        indirect in table(),
        kind in prop_oneof![9 => 0_u32..14, 1 => any::<u32>()],
        sector in prop_oneof![9 => 0_u64..2100, 1 => any::<u64>()],
        heads in prop::collection::vec(0..DESCRIPTORS_MAX, 4),
        count in prop_oneof![9 => 0_u16..5, 1 => any::<u16>()],
    ) {
        let guest = guest();
        guest.with_memory(|memory| {
            for (start, table) in [(DESCRIPTORS, &direct), (INDIRECT, &indirect)] {
                for (index, (address, length, flags, next)) in (0_u16..).zip(table) {
                    let place = (*address, *length);
                    write_descriptor(memory, (start, index), place, *flags, *next);
                }
            }
            write_header(memory, kind, sector);
            for (index, head) in (0_u64..).zip(&heads) {
                let entry = GuestAddress(AVAILABLE + 4 + 2 * index);
                memory.write_obj(*head, entry).unwrap();
            }
            set_available(memory, count);
        });
        let length = guest.disk().bytes.len();
        let guest = in_time(move || {
            // Either the queue is invalid, and the owner of the device knows, or all requests are used.
            let is_valid = guest.kick().is_ok();
            assert_eq!(guest.reasons.lock().unwrap().is_empty(), is_valid);
            guest
        });
        prop_assert_eq!(guest.disk().bytes.len(), length);
    }
}
