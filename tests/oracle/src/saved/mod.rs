//! `msb save` gives each layer back as the very tar that was read.
//!
//! The layers are the hostile ones of the comparison with other engines, other projects' archives,
//! and what other programs write of random files. Each that msb takes is loaded as an image, and all
//! images are saved.

mod archivers;

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::PoisonError;

use anyhow::{Context as _, Result, ensure};
use fs_err as fs;
use test_fixtures::tools;
use test_support::harness::{self, Trial};
use test_support::oci_layout::{self, Blob};
use test_support::{Msb, TestEnv, describe, succeed};

use crate::engines::{self, Program, Scratch};

/// Number of layers that must come back.
const LAYERS_MIN: usize = 300;
/// Number of loads at once: they wait for one another's syncs.
const LOADS: usize = 4;
/// The largest layer that is tried, in bytes.
const LAYER_MAX_BYTES: usize = 32 << 20;

/// A layer's tar, and the name of the case that it comes from.
struct Layer {
    case: String,
    tar: Vec<u8>,
}

/// Returns the test of saved layers.
pub(crate) fn tests() -> Vec<Trial> {
    let name = "saved::layers_come_back_bit_for_bit";
    vec![harness::test(name, || {
        tools::install()?;
        run()
    })]
}

fn run() -> Result<String> {
    let env = TestEnv::new("saved")?;
    let scratch = Scratch::mount("saved")?;
    let layers = layers(&scratch.path)?;
    let msb = env.msb_in(scratch.path.join("home"));
    let taken = load(&msb, &scratch.path, &layers)?;
    let saved = scratch.path.join("saved");
    let mut save = msb.command(&["save", "-q", "--format", "oci-dir", "--compression", "none"]);
    save.arg("-o")
        .arg(&saved)
        .args(taken.iter().map(|number| name(*number)));
    succeed(&mut save)?;
    for layer in taken.iter().map(|number| &layers[*number]) {
        let digest = oci_layout::digest(&layer.tar);
        let blob = saved.join("blobs").join(digest.replace(':', "/"));
        let bytes = fs::read(blob).with_context(|| layer.case.clone())?;
        ensure!(bytes == layer.tar, "{} is another tar", layer.case);
    }
    ensure!(
        taken.len() >= LAYERS_MIN,
        "only {} of {} layers were taken",
        taken.len(),
        layers.len()
    );
    env.remove_work()?;
    Ok(verdict(&layers, &taken))
}

/// Returns the figures: the layers that came back, by the part of the case's name before the first
/// slash.
fn verdict(layers: &[Layer], taken: &[usize]) -> String {
    let mut sources: BTreeMap<&str, usize> = BTreeMap::new();
    for number in taken {
        let (source, _) = layers[*number].case.split_once('/').unwrap_or_default();
        *sources.entry(source).or_default() += 1;
    }
    let sources: Vec<String> = sources
        .iter()
        .map(|(source, count)| format!("{source} {count}"))
        .collect();
    format!(
        "{} layers came back bit for bit, {} were refused: {}",
        taken.len(),
        layers.len() - taken.len(),
        sources.join(", ")
    )
}

/// Returns all layers, each once.
fn layers(work: &Path) -> Result<Vec<Layer>> {
    let mut found = Vec::new();
    for case in engines::cases()? {
        let blobs = case.layers.into_iter();
        found.extend(blobs.filter_map(unpacked).map(|tar| Layer {
            case: case.name.clone(),
            tar,
        }));
    }
    let archives = archivers::archives(&Program::build("packed", &[])?, &work.join("files"))?;
    found.extend(archives.into_iter().map(|(case, tar)| Layer { case, tar }));
    let mut digests = std::collections::HashSet::new();
    found.retain(|layer| {
        layer.tar.len() <= LAYER_MAX_BYTES && digests.insert(oci_layout::digest(&layer.tar))
    });
    Ok(found)
}

/// Returns the tar in a blob; `None` if it cannot be decompressed.
fn unpacked(blob: Vec<u8>) -> Option<Vec<u8>> {
    if !blob.starts_with(&[0x1f, 0x8b]) {
        return Some(blob);
    }
    let limit = u64::try_from(LAYER_MAX_BYTES + 1).ok()?;
    let mut tar = Vec::new();
    let mut members = flate2::read::MultiGzDecoder::new(&blob[..]).take(limit);
    members.read_to_end(&mut tar).ok()?;
    Some(tar)
}

/// Loads each layer as an image. Returns the numbers of those that msb takes.
fn load(msb: &Msb, work: &Path, layers: &[Layer]) -> Result<Vec<usize>> {
    let next = Mutex::new(0..layers.len());
    let take = || next.lock().unwrap_or_else(PoisonError::into_inner).next();
    let worker = |worker: usize| -> Result<Vec<usize>> {
        let layout = work.join(format!("layout-{worker}"));
        let mut taken = Vec::new();
        while let Some(number) = take() {
            let layer = &layers[number];
            oci_layout::write(&layout, &[Blob::plain(layer.tar.clone())]);
            let mut load: Command = msb.command(&["load", "-q", "-t", &name(number)]);
            let output = load.arg(&layout).output()?;
            fs::remove_dir_all(&layout)?;
            match output.status.code() {
                Some(0) => taken.push(number),
                // A refusal, which says why.
                Some(125) => {}
                _ => anyhow::bail!("{}: {}", layer.case, describe(&output)),
            }
        }
        Ok(taken)
    };
    let mut taken = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..LOADS)
            .map(|number| scope.spawn(move || worker(number)))
            .collect();
        let mut taken = Vec::new();
        for worker in workers {
            taken.extend(worker.join().expect("a worker does not panic")?);
        }
        Ok::<_, anyhow::Error>(taken)
    })?;
    taken.sort_unstable();
    Ok(taken)
}

fn name(number: usize) -> String {
    format!("layer-{number}:latest")
}
