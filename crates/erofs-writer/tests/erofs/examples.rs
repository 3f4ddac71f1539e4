//! The examples, run one after the other on one directory.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

#[path = "../../examples/cat.rs"]
#[expect(dead_code, reason = "main is the example's own")]
mod cat;
#[path = "../../examples/dump.rs"]
#[expect(dead_code, reason = "main is the example's own")]
mod dump;
#[path = "../../examples/ls.rs"]
#[expect(dead_code, reason = "main is the example's own")]
mod ls;
#[path = "../../examples/mkfs.rs"]
#[expect(dead_code, reason = "main is the example's own")]
mod mkfs;

fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

/// Makes a directory, and an image of it with the example. Returns the image's path.
fn image(work: &Path) -> String {
    let source = work.join("source");
    fs::create_dir_all(source.join("etc/empty")).expect("it works");
    fs::write(source.join("etc/motd"), "hello\n".repeat(2000)).expect("it works");
    fs::write(source.join("none"), "").expect("it works");
    let mode = fs::Permissions::from_mode(0o4755);
    fs::set_permissions(source.join("none"), mode).expect("it works");
    symlink("etc/motd", source.join("link")).expect("it works");
    let image = work
        .join("image")
        .to_str()
        .expect("a path in UTF-8")
        .to_owned();
    let mut out = Vec::new();
    let arguments = words(&[&image, source.to_str().expect("a path in UTF-8")]);
    mkfs::run(&arguments, &mut out).expect("it works");
    assert!(String::from_utf8(out).expect("it works").contains("blocks"));
    image
}

#[test]
fn an_image_of_a_directory_is_listed_read_and_sound() {
    let work = tempfile::tempdir().expect("it works");
    let image = image(work.path());
    let mut out = Vec::new();
    ls::run(&words(&[&image]), &mut out).expect("it works");
    let listed = String::from_utf8(out).expect("it works");
    let lines: Vec<_> = listed
        .lines()
        .filter(|line| !line.ends_with("lost+found"))
        .collect();
    assert_eq!(lines.len(), 3, "{listed}");
    assert!(lines[0].starts_with("d0755 ") && lines[0].ends_with(" etc"));
    assert!(lines[1].starts_with('l') && lines[1].ends_with(" link"));
    assert!(lines[2].starts_with("-4755 ") && lines[2].ends_with(" none"));

    let mut out = Vec::new();
    cat::run(&words(&[&image, "link"]), &mut out).expect("it works");
    assert_eq!(out, "hello\n".repeat(2000).as_bytes());
    let error = cat::run(&words(&[&image, "etc"]), &mut Vec::new());
    assert_eq!(
        error.unwrap_err().to_string(),
        "'etc' is not a regular file"
    );

    let mut out = Vec::new();
    dump::run(&words(&[&image]), &mut out).expect("it works");
    assert!(
        String::from_utf8(out)
            .expect("it works")
            .ends_with("the image is sound\n")
    );
}

#[test]
fn oracle_fsck_erofs_accepts_the_image_of_the_example() {
    let work = tempfile::tempdir().expect("it works");
    let checked = Command::new("fsck.erofs")
        .args([""; 0])
        .arg(image(work.path()))
        .output()
        .expect("fsck.erofs runs");
    assert!(checked.status.success(), "{checked:?}");
}
