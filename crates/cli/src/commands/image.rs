use anyhow::Context as _;
use erofs_writer::Image;
use image_store::StoredImage;
use msb_runtime::Sandbox;
use serde::Serialize;

use super::Context;
use crate::failure::Outcome;
use crate::output::{self, Format};

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
    /// Compare images with what was recorded when they were written
    Verify(super::verify::Arguments),
    /// Remove images that no sandbox uses, and left-overs of killed processes
    Prune(super::prune::Arguments),
    /// Print an image's merged metadata, byte range by byte range
    Dump(DumpArguments),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    msb image inspect alpine\n  \
    msb image inspect --format table alpine")]
struct InspectArguments {
    /// Image, by name or digest
    image: String,
    /// Output format
    #[arg(long, value_enum, default_value = "json")]
    format: Format,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    msb image rm alpine\n  \
    msb image rm --force debian:12 sha256:2d4f7b0a91c3")]
struct RemoveArguments {
    /// Images, by name or digest
    #[arg(required = true, value_name = "IMAGE")]
    images: Vec<String>,
    /// Remove images of stopped sandboxes too; those sandboxes can then not be started any more
    #[arg(short, long)]
    force: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  msb image dump alpine | less")]
struct DumpArguments {
    /// Image, by name or digest
    image: String,
}

/// The record, and where its artifacts lie.
#[derive(Serialize)]
struct Inspection {
    #[serde(flatten)]
    record: serde_json::Value,
    /// Path of the merged metadata.
    fsmeta: String,
    /// Path of the descriptor that makes one disk of metadata and layers.
    vmdk: String,
    /// Paths of the layer images, base first.
    layers: Vec<String>,
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Outcome {
    match &arguments.command {
        Command::Ls(arguments) => super::images::run(context, arguments),
        Command::Inspect(arguments) => inspect(context, arguments),
        Command::Rm(arguments) => remove(context, arguments),
        Command::Verify(arguments) => super::block_on(super::verify::run(context, arguments)),
        Command::Prune(arguments) => super::prune::run(context, arguments),
        Command::Dump(arguments) => dump(context, arguments),
    }
}

fn inspect(context: &Context, arguments: &InspectArguments) -> Outcome {
    let image = context.store()?.find(&arguments.image)?;
    let inspection = inspection(&image)?;
    match arguments.format {
        Format::Json => output::print_json(&inspection)?,
        Format::Table => {
            let rows = [
                [
                    "digest".to_owned(),
                    image.record.manifest_digest.to_string(),
                ],
                ["platform".to_owned(), image.record.platform.to_string()],
                ["layers".to_owned(), image.layers.len().to_string()],
                ["fsmeta".to_owned(), inspection.fsmeta],
                ["vmdk".to_owned(), inspection.vmdk],
            ];
            output::print_table(["KEY", "VALUE"], &rows)?;
        }
    }
    Ok(0)
}

fn inspection(image: &StoredImage) -> Result<Inspection, serde_json::Error> {
    let path = |path: &std::path::Path| path.display().to_string();
    let mut record = serde_json::to_value(&image.record)?;
    if let Some(fields) = record.as_object_mut() {
        // What the record says of each artifact stays, under another key than its path.
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

fn remove(context: &Context, arguments: &RemoveArguments) -> Outcome {
    Sandbox::sweep(&context.home)?;
    let store = context.store()?;
    let by_sandbox = context.needed();
    for image in &arguments.images {
        store.remove(image, &|digest| Ok(!arguments.force && by_sandbox(digest)?))?;
        output::print(&format!("{image}\n"))?;
    }
    Ok(0)
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
