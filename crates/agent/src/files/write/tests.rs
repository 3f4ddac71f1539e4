use std::os::unix::fs::symlink;

use super::*;

fn written(path: &Path, mode: Option<u32>, chunks: &[Option<&'static str>]) -> Option<()> {
    let (sender, receiver) = mpsc::channel(8);
    for chunk in chunks {
        let chunk = chunk.map(|text| Bytes::from_static(text.as_bytes()));
        sender.try_send(chunk).expect("there is room");
    }
    drop(sender);
    let start = WriteFile {
        path: Bytes::copy_from_slice(path.as_os_str().as_bytes()),
        mode,
        parents: false,
    };
    write_chunks(&start, receiver).ok().map(drop)
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("there").mode() & 0o7777
}

#[test]
fn a_file_is_replaced_as_a_whole_or_not_at_all() {
    let directory = tempfile::tempdir().expect("made");
    let file = directory.path().join("file");
    assert_eq!(
        written(&file, None, &[Some("o"), Some("ld"), None]),
        Some(())
    );
    assert_eq!(mode(&file), 0o644);
    fs::set_permissions(&file, Permissions::from_mode(0o4750)).expect("set");
    assert_eq!(written(&file, None, &[Some("cut")]), None);
    assert_eq!(fs::read(&file).expect("read"), b"old");
    assert_eq!(written(&file, None, &[Some("new"), None]), Some(()));
    assert_eq!(
        (fs::read(&file).expect("read"), mode(&file)),
        (b"new".to_vec(), 0o4750)
    );
    assert_eq!(written(&file, Some(0o600), &[None]), Some(()));
    assert_eq!(
        (fs::read(&file).expect("read"), mode(&file)),
        (Vec::new(), 0o600)
    );
    assert_eq!(fs::read_dir(directory.path()).expect("read").count(), 1);
}

#[test]
fn readers_see_the_old_content_until_the_new_one_is_complete() {
    let directory = tempfile::tempdir().expect("made");
    let file = directory.path().join("file");
    fs::write(&file, "old").expect("written");
    let mut open = File::open(&file).expect("opened");
    let (sender, receiver) = mpsc::channel(1);
    let start = WriteFile {
        path: Bytes::copy_from_slice(file.as_os_str().as_bytes()),
        mode: None,
        parents: false,
    };
    let writing = std::thread::spawn(move || write_chunks(&start, receiver));
    for _ in 0..100 {
        let chunk = Bytes::from_static(b"new");
        sender.blocking_send(Some(chunk)).expect("it is written");
        assert_eq!(fs::read(&file).expect("read"), b"old");
    }
    sender.blocking_send(None).expect("it is written");
    writing.join().expect("no panic").expect("written");
    assert_eq!(fs::read(&file).expect("read"), b"new".repeat(100));
    // Who has the old file open keeps its content.
    let mut old = String::new();
    io::Read::read_to_string(&mut open, &mut old).expect("read");
    assert_eq!(old, "old");
}

#[test]
fn missing_parents_are_made_if_that_is_asked_for() {
    let directory = tempfile::tempdir().expect("made");
    let file = directory.path().join("a/b/file");
    assert_eq!(written(&file, None, &[None]), None);
    let (sender, receiver) = mpsc::channel(1);
    sender.try_send(None).expect("there is room");
    let start = WriteFile {
        path: Bytes::copy_from_slice(file.as_os_str().as_bytes()),
        mode: Some(0o600),
        parents: true,
    };
    write_chunks(&start, receiver).expect("written");
    assert_eq!(
        (mode(&file), mode(&directory.path().join("a"))),
        (0o600, 0o755)
    );
}

#[test]
fn links_are_followed_and_only_files_are_replaced() {
    let directory = tempfile::tempdir().expect("made");
    let path = |name: &str| directory.path().join(name);
    symlink("inner/target", path("link")).expect("linked");
    symlink("loop", path("loop")).expect("linked");
    assert_eq!(written(&path("link"), None, &[None]), None, "no parent");
    fs::create_dir(path("inner")).expect("made");
    assert_eq!(written(&path("link"), None, &[Some("x"), None]), Some(()));
    assert_eq!(fs::read(path("inner/target")).expect("read"), b"x");
    assert!(path("link").is_symlink());
    for name in ["loop", "inner", "inner/target/x"] {
        assert_eq!(written(&path(name), None, &[None]), None, "{name}");
    }
}
