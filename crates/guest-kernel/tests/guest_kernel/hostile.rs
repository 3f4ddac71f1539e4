use guest_kernel::Architecture;

use crate::fixture::{DRIVERS, get_kernel_code, kernel, library};
use crate::wrap;

/// Checks that wrapping `bytes` terminates, with a kernel or with an error that has a message.
fn survives(bytes: &[u8]) {
    for architecture in [Architecture::X86_64, Architecture::Aarch64] {
        if let Err(error) = guest_kernel::wrap(bytes, architecture) {
            assert!(!error.to_string().is_empty());
        }
    }
}

#[test]
fn every_truncation_of_a_library_and_of_a_kernel_ends() {
    let library = library(&kernel(), &get_kernel_code());
    let wrapped = wrap(&library).unwrap().image;
    let image = testkit::arm64_image(DRIVERS);
    for file in [library, wrapped, image] {
        for length in (0..file.len()).step_by(7).chain(0..file.len().min(256)) {
            survives(&file[..length]);
        }
    }
}

#[test]
fn every_header_byte_may_be_any_of_a_few_nasty_values() {
    let library = library(&kernel(), &get_kernel_code());
    let headers = (0..64).chain(library.len() - 5 * 64 - 200..library.len());
    let wrapped = wrap(&library).unwrap().image;
    for (file, offsets) in [
        (library, headers.collect::<Vec<_>>()),
        (wrapped, (0..200).collect()),
        (testkit::arm64_image(DRIVERS), (0..64).collect()),
    ] {
        let mut mutant = file.clone();
        for offset in offsets {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                mutant[offset] = value;
                survives(&mutant);
            }
            mutant[offset] = file[offset];
        }
    }
}
