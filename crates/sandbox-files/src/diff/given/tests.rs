use std::fs::File;

use erofs_writer::{ImageWriter, OutputFile};
use fstree::{FileData, Metadata, Name, Tree, TreeBuilder};
use msb_runtime::network::Settings;

use super::*;

const CERTIFICATES: &[u8] = b"certificates";

fn temporary() -> File {
    tempfile::tempfile().expect("made")
}

/// Returns an image with the directory `/etc`.
fn image() -> File {
    let options = erofs_writer::Options::default();
    let output = OutputFile::new(temporary()).expect("readable");
    let writer = ImageWriter::new(output, options).expect("begun");
    let mut builder: TreeBuilder<FileData> = TreeBuilder::new(Metadata::directory(0o755));
    builder
        .directory("etc", Metadata::directory(0o755))
        .expect("new");
    let (output, _) = writer.finish(&builder.finish()).expect("written");
    output.into_inner()
}

/// Returns the root of a sandbox of the image, with these files.
fn view(add: impl FnOnce(&mut TreeBuilder<Vec<u8>>)) -> View<File> {
    let mut builder = TreeBuilder::new(Metadata::directory(0o755));
    builder
        .directory("etc", Metadata::directory(0o755))
        .expect("new");
    add(&mut builder);
    let wanted = builder.finish();
    let image = image();
    let copy = || image.try_clone().expect("cloned");
    let below = View::open_image(copy(), Vec::new()).expect("an image");
    let mut upper = Tree::new(Metadata::directory(0o755));
    let directory = rootfs_view::layer(below.image(), &wanted, Clone::clone, &mut upper);
    let name = Name::new(b"upper").expect("a name");
    upper.link(upper.root(), name, directory);
    let options = ext4_writer::Options {
        size_bytes: 64 << 20,
        ..Default::default()
    };
    let disk = temporary();
    ext4_writer::write(&upper, &options, &disk).expect("written");
    View::open(disk, copy(), Vec::new()).expect("opened")
}

fn file(builder: &mut TreeBuilder<Vec<u8>>, path: &str, mode: u16, content: &[u8]) {
    let metadata = Metadata::with_mode(mode);
    builder
        .file(path, metadata, content.to_vec())
        .expect("a new file");
}

fn link(builder: &mut TreeBuilder<Vec<u8>>, path: &str, target: &str) {
    let metadata = Metadata::with_mode(0o777);
    builder
        .symlink(path, metadata, target)
        .expect("a new symlink");
}

/// Returns the description of a sandbox whose secret has its placeholder in `/srv/keys/key`, and the placeholder.
fn spec() -> (Spec, String) {
    let mut spec = testkit::sandboxes::spec("box");
    let text = "name=KEY,to=api.example.com,file=/srv/keys/key";
    let mut settings = Settings {
        secrets: vec![text.parse().expect("a secret")],
        ..Settings::default()
    };
    settings.secrets[0].draw_placeholder().expect("randomness");
    let placeholder = settings.secrets[0].placeholder.as_ref();
    let placeholder = placeholder.expect("drawn").to_string();
    spec.network = Some(settings);
    (spec, placeholder)
}

/// Returns the paths that are left out, in order.
fn left_out(view: &View<File>, spec: &Spec) -> Vec<String> {
    let bundle = GivenBundle::of(CERTIFICATES);
    let given = given_files(view, spec, Some(&bundle));
    let text = |path: Vec<u8>| String::from_utf8(path).expect("text");
    let mut paths: Vec<_> = given.into_keys().map(text).collect();
    paths.sort_unstable();
    paths
}

#[test]
fn what_msb_wrote_is_left_out_with_its_directories() {
    let (spec, placeholder) = spec();
    let view = view(|files| {
        file(files, "etc/msb/ca.pem", 0o644, CERTIFICATES);
        file(files, "srv/keys/key", 0o600, placeholder.as_bytes());
        file(files, "srv/other", 0o600, placeholder.as_bytes());
    });
    let expected = [
        "/etc/msb",
        "/etc/msb/ca.pem",
        "/srv",
        "/srv/keys",
        "/srv/keys/key",
    ];
    assert_eq!(left_out(&view, &spec), expected);
}

#[test]
fn a_sandbox_that_was_given_no_bundle_has_none() {
    let view = view(|files| file(files, "etc/msb/ca.pem", 0o644, CERTIFICATES));
    let spec = testkit::sandboxes::spec("box");
    assert!(given_files(&view, &spec, None).is_empty());
}

#[test]
fn another_content_or_other_attributes_are_the_guest_s_own() {
    let (spec, placeholder) = spec();
    for (content, mode) in [
        (&b"Certificates"[..], 0o644),
        (b"certificates and more", 0o644),
        (b"", 0o644),
        (CERTIFICATES, 0o4755),
    ] {
        let view = view(|files| {
            file(files, "etc/msb/ca.pem", mode, content);
            file(files, "srv/keys/key", 0o644, placeholder.as_bytes());
        });
        assert_eq!(left_out(&view, &spec), [""; 0], "{mode:o}");
    }
}

#[test]
fn a_hard_link_does_not_hide_its_other_name() {
    let (spec, placeholder) = spec();
    let view = view(|files| {
        file(files, "usr/bin/x", 0o644, CERTIFICATES);
        files
            .hard_link("etc/msb/ca.pem", "usr/bin/x")
            .expect("a new name");
        file(files, "etc/cron.d/x", 0o600, placeholder.as_bytes());
        files
            .hard_link("srv/keys/key", "etc/cron.d/x")
            .expect("a new name");
    });
    let shown = left_out(&view, &spec);
    assert!(shown.iter().all(|path| !path.ends_with("ca.pem")));
    assert!(shown.iter().all(|path| !path.ends_with("key")), "{shown:?}");
    assert!(
        shown
            .iter()
            .all(|path| !path.starts_with("/usr") && !path.starts_with("/etc/cron.d"))
    );
}

#[test]
fn a_symlink_hides_nothing() {
    let (spec, placeholder) = spec();
    let of_file = view(|files| {
        file(files, "etc/cron.d/x", 0o644, CERTIFICATES);
        link(files, "etc/msb/ca.pem", "/etc/cron.d/x");
        link(files, "srv/keys/key", "../x");
        file(files, "srv/x", 0o600, placeholder.as_bytes());
    });
    assert_eq!(left_out(&of_file, &spec), [""; 0]);
    let of_directory = view(|files| {
        file(files, "work/new/ca.pem", 0o644, CERTIFICATES);
        link(files, "etc/msb", "/work/new");
        file(files, "work/new/key", 0o600, placeholder.as_bytes());
        link(files, "srv/keys", "/work/new");
    });
    assert_eq!(left_out(&of_directory, &spec), [""; 0]);
}
