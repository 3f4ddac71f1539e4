use guest_kernel::{Architecture, GuestKernel, KernelError, KernelFormat};
use object::elf::{FileHeader64, PT_LOAD, PT_NOTE};
use object::endian::LittleEndian as Le;
use object::read::elf::{FileHeader as _, ProgramHeader as _};

use crate::fixture::{
    DRIVERS, DRIVERS_OFFSET, ENTRY, LOAD_ADDRESS, NOTE_OFFSET, arm64_library, get_kernel_code,
    kernel, library,
};
use crate::wrap;

fn wrapped() -> GuestKernel {
    wrap(&library(&kernel(), &get_kernel_code())).expect("the miniature library is sound")
}

#[test]
fn a_library_becomes_an_elf_with_both_entries() {
    let kernel_file = wrapped();
    assert_eq!(kernel_file.format, KernelFormat::Elf);
    assert_eq!(kernel_file.release.as_deref(), Some("6.12.91"));
    let file = kernel_file.image.as_slice();
    let header = FileHeader64::<Le>::parse(file).unwrap();
    assert_eq!(header.e_entry(Le), u64::from(ENTRY));
    let [load, note] = header.program_headers(Le, file).unwrap() else {
        panic!("two segments")
    };
    assert_eq!((load.p_type(Le), note.p_type(Le)), (PT_LOAD, PT_NOTE));
    assert_eq!(load.p_paddr(Le), u64::from(LOAD_ADDRESS));
    assert_eq!(load.p_vaddr(Le), 0xffff_ffff_8100_0000);
    assert_eq!(load.data(Le, file), Ok(kernel().as_slice()));
    assert_eq!(
        note.data(Le, file),
        Ok(&kernel()[NOTE_OFFSET..NOTE_OFFSET + 24])
    );
}

#[test]
fn a_wrapped_kernel_passes_through_unchanged() {
    let once = wrapped();
    assert_eq!(wrap(&once.image).unwrap(), once);
}

#[test]
fn an_arm64_image_passes_through_bare_or_from_a_library() {
    let image = testkit::arm64_image(DRIVERS);
    let wrap = |bytes: &[u8]| guest_kernel::wrap(bytes, Architecture::Aarch64);
    let bare = wrap(&image).unwrap();
    assert_eq!((bare.format, &bare.image), (KernelFormat::Image, &image));
    assert_eq!(wrap(&arm64_library(&image)).unwrap(), bare);
}

#[test]
fn an_arm64_image_without_a_driver_is_refused_with_the_option() {
    let error = guest_kernel::wrap(&testkit::arm64_image(b"ext4\0"), Architecture::Aarch64);
    let text = error.unwrap_err().to_string();
    assert!(text.contains("CONFIG_VIRTIO_MMIO, "), "{text}");
    assert!(!text.contains("CONFIG_EXT4_FS"), "{text}");
}

#[test]
fn a_kernel_of_another_architecture_is_named() {
    let image = testkit::arm64_image(DRIVERS);
    let on_x86_64 = "the kernel is for aarch64, and a sandbox of this host needs one for x86_64";
    for file in [&arm64_library(&image), &image] {
        assert_eq!(wrap(file).unwrap_err().to_string(), on_x86_64);
    }
    let mut bzimage = vec![0; 0x1000];
    bzimage[0x202..0x206].copy_from_slice(b"HdrS");
    let library = library(&kernel(), &get_kernel_code());
    for file in [&bzimage, &library, &wrapped().image] {
        let error = guest_kernel::wrap(file, Architecture::Aarch64).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the kernel is for x86_64, and a sandbox of this host needs one for aarch64"
        );
    }
    let mut riscv = library.clone();
    riscv[18] = 243;
    let error = wrap(&riscv).unwrap_err().to_string();
    assert!(error.contains("for the machine of number 243,"), "{error}");
}

#[test]
fn a_kernel_without_a_pvh_note_is_unsupported() {
    let bare = vec![0x90; 0x2000];
    let error = wrap(&library(&bare, &get_kernel_code())).unwrap_err();
    assert_eq!(
        error.to_string(),
        "unsupported kernel file: the kernel has no PVH note"
    );
}

#[test]
fn a_kernel_without_a_driver_is_refused_with_the_option() {
    let mut kernel = kernel();
    kernel[DRIVERS_OFFSET] = 0;
    let error = wrap(&library(&kernel, &get_kernel_code())).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the kernel was built without CONFIG_VIRTIO_MMIO, which every sandbox needs"
    );
}

#[test]
fn a_truncated_kernel_is_named_as_such() {
    let whole = wrapped().image;
    let error = wrap(&whole[..whole.len() / 2]).unwrap_err();
    assert_eq!(error.to_string(), "the kernel file is truncated or damaged");
}

#[test]
fn a_compressed_kernel_is_named_with_the_file_to_take() {
    let mut image = vec![0; 0x1000];
    image[0x202..0x206].copy_from_slice(b"HdrS");
    let error = wrap(&image).unwrap_err();
    assert_eq!(
        error.to_string(),
        "unsupported kernel file: a bzImage, and msb boots the vmlinux that it was made from"
    );
}

#[test]
fn other_files_are_named_for_what_they_are() {
    assert!(matches!(wrap(b""), Err(KernelError::NotAKernel)));
    assert!(matches!(wrap(&[0; 4096]), Err(KernelError::NotAKernel)));
    let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    assert!(matches!(
        guest_kernel::wrap(&program, Architecture::HOST),
        Err(KernelError::Unsupported { .. })
    ));
}
