//! Memory that layers take that are large, deep or hostile.
//!
//! Each is converted and merged in its own process, whose peak memory the kernel reports.
//! `MSB_LAYER_ENTRIES` makes the large ones larger.

use std::convert::Infallible;
use std::io::Read;
use std::process::Command;

use erofs_writer::{DeviceSlot, Image, ImageWriter, Options, OutputFile};
use oci_layers::{Limits, merge, read_layer};
use testkit::{TarBuilder, TarEntry};

use crate::fixture::message;

/// Memory that a process may take besides the layer's own headers, in bytes.
const CEILING_BYTES: u64 = 150 << 20;
/// The variable that names the case for the child that runs it.
const CASE: &str = "MSB_MEMORY_CASE";

/// A layer that is made while it is read.
struct GeneratedLayer {
    entries: Box<dyn Iterator<Item = Vec<u8>>>,
    current: Vec<u8>,
    taken: usize,
    made_bytes: u64,
}

impl GeneratedLayer {
    fn new(entries: impl Iterator<Item = Vec<u8>> + 'static) -> Self {
        Self {
            entries: Box::new(entries),
            current: Vec::new(),
            taken: 0,
            made_bytes: 0,
        }
    }
}

impl Read for GeneratedLayer {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        while self.taken == self.current.len() {
            let Some(next) = self.entries.next() else {
                return Ok(0);
            };
            self.made_bytes += u64::try_from(next.len()).expect("fits");
            (self.current, self.taken) = (next, 0);
        }
        let count = (&self.current[self.taken..]).read(buffer)?;
        self.taken += count;
        Ok(count)
    }
}

fn bytes(entry: &TarEntry) -> Vec<u8> {
    let mut builder = TarBuilder::default();
    builder.entry(entry);
    builder.unfinished()
}

fn files(paths: impl Iterator<Item = String> + 'static) -> GeneratedLayer {
    GeneratedLayer::new(paths.map(|path| bytes(&TarEntry::file(path, "").mtime(1, 0))))
}

fn entries() -> u32 {
    let count = std::env::var("MSB_LAYER_ENTRIES").ok();
    count.map_or(20_000, |count| count.parse().expect("it is a number"))
}

/// Returns the smaller of `most` and the number of entries of large layers.
fn up_to(most: u32) -> u32 {
    entries().min(most)
}

/// Returns the layer of a case.
fn layer(case: &str) -> GeneratedLayer {
    match case {
        "entries" => files((0..entries()).map(|n| format!("directory-{}/file-{n}", n / 1000))),
        "directory" => files((0..up_to(100_000)).map(|n| format!("directory/file-{n:08}"))),
        "depth" => {
            let path = |depth| "d/".repeat(depth);
            files((1..=1000).flat_map(move |n| (0..4).map(move |m| format!("{}{m}", path(n)))))
        }
        "deepest" => files(std::iter::once(format!("{}f", "d/".repeat(4095)))),
        "deeper" => files(std::iter::once(format!("{}f", "d/".repeat(4097)))),
        "links" => {
            let first = std::iter::once(TarEntry::file("file", "content"));
            let links = (0..up_to(65_000)).map(|n| TarEntry::hardlink(format!("link-{n}"), "file"));
            GeneratedLayer::new(first.chain(links).map(|entry| bytes(&entry)))
        }
        "later-links" => {
            let links = (0..up_to(65_000)).map(|n| TarEntry::hardlink(format!("link-{n}"), "file"));
            let last = std::iter::once(TarEntry::file("file", "content"));
            GeneratedLayer::new(links.chain(last).map(|entry| bytes(&entry)))
        }
        // Each link's target is a long path, through a short symlink.
        "far-links" | "too-far-links" => {
            let count = if case == "far-links" { 2_000 } else { 20_000 };
            let way = TarEntry::symlink("s", vec!["d".repeat(200); 20].join("/"));
            let links = (0..count).map(|n| TarEntry::hardlink(format!("link-{n}"), "s/s/file"));
            let first = [way.clone(), {
                let mut inner = way;
                inner.path = b"s/s".to_vec();
                inner
            }];
            GeneratedLayer::new(first.into_iter().chain(links).map(|entry| bytes(&entry)))
        }
        "sparse" => GeneratedLayer::new((0..2).map(|n| {
            let pairs: Vec<_> = (0..10_000).map(|n| format!("{},1", n * 8192)).collect();
            let entry = TarEntry::file(format!("sparse-{n}"), vec![b'x'; 10_000])
                .record("GNU.sparse.map", pairs.join(","))
                .record("GNU.sparse.size", "1000000000");
            bytes(&entry)
        })),
        "sparse-bomb" => GeneratedLayer::new((0..).map(|n| {
            let entry = TarEntry::file(format!("sparse-{n}"), "x")
                .record("GNU.sparse.map", "4096,1")
                .record("GNU.sparse.size", "68000000000");
            bytes(&entry)
        })),
        "xattrs" => GeneratedLayer::new((0..up_to(200_000)).map(|n| {
            let entry = TarEntry::file(format!("file-{n}"), "");
            let named = (0..20).fold(entry, |entry, m| {
                entry.xattr(&format!("user.{m}"), n.to_string())
            });
            bytes(&named)
        })),
        "records" => GeneratedLayer::new((0..10).map(|n| {
            let entry = TarEntry::file(format!("file-{n}"), "");
            let records = (0..70_000).fold(entry, |entry, m| entry.record(format!("{m:x}"), "1"));
            bytes(&records)
        })),
        "long-names" => GeneratedLayer::new(
            (0..)
                .map(|_| {
                    let mut long = TarEntry::new(b'L', "long");
                    long.content = vec![b'x'; 1 << 20];
                    bytes(&long)
                })
                .take(30),
        ),
        "claimed-record" => GeneratedLayer::new(std::iter::once(
            TarEntry::new(b'x', "pax").header(1 << 30).to_vec(),
        )),
        other => panic!("there is no case '{other}'"),
    }
}

/// Reads, stores, reads back and merges a layer, as a pull does. Returns the number of names.
fn convert(layer: &mut GeneratedLayer) -> Result<usize, String> {
    let options = Options::default();
    let file = || {
        let file = tempfile::tempfile().expect("there is room");
        OutputFile::new(file).expect("it can be read")
    };
    let limits = Limits::default();
    let mut writer = ImageWriter::new(file(), options).expect("the disk works");
    let read = read_layer(&mut *layer, &limits, &mut writer);
    let tree = read.map_err(|error| message(&error))?.tree;
    let (image, summary) = writer.finish(&tree).map_err(|error| message(&error))?;
    drop(tree);
    let tree = Image::open(image.into_inner())
        .expect("an image")
        .read_tree();
    let trees = [Ok::<_, Infallible>(tree.expect("it is readable"))];
    let merged = merge(trees, &limits).map_err(|error| message(&error))?;
    let options = Options {
        devices: vec![DeviceSlot {
            tag: String::new(),
            blocks: summary.blocks,
        }],
        ..Options::default()
    };
    let writer = ImageWriter::new(file(), options).expect("the disk works");
    let written = writer.finish(&merged.tree);
    written.map_err(|error| message(&error))?;
    Ok(merged.tree.names())
}

#[test]
#[expect(clippy::print_stdout, reason = "its parent reads it")]
#[ignore = "the other tests of this module run it, in processes of their own"]
fn child() {
    let case = std::env::var(CASE).expect("the case is named");
    let mut layer = layer(&case);
    let outcome = convert(&mut layer);
    let (peak, made) = (testkit::own_peak_bytes(), layer.made_bytes);
    println!(
        "{case}: {} MiB peak, {} MiB of archive: {outcome:?}",
        peak >> 20,
        made >> 20
    );
    assert!(
        peak <= CEILING_BYTES + made,
        "the peak is {} MiB",
        peak >> 20
    );
}

/// Runs a case and returns the line that it prints.
#[expect(clippy::print_stdout, reason = "a recorded run shows it")]
fn run(case: &str) -> String {
    let output = Command::new(std::env::current_exe().expect("there is one"))
        .args(["--exact", "memory::child", "--ignored", "--nocapture"])
        .env(CASE, case)
        .output()
        .expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{errors}");
    let line = text.lines().find(|line| line.contains(" MiB peak"));
    let line = line.unwrap_or_else(|| panic!("{text}{errors}"));
    println!("{line}");
    line.to_owned()
}

fn assert_names(case: &str, names: usize) {
    let line = run(case);
    assert!(line.ends_with(&format!("Ok({names})")), "{line}");
}

fn assert_refused(case: &str, limit: &str) {
    let line = run(case);
    assert!(line.contains("Err(") && line.contains(limit), "{line}");
}

#[test]
fn large_layers_cost_what_they_hold() {
    let count = |most| usize::try_from(up_to(most)).expect("fits");
    let all = count(u32::MAX);
    assert_names("entries", all + all.div_ceil(1000));
    assert_names("directory", count(100_000) + 1);
    assert_names("xattrs", count(200_000));
}

#[test]
fn deep_layers_cost_what_they_hold() {
    assert_names("depth", 5000);
    assert_names("deepest", 4096);
    assert_refused("deeper", "entry-depth=4096");
}

#[test]
fn links_cost_what_they_hold() {
    let count = usize::try_from(up_to(65_000)).expect("fits") + 1;
    assert_names("links", count);
    assert_names("later-links", count);
    assert_refused("far-links", "which does not exist");
    assert_refused("too-far-links", "layer-targets=16MiB");
}

#[test]
fn maps_and_records_cost_what_they_hold() {
    assert_names("sparse", 2);
    assert_refused("sparse-bomb", "layer-metadata=2GiB");
    assert_names("records", 10);
    assert_names("long-names", 0);
    assert_refused("claimed-record", "entry-record=1MiB");
}
