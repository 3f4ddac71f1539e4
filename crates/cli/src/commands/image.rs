use std::io;

use anyhow::Context as _;
use erofs_writer::Image;
use image_store::StoredImage;
use msb_sdk::Force;
use oci_image::Reference;
use serde::Serialize;
use serde_json::{Value, json};

use super::Context;
use crate::failure::{Failures, Outcome};
use crate::output;
use crate::table;
use crate::template::{ListingFormat, fields};

// Arguments of `msb image`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    msb image ls\n  \
    msb image inspect alpine | jq .config.Cmd\n  \
    msb image rm alpine")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List images
    #[command(alias = "list")]
    Ls(super::images::Arguments),
    /// Show everything about an image, with the paths of its artifacts
    Inspect(InspectArguments),
    /// Remove images
    #[command(alias = "remove")]
    Rm(RemoveArguments),
    /// Compare images with the checksums that were recorded when they were written
    Verify(super::verify::Arguments),
    /// Remove images that no sandbox uses, and leftovers of killed processes
    Prune(super::prune::Arguments),
    /// Print an image's merged metadata, byte range by byte range
    Dump(DumpArguments),
    /// Download images from a registry, as docker groups it
    #[command(hide = true)]
    Pull(super::pull::Arguments),
    /// Take an image from an archive, as docker groups it
    #[command(hide = true)]
    Load(super::load::Arguments),
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "JSON is an object for one image, and an array for several. A template prints a line for \
    each: {{.Id}}, {{.RepoTags}}, {{.Created}}, {{.Os}}, {{.Architecture}}, {{.Size}}, {{.Config.Cmd}} and \
    what else is in the image's config, the keys of JSON, and {{json .}}.\n\n\
    Examples:\n  \
    msb image inspect alpine\n  \
    msb image inspect --format '{{.Config.Env}}' alpine debian"
)]
struct InspectArguments {
    /// Images, by name or digest
    #[arg(required = true, value_name = "IMAGE")]
    images: Vec<String>,
    /// Output format: json, table, or a template as '{{.Config.Cmd}}'
    #[arg(short, long, default_value = "json")]
    format: ListingFormat,
}

// Arguments of `msb image rm` and `msb rmi`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    msb image rm alpine\n  \
    msb image rm --force debian:12 sha256:2d4f7b0a91c3")]
pub(crate) struct RemoveArguments {
    /// Images, by name or digest
    #[arg(required = true, value_name = "IMAGE")]
    images: Vec<String>,
    /// Remove images of stopped sandboxes too; those sandboxes can then no longer be started
    #[arg(short, long)]
    force: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  msb image dump alpine | less")]
struct DumpArguments {
    /// Image, by name or digest
    image: String,
}

/// An image's record, and the paths of its artifacts.
#[derive(Serialize)]
pub(super) struct Inspection {
    #[serde(flatten)]
    record: serde_json::Value,
    /// Path of the merged metadata.
    fsmeta: String,
    /// Path of the VMDK, which combines metadata and layers into one disk.
    vmdk: String,
    /// Paths of the layer images, base first.
    layers: Vec<String>,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    match &arguments.command {
        Command::Ls(arguments) => super::images::run(context, arguments),
        Command::Inspect(arguments) => inspect(context, arguments),
        Command::Rm(arguments) => remove(context, arguments).await,
        Command::Verify(arguments) => super::verify::run(context, arguments).await,
        Command::Prune(arguments) => super::prune::run(context, arguments).await,
        Command::Dump(arguments) => dump(context, arguments),
        Command::Pull(arguments) => super::pull::run(context, arguments).await,
        Command::Load(arguments) => super::load::run(context, arguments).await,
    }
}

fn inspect(context: &Context, arguments: &InspectArguments) -> Outcome {
    let store = context.store()?;
    let images = arguments.images.iter().map(|name| store.find(name));
    let images = images.collect::<Result<Vec<_>, _>>()?;
    let inspections = images.iter().map(inspection);
    let inspections = inspections.collect::<Result<Vec<_>, _>>()?;
    match (&arguments.format, inspections.as_slice()) {
        (ListingFormat::Json, [one]) => output::print_json(one)?,
        (ListingFormat::Json, several) => output::print_json(&several)?,
        (ListingFormat::Template(template), _) => {
            let rows = images.iter().map(template_fields);
            template.print(&rows.collect::<Result<Vec<_>, _>>()?)?;
        }
        (ListingFormat::Table, _) => {
            for (image, inspection) in images.iter().zip(inspections) {
                print_table(image, inspection)?;
            }
        }
    }
    Ok(0)
}

fn print_table(image: &StoredImage, inspection: Inspection) -> io::Result<()> {
    let record = &image.record;
    let rows = [
        ["digest".to_owned(), record.manifest_digest.to_string()],
        ["platform".to_owned(), record.platform.to_string()],
        ["layers".to_owned(), image.layers.len().to_string()],
        ["fsmeta".to_owned(), inspection.fsmeta],
        ["vmdk".to_owned(), inspection.vmdk],
    ];
    table::print(["KEY", "VALUE"], &rows)
}

/// Returns an image's fields for templates, under msb's names and under Docker's.
pub(super) fn template_fields(image: &StoredImage) -> Result<Value, serde_json::Error> {
    let record = &image.record;
    let names = record.references.iter().map(|name| match name.parse() {
        Ok(name) => Reference::familiar(&name),
        Err(_) => name.clone(),
    });
    let docker = json!({
        "Id": record.manifest_digest,
        "RepoTags": names.collect::<Vec<_>>(),
        "Created": record.created,
        "Os": record.platform.os,
        "Architecture": record.platform.architecture,
        "Size": record.size_bytes,
        "Config": record.config,
    });
    fields(&inspection(image)?, docker)
}

pub(super) fn inspection(image: &StoredImage) -> Result<Inspection, serde_json::Error> {
    let path = |path: &std::path::Path| path.display().to_string();
    let mut record = serde_json::to_value(&image.record)?;
    if let Some(fields) = record.as_object_mut() {
        // The record's description of each artifact stays, under another key than its path.
        for (key, renamed) in [
            ("fsmeta", "fsmeta_artifact"),
            ("vmdk", "vmdk_artifact"),
            ("layers", "layer_artifacts"),
        ] {
            if let Some(detail) = fields.remove(key) {
                fields.insert(renamed.to_owned(), detail);
            }
        }
    }
    Ok(Inspection {
        record,
        fsmeta: path(&image.fsmeta),
        vmdk: path(&image.vmdk),
        layers: image.layers.iter().map(|layer| path(layer)).collect(),
    })
}

pub(crate) async fn remove(context: &Context, arguments: &RemoveArguments) -> Outcome {
    let force = if arguments.force {
        Force::Yes
    } else {
        Force::No
    };
    let mut failures = Failures::default();
    for image in &arguments.images {
        let removed = context.msb.images().remove(image.as_str(), force).await;
        if arguments.images.len() == 1 {
            removed?;
        } else if failures.note(removed).is_none() {
            continue;
        }
        output::print(&format!("{image}\n"))?;
    }
    Ok(failures.code)
}

fn dump(context: &Context, arguments: &DumpArguments) -> Outcome {
    let image = context.store()?.find(&arguments.image)?;
    let path = image.fsmeta.display();
    let file = std::fs::File::open(&image.fsmeta).with_context(|| format!("cannot open {path}"))?;
    let mut text = String::new();
    Image::open(file)
        .with_context(|| format!("cannot open {path}"))?
        .dump(&mut text)
        .with_context(|| format!("cannot dump {path}"))?;
    output::print(&text)?;
    Ok(0)
}
