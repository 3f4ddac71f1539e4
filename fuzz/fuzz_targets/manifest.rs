//! Data of a registry or an archive before any layer: documents, names, digests, challenges.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| image_import::fuzzing::documents(bytes));
