//! Text that claims to be a VMDK descriptor: what is taken is written back to the same value.

#![no_main]

use libfuzzer_sys::fuzz_target;
use vmdk::Descriptor;

fuzz_target!(|text: &str| {
    if let Ok(descriptor) = Descriptor::parse(text) {
        let again = Descriptor::parse(&descriptor.render());
        assert_eq!(again.ok(), Some(descriptor));
    }
});
