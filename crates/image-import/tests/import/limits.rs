//! Limits on the cost of an image, from the options of a pull or a load to the last record.

use std::sync::{Arc, Mutex};

use diagnosis::Diagnose as _;
use image_import::{LoadOptions, LoadSource, PullOptions, load};
use image_store::{Event, Progress};
use oci_layers::Limits;
use oci_registry::CredentialSource;

use crate::images::{Packing, TestImage, TestLayer, pack, tar_of};
use crate::server::{Content, Server};
use crate::support::{TestStore, line};

fn limits(setting: &str) -> Limits {
    Limits::parse(setting).expect("the setting is valid")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_is_refused_beyond_each_limit_and_says_how_to_raise_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("image.tar");
    let zipped = pack(&tar_of(&TestImage::sample().layout(None)), Packing::Gzip);
    fs_err::write(&path, zipped).expect("written");
    for setting in [
        "image-layers=2",
        "image-bytes=800000B",
        "image-entries=4",
        "image-document=100B",
        "archive-files=2",
        "layer-bytes=512KiB",
        "layer-ratio=1,layer-ratio-from=100B",
        "layer-entries=1",
        "layer-metadata=512B",
        "entry-path=4B",
    ] {
        let options = LoadOptions {
            limits: limits(setting),
            ..LoadOptions::default()
        };
        let store = TestStore::new();
        let error = store.load_with(&path, options).await.expect_err(setting);
        let (named, text) = (setting.split(',').next().expect("one"), line(&error));
        assert!(text.contains(named), "{setting}: {text}");
        let hint = error.diagnosis().advice().unwrap_or_default();
        assert!(hint.contains("--limit "), "{setting}: {hint}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_is_refused_beyond_a_limit() {
    let server = Server::honest(Content::from_image(&TestImage::sample())).await;
    for setting in ["image-document=100B", "image-layers=2", "layer-entries=1"] {
        let options = PullOptions {
            credentials: CredentialSource::None,
            limits: limits(setting),
            ..PullOptions::default()
        };
        let store = TestStore::new();
        let error = store.pull_with(&server.reference("app"), options).await;
        let error = error.expect_err(setting);
        assert!(line(&error).contains(setting), "{}", line(&error));
        assert!(
            error
                .diagnosis()
                .advice()
                .is_some_and(|hint| hint.contains("--limit"))
        );
    }
}

/// Collects the notes on the losses of layers.
#[derive(Debug, Default)]
struct Notes(Mutex<Vec<String>>);

impl Progress for Notes {
    fn event(&self, event: &Event<'_>) {
        if let Event::LayerNotes { notes, total, .. } = event {
            let mut said = self.0.lock().expect("nobody panicked");
            said.extend(notes.iter().map(ToString::to_string));
            said.push(format!("{total} in all"));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_layer_loses_is_told() {
    let mut builder = tar::Builder::new(Vec::new());
    let records = [("SCHILY.xattr.trusted.overlay.opaque", &b"y"[..])];
    builder.append_pax_extensions(records).expect("appended");
    let mut header = tar::Header::new_ustar();
    header.set_size(0);
    builder
        .append_data(&mut header, "directory", &b""[..])
        .expect("appended");
    let tar = builder.into_inner().expect("finished");
    let layer = TestLayer {
        blob: tar.clone(),
        tar,
        packing: Packing::Plain,
    };
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("image.tar");
    let image = TestImage::new(vec![layer]);
    fs_err::write(&path, tar_of(&image.layout(None))).expect("written");
    let (store, notes) = (TestStore::new(), Arc::new(Notes::default()));
    let source = LoadSource::Path(path);
    let loaded = load(
        &store.store,
        &source,
        &LoadOptions::default(),
        notes.clone(),
    )
    .await;
    assert_eq!(loaded.expect("it is valid").images.len(), 1);
    let said = notes.0.lock().expect("nobody panicked").clone();
    assert_eq!(
        said,
        [
            "'directory': the xattr 'trusted.overlay.opaque' is dropped, it is the host's to set",
            "1 in all",
        ]
    );
}
