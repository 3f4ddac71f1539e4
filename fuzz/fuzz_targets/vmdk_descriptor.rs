//! Text that claims to be a VMDK descriptor: what is accepted has the same value after a round
//! trip.

#![no_main]

use libfuzzer_sys::fuzz_target;
use vmdk::Descriptor;

fuzz_target!(|text: &str| {
    if let Ok(descriptor) = Descriptor::parse(text) {
        let again = Descriptor::parse(&descriptor.render());
        assert_eq!(again.ok(), Some(descriptor));
    }
});
