#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz_targets::secret_words::run(bytes));
