use super::*;

/// Returns the path of the wrapped kernel, and true if its stamp matches.
fn find(home: &Home, source: &Path, trust: VerifyMode) -> (PathBuf, bool) {
    let search = KernelSearch {
        msb_kernel: Some(source.as_os_str()),
        ..KernelSearch::default()
    };
    let kernel = Kernel::find_for(Architecture::Aarch64, home, search, trust);
    let kernel = kernel.expect("a kernel");
    let stamp = home.kernels().join(stamp_name(source));
    (kernel.path, Wrapping::known(home, source, &stamp).is_some())
}

#[test]
fn a_kernel_is_found_beside_the_program_that_a_link_leads_to() {
    let root = tempfile::tempdir().expect("a directory");
    let root = fs::canonicalize(root.path()).expect("it exists");
    let installed = root.join("opt/lib/msb");
    let installed = installed.join(Architecture::HOST.kernel_file());
    for path in [&installed, &root.join("opt/bin/msb")] {
        fs::create_dir_all(path.parent().expect("a directory")).expect("made");
        fs::write(path, testkit::arm64_image(testkit::KERNEL_DRIVERS)).expect("written");
    }
    let link = root.join("msb");
    std::os::unix::fs::symlink("opt/bin/msb", &link).expect("linked");
    let home = Home::new(root.join("home"));
    let search = KernelSearch {
        program: Some(&link),
        ..KernelSearch::default()
    };
    let find = |architecture| Kernel::find_for(architecture, &home, search, VerifyMode::Stamp);
    let kernel = find(Architecture::Aarch64).expect("a kernel");
    assert_eq!(kernel.source, installed);
}

#[test]
fn a_kernel_is_wrapped_again_once_it_or_its_wrapping_has_changed() {
    let root = tempfile::tempdir().expect("a directory");
    let home = Home::new(root.path().join("home"));
    // An arm64 `Image` is wrapped unchanged.
    let image = |rest: u8| testkit::arm64_image(&[testkit::KERNEL_DRIVERS, &[rest; 100]].concat());
    let source = root.path().join("Image");
    let write = |path: &Path, bytes: Vec<u8>| {
        fs::write(path, bytes).expect("written");
        while !FileState::read(path).expect("there").is_at_rest() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    };
    write(&source, image(1));
    let (first, _) = find(&home, &source, VerifyMode::Stamp);
    write(&first, image(1));
    assert_eq!(
        find(&home, &source, VerifyMode::Stamp),
        (first.clone(), true)
    );

    write(&first, image(2));
    find(&home, &source, VerifyMode::Stamp);
    assert_eq!(fs::read(&first).expect("there"), image(1), "it was mended");

    write(&source, image(3));
    let (second, _) = find(&home, &source, VerifyMode::Stamp);
    assert_ne!(first, second);
    assert_eq!(find(&home, &source, VerifyMode::Digest).0, second);
}
