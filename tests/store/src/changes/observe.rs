//! The things that operations change, as lines.

use std::path::Path;

use anyhow::{Context as _, Result};
use fs_err as fs;
use test_support::listing::list;
use test_support::oci_layout::digest;
use test_support::succeed;

use super::world::{CHANGED, COMMANDED, COMMITTED, FORK, IMAGE, MANY, PACKED, SNAPPED, World};

/// Returns the files of the project that are old or new, each with the digest of its content.
pub(super) fn project_files(world: &World) -> Result<Vec<String>> {
    let mut names = vec!["same", "edited", "removed", "linked", "sub", "sub/added"];
    names.extend(MANY);
    files_below(world, "project", &names)
}

/// Returns files of a directory of the host, each with the digest of its content.
pub(super) fn files_below(world: &World, directory: &str, names: &[&str]) -> Result<Vec<String>> {
    let line = |name: &&str| {
        let path = world.root.join(directory).join(name);
        let content = match fs::read(&path) {
            Ok(bytes) => digest(&bytes),
            Err(_) if path.is_dir() => "a directory".to_owned(),
            Err(_) => "missing".to_owned(),
        };
        format!("{name} {content}")
    };
    Ok(names.iter().map(line).collect())
}

/// Returns the changes of the sandbox.
pub(super) fn changes(world: &World) -> Result<Vec<String>> {
    lines(world, &["diff", CHANGED])
}

/// Returns the changes of the sandbox that has snapshots, and those that a snapshot has.
pub(super) fn changes_since_snapshots(world: &World) -> Result<Vec<String>> {
    let mut found = lines(world, &["diff", SNAPPED])?;
    found.extend(lines(world, &["diff", &format!("{SNAPPED}@first")])?);
    Ok(found)
}

/// Returns the digest of the image that a commit names.
pub(super) fn committed_image(world: &World) -> Result<Vec<String>> {
    lines(
        world,
        &[
            "image",
            "inspect",
            "--format",
            "{{.manifest_digest}}",
            COMMITTED,
        ],
    )
}

/// Returns the form of each layer of the image that is plain at first.
pub(super) fn packed_layers(world: &World) -> Result<Vec<String>> {
    layer_forms(world, IMAGE)
}

/// Returns the form of each layer of the image that is packed at first.
pub(super) fn unpacked_layers(world: &World) -> Result<Vec<String>> {
    layer_forms(world, PACKED)
}

fn layer_forms(world: &World, image: &str) -> Result<Vec<String>> {
    let output = succeed(&mut world.command(&["image", "inspect", image]))?;
    let image: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let forms = image["layer_forms"].as_array().context("no forms")?;
    let lines = forms.iter().enumerate();
    Ok(lines
        .map(|(index, form)| format!("{index} {form}"))
        .collect())
}

/// Returns the names of all snapshots.
pub(super) fn snapshots(world: &World) -> Result<Vec<String>> {
    lines(world, &["snapshot", "ls", "-q"])
}

/// Returns the names of all sandboxes, and the digests of two files of the new one: one that was copied into
/// it or its source, and one whose content a native root leaves in a layer of the image.
pub(super) fn forks(world: &World) -> Result<Vec<String>> {
    let mut found = lines(world, &["ls", "--format", "{{.name}}"])?;
    found.sort_unstable();
    if found.iter().any(|name| name == FORK) {
        for path in ["/work/edited", "/usr/tool"] {
            let words = ["fs", "cat", FORK, path];
            found.push(digest(&succeed(&mut world.command(&words))?.stdout));
        }
    }
    Ok(found)
}

/// Returns the names of all snapshots, and the digest of a file that a rollback changes. An automatic snapshot
/// counts whatever its number is: no number is given twice, so a killed attempt may have used one up.
pub(super) fn snapped(world: &World) -> Result<Vec<String>> {
    let is_number = |name: &String| {
        let label = name.split_once('@').map_or("", |(_, label)| label);
        label.parse::<u64>().is_ok()
    };
    let mut found = snapshots(world)?;
    for name in found.iter_mut().filter(|name| is_number(name)) {
        "an automatic snapshot".clone_into(name);
    }
    found.push(digest(&world.snapped_content()?));
    Ok(found)
}

/// Returns the names of all snapshots, the digest of a file that an undo changes, and true if the command is undone.
pub(super) fn commanded(world: &World) -> Result<Vec<String>> {
    let mut found = snapped(world)?;
    found.push(digest(&world.content(COMMANDED)?));
    let history = succeed(&mut world.command(&["history", "--format", "json", COMMANDED]))?;
    let history: serde_json::Value = serde_json::from_slice(&history.stdout)?;
    found.push(format!("undone: {}", history[0]["undone"]));
    Ok(found)
}

/// Returns the digest of a file of the disk that has snapshots, which no merge changes, and the numbers of
/// generations that the disk and its snapshots have.
pub(super) fn merged(world: &World) -> Result<Vec<String>> {
    Ok(vec![
        digest(&world.snapped_content()?),
        format!("the disk has {}", world.snapped_generations()?),
        format!("first has {}", world.generations_of("first")?),
        format!("last has {}", world.generations_of("last")?),
    ])
}

/// Returns the lines that a command prints.
pub(super) fn lines(world: &World, words: &[&str]) -> Result<Vec<String>> {
    let output = succeed(&mut world.command(words))?;
    let text = String::from_utf8(output.stdout)?;
    Ok(text.lines().map(str::to_owned).collect())
}

pub(super) fn saved_archive(world: &World) -> Result<Vec<String>> {
    Ok(vec![digest(&fs::read(world.root.join("archive.tar"))?)])
}

pub(super) fn saved_layout(world: &World) -> Result<Vec<String>> {
    let layout = world.root.join("layout");
    if !Path::exists(&layout) {
        return Ok(Vec::new());
    }
    let files = list(&layout)?.into_iter();
    Ok(files
        .map(|(path, digest)| format!("{} {digest}", path.display()))
        .collect())
}

pub(super) fn pushed_image(world: &World) -> Result<Vec<String>> {
    Ok(vec![world.registry.image()?])
}
