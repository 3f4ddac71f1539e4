#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz_targets::oci_spec::run(bytes));
