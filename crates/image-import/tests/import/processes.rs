//! Several processes use one store, and some are killed. The children run this test's own binary.

use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use image_import::{LoadSource, load};
use image_store::Store;

use crate::images::{Packing, TestImage, TestLayer, pack, tar_of, write_directory};
use crate::support::{TestStore, line};

const HOME: &str = "STORE_TEST_HOME";
const SOURCE: &str = "STORE_TEST_SOURCE";

/// Runs a child. Does nothing if it is run with the other tests.
#[tokio::test(flavor = "multi_thread")]
async fn child_that_loads() {
    let (Some(home), Some(source)) = (std::env::var_os(HOME), std::env::var_os(SOURCE)) else {
        return;
    };
    let store = Store::open(Path::new(&home)).expect("a store");
    let source = match source.to_str() {
        Some("-") => LoadSource::Stdin,
        _ => LoadSource::Path(source.into()),
    };
    let loaded = load(&store, &source, &Default::default(), Arc::new(())).await;
    loaded.unwrap_or_else(|error| panic!("{}", line(&error)));
}

fn spawn(home: &Path, source: &Path) -> Child {
    spawn_with(home, source, Stdio::null())
}

fn spawn_with(home: &Path, source: &Path, stdin: Stdio) -> Child {
    Command::new(std::env::current_exe().expect("a path"))
        .args(["--exact", "processes::child_that_loads", "--nocapture"])
        .env(HOME, home)
        .env(SOURCE, source)
        .stdin(stdin)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("a child")
}

fn image() -> TestImage {
    let content: Vec<u8> = (0..1_000_000_u32).flat_map(u32::to_le_bytes).collect();
    let layer = |name: &str, packing| TestLayer::new(&[(name, &content)], packing);
    TestImage::new(vec![
        layer("a", Packing::Gzip),
        layer("b", Packing::Zstd),
        layer("c", Packing::Plain),
        layer("d", Packing::Gzip),
    ])
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_at_once_make_one_good_image() {
    let source = tempfile::tempdir().expect("a directory");
    write_directory(&image().layout(Some("a:1")), source.path());
    let (store, alone) = (TestStore::new(), TestStore::new());
    alone.load(source.path()).await.expect("loaded");
    let mut children: Vec<Child> = (0..4)
        .map(|_| spawn(store.home.path(), source.path()))
        .collect();
    for child in &mut children {
        assert!(child.wait().expect("ended").success());
    }
    store.assert_tidy();
    assert!(store.files() == alone.files(), "the same bytes");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_load_is_made_good_by_the_next_one() {
    let source = tempfile::tempdir().expect("a directory");
    write_directory(&image().layout(Some("a:1")), source.path());
    let alone = TestStore::new();
    alone.load(source.path()).await.expect("loaded");
    for round in 0..12 {
        let store = TestStore::new();
        let mut child = spawn(store.home.path(), source.path());
        std::thread::sleep(Duration::from_millis(5 + round * 23));
        child.kill().expect("killed");
        child.wait().expect("ended");
        let next = Store::open(store.home.path()).expect("opened");
        let path = LoadSource::Path(source.path().to_owned());
        let loaded = load(&next, &path, &Default::default(), Arc::new(())).await;
        let loaded = loaded.unwrap_or_else(|error| panic!("{}", line(&error)));
        next.check(&loaded.images[0]).expect("good");
        store.assert_tidy();
        assert!(store.files() == alone.files(), "round {round}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archive_on_standard_input_is_loaded() {
    let files = image().docker(&["a:1"]);
    for archive in [tar_of(&files), pack(&tar_of(&files), Packing::Gzip)] {
        let store = TestStore::new();
        let mut child = spawn_with(store.home.path(), Path::new("-"), Stdio::piped());
        let mut stdin = child.stdin.take().expect("a pipe");
        stdin.write_all(&archive).expect("written");
        drop(stdin);
        assert!(child.wait().expect("ended").success());
        store
            .store
            .check(&store.store.find("a:1").expect("found"))
            .expect("good");
        store.assert_tidy();
    }
}
