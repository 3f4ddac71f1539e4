//! Thousands of random sequences of layers. They use few names, so that the same names meet often.

use std::convert::Infallible;
use std::io::Cursor;

use anyhow::{Context as _, Result};
use erofs_writer::{BLOCK_SIZE_BYTES, FileData, ImageWriter, Options};
use oci_layers::{Limits, merge, read_layer};
use testkit::strategies::{Action, Step, layers_of_seed, reference};
use testkit::{Content, TarBuilder, TreeDump};

use super::corpus::Case;
use super::judgement::{Judgement, Tally};
use super::loader::Ours;
use super::program::{Program, Verdicts};
use super::tree::Tree;

/// Known refusals of engines that msb does not share: a part of the error, and the reason.
const QUIRKS: &[(&str, &str, &str)] = &[
    (
        "containerd-overlay",
        "failed to convert whiteout file",
        "a whiteout of a name that its own layer has says nothing about that name",
    ),
    (
        "containerd-overlay",
        "not a directory",
        "a directory replaces a file of its own layer where entries below it say so",
    ),
    (
        "umoci",
        "restore xattr metadata",
        "an xattr that its type of file cannot have is dropped with a note",
    ),
    (
        "containerd-overlay",
        "failed call to UtimesNanoAt",
        "a directory that its own layer replaces has no time to be set",
    ),
    (
        "containerd-overlay",
        "too many links",
        "a lower layer's symlink on an entry's way is replaced, not followed",
    ),
    (
        "umoci",
        "too many levels of symbolic links",
        "a lower layer's symlink on an entry's way is replaced, not followed",
    ),
    (
        "containerd-overlay",
        "too many levels of symbolic links",
        "a directory that its own layer replaces has no time to be set",
    ),
    (
        "umoci",
        "link: not a directory",
        "a hard link that a later entry of its layer replaces is not looked for",
    ),
    (
        "umoci",
        "link: operation not permitted",
        "a hard link that a later entry of its layer replaces is not looked for",
    ),
    (
        "containerd-overlay",
        "link /",
        "a hard link to a later entry is resolved at the layer's end",
    ),
    (
        "umoci",
        "link: no such file or directory",
        "a hard link to a later entry is resolved at the layer's end",
    ),
];

/// The engines to run. Two differ most in their work, a directory a layer under overlayfs and in
/// place; the third is a witness.
const ENGINES: &[&str] = &[OVERLAY, "umoci", WITNESS];
/// This engine refuses a layer that has a whiteout and a directory of one name.
const OVERLAY: &str = "containerd-overlay";
/// This engine works in place. It takes the place of the first one if that refuses and it does not.
const WITNESS: &str = "containerd-naive";
/// Number of sequences that are judged at once.
const BATCH: u64 = 1000;

/// Judges `count` sequences, beginning with number `first`.
pub(super) fn run(first: u64, count: u64) -> Result<String> {
    let program = Program::build("random", ENGINES)?;
    let mut tally = Tally::default();
    let end = first + count;
    for start in (first..end).step_by(usize::try_from(BATCH)?) {
        let cases: Vec<Case> = (start..end.min(start + BATCH)).map(case).collect();
        let mut verdicts = program.judge(&cases)?;
        verdicts.iter_mut().for_each(hear_witness);
        for ((number, case), verdicts) in (start..).zip(&cases).zip(&verdicts) {
            let ours = Ours {
                tree: tree(&case.layers)?,
                seconds: 0.0,
                rss_mib: 0,
            };
            let mut judgement = Judgement::new(&case.name, verdicts, &ours);
            if judgement.is_failure()
                && let Some(reason) = explanation(verdicts)
                    .or_else(|| implied_below_opaque(number))
                    .or_else(|| below_lower_symlink(number))
                && ours.tree == written(number)?
            {
                judgement.explain(reason);
            }
            if judgement.is_failure() {
                println!("{judgement}");
                for (index, steps) in layers(number).iter().enumerate() {
                    println!("    layer {index}: {}", said(steps));
                }
            }
            tally.add(&judgement, &ours);
        }
    }
    tally.verdict()
}

/// Returns the layers of a number. Every other sequence omits the entries that msb's semantics
/// refuse, because most have one.
fn layers(number: u64) -> Vec<Vec<Step>> {
    let all = layers_of_seed(number);
    if number.is_multiple_of(2) {
        return all;
    }
    let mut sound: Vec<Vec<Step>> = Vec::new();
    for steps in all {
        sound.push(Vec::new());
        for step in steps {
            let place = sound.len() - 1;
            sound[place].push(step);
            if reference(&sound).is_none() {
                sound[place].pop();
            }
        }
    }
    sound
}

/// Returns the entries of a layer, in its order, as text.
fn said(steps: &[Step]) -> String {
    let said = |step: &Step| format!("{} {:?}", step.path.join("/"), step.action);
    steps.iter().map(said).collect::<Vec<_>>().join(", ")
}

fn case(number: u64) -> Case {
    let layers = layers(number);
    let tars = layers
        .iter()
        .map(|steps| TarBuilder::archive(steps.iter().map(|step| step.entry())));
    Case::new(format!("sequence/{number}"), tars.collect())
}

/// Applies the written semantics to a sequence, with the reference interpreter.
fn written(number: u64) -> Result<Result<Tree, String>> {
    let Some(tree) = reference(&layers(number)) else {
        return Ok(Err(String::new()));
    };
    let dump = TreeDump::from_tree(&tree, |bytes| Content::read(bytes.as_slice()))?;
    Ok(Ok(Tree::parse(&dump.to_string())))
}

/// Removes the witness's result unless it is needed. The result for hard links depends, in place,
/// on the order of entries, so the witness is not used for them.
fn hear_witness(verdicts: &mut Verdicts) {
    let refuses = |(engine, tree): &(String, Result<Tree, String>)| {
        engine == OVERLAY && tree.as_ref().is_err_and(|error| !error.contains("link /"))
    };
    let is_asked = verdicts.engines.iter().any(refuses);
    verdicts
        .engines
        .retain(|(engine, tree)| engine != WITNESS || (is_asked && tree.is_ok()));
}

/// Returns the reason for which msb may differ from all engines; `None` if there is none. The
/// engines make different trees, or the refusals have known reasons.
fn explanation(verdicts: &Verdicts) -> Option<&'static str> {
    let mut found = Some("the engines differ, and msb does as docs/layer-semantics.md says");
    for (engine, tree) in &verdicts.engines {
        if let Err(error) = tree {
            let quirk = QUIRKS
                .iter()
                .find(|(name, words, _)| engine == name && error.contains(words));
            found = Some(quirk?.2);
        }
    }
    let trees: Vec<_> = verdicts
        .engines
        .iter()
        .filter_map(|(_, tree)| tree.as_ref().ok())
        .collect();
    let has_witness = verdicts.engines.iter().any(|(engine, _)| engine == WITNESS);
    let agree = trees.len() + usize::from(has_witness) == verdicts.engines.len()
        && trees.windows(2).all(|pair| pair[0].agrees(pair[1]));
    found.filter(|_| !agree)
}

/// Returns a reason if an opaque marker lies above a directory without an entry in its layer. In
/// every engine the order of the two in the archive decides which part of the lower directory
/// remains.
fn implied_below_opaque(number: u64) -> Option<&'static str> {
    let is_odd = |steps: &Vec<Step>| {
        let is = |step: &Step, path: &[String], action: fn(&Action) -> bool| {
            step.path == path && action(&step.action)
        };
        let has = |path: &[String], action| steps.iter().any(|step| is(step, path, action));
        let above = |path: &[String]| {
            (0..path.len()).any(|end| has(&path[..end], |action| matches!(action, Action::Opaque)))
        };
        let parents = steps
            .iter()
            .flat_map(|step| (1..step.path.len()).map(|end| &step.path[..end]));
        let is_implied = |path: &[String]| !has(path, |action| matches!(action, Action::Directory));
        parents
            .into_iter()
            .any(|path| is_implied(path) && above(path))
    };
    let reason = "an opaque marker hides a lower directory that the layer only implies";
    layers(number).iter().any(is_odd).then_some(reason)
}

/// Returns a reason if an entry lies below a name that is a symlink in a lower layer. In place the
/// symlink is followed; under overlayfs, and so in msb, a directory replaces it. The same holds for
/// a marker below a symlink that its own layer removes or replaces: in place it is followed if it
/// comes first; in msb it is removed with the name.
fn below_lower_symlink(number: u64) -> Option<&'static str> {
    let layers = layers(number);
    let mut lower_symlinks: Vec<&[String]> = Vec::new();
    for steps in &layers {
        let is_own = |way: &[String]| {
            let mut steps = steps.iter();
            steps.any(|step| step.path == way && !matches!(step.action, Action::Opaque))
        };
        let is_below = |step: &Step| {
            let (end, is_marker) = match step.action {
                Action::Opaque => (step.path.len() + 1, true),
                Action::Whiteout => (step.path.len(), true),
                _ => (step.path.len(), false),
            };
            let mut ways = (1..end).map(|end| &step.path[..end]);
            ways.any(|way| lower_symlinks.contains(&way) && (!is_marker || is_own(way)))
        };
        if steps.iter().any(is_below) {
            return Some("a lower layer's symlink on an entry's way is replaced, not followed");
        }
        let symlinks = steps
            .iter()
            .filter(|step| matches!(step.action, Action::Symlink(_)));
        lower_symlinks.extend(symlinks.map(|step| &step.path[..]));
    }
    None
}

/// Reads and merges the layers with msb's own code; returns the tree or the error.
fn tree(layers: &[Vec<u8>]) -> Result<Result<Tree, String>> {
    let limits = Limits::default();
    let (mut trees, mut images) = (Vec::new(), Vec::new());
    for layer in layers {
        let mut writer = ImageWriter::new(Cursor::new(Vec::new()), Options::default())?;
        match read_layer(&layer[..], &limits, &mut writer) {
            Ok(layer) => trees.push(Ok::<_, Infallible>(layer.tree)),
            Err(error) => return Ok(Err(format!("{:#}", anyhow::Error::new(error)))),
        }
        images.push(
            writer
                .finish(&fstree::Tree::new(Default::default()))?
                .0
                .into_inner(),
        );
    }
    let merged = match merge(trees, &limits) {
        Ok(merged) => merged,
        Err(error) => return Ok(Err(format!("{:#}", anyhow::Error::new(error)))),
    };
    let dump = TreeDump::from_tree(&merged.tree, |data| {
        let bytes = content(data, &images).context("an extent lies in its image")?;
        Ok::<_, anyhow::Error>(Content::read(bytes.as_slice())?)
    })?;
    Ok(Ok(Tree::parse(&dump.to_string())))
}

/// Returns the bytes of a file, whose devices are the images counted from 1.
fn content(data: &FileData, images: &[Vec<u8>]) -> Option<Vec<u8>> {
    let bytes_of = |blocks: u64| usize::try_from(blocks * BLOCK_SIZE_BYTES).ok();
    let size = usize::try_from(data.size_bytes).ok()?;
    let mut bytes = vec![0; bytes_of(data.size_bytes.div_ceil(BLOCK_SIZE_BYTES))?];
    for extent in &data.extents {
        let image = images.get(usize::from(extent.device).checked_sub(1)?)?;
        let start = bytes_of(extent.start_block.into())?;
        let length = bytes_of(extent.blocks)?;
        let target = bytes_of(extent.file_block)?;
        let stored = image.get(start..start + length)?;
        bytes
            .get_mut(target..target + length)?
            .copy_from_slice(stored);
    }
    bytes.truncate(size);
    Some(bytes)
}
