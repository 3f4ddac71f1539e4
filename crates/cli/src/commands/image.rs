use std::io;

use msb_sdk::{Force, Image};
use serde_json::{Map, Value, json};

use super::Context;
use msb_terminal::failure::{Failures, Outcome};
use msb_terminal::output;
use msb_terminal::table;
use msb_terminal::template::{ListingFormat, fields};

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
    /// Show the details of an image, with the paths of its artifacts
    Inspect(InspectArguments),
    /// Remove images
    #[command(alias = "remove")]
    Rm(RemoveArguments),
    /// Verify images against their recorded checksums
    Verify(super::verify::Arguments),
    /// Remove images that no sandbox uses, and leftovers of killed processes
    Prune(super::prune::Arguments),
    /// Compress the layers of images on the disk; sandboxes run on them as before
    #[command(after_help = "Examples:\n  msb image pack debian:12\n  msb image pack --all")]
    Pack(super::pack::Arguments),
    /// Make the layers of images again as other programs read them
    #[command(after_help = "Examples:\n  msb image unpack debian:12")]
    Unpack(super::pack::Arguments),
    /// Print the structures of an image's merged metadata, with their byte ranges
    Dump(DumpArguments),
    /// Download images from a registry
    #[command(hide = true)]
    Pull(super::pull::Arguments),
    /// Upload an image to a registry
    #[command(hide = true)]
    Push(super::push::Arguments),
    /// Load an image from an archive
    #[command(hide = true)]
    Load(super::load::Arguments),
    /// Write images to an archive
    #[command(hide = true)]
    Save(super::save::Arguments),
    /// Add a name to an image
    #[command(hide = true)]
    Tag(super::tag::Arguments),
    /// Show the steps that built an image
    #[command(hide = true)]
    History(super::history::Arguments),
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "JSON is an object for one image, and an array for several. A template prints a \
    line for each: {{.Id}}, {{.RepoTags}}, {{.Created}}, {{.Os}}, {{.Architecture}}, {{.Size}}, \
    {{.Config.Cmd}} and the other fields of the image's config, the keys of JSON, and {{json .}}.\n\n\
    Examples:\n  \
    msb image inspect alpine\n  \
    msb image inspect --format '{{.Config.Env}}' alpine debian"
)]
struct InspectArguments {
    /// Images, by name or digest
    #[arg(required = true, value_name = "IMAGE")]
    images: Vec<String>,
    /// Output format: json, table, or a template such as '{{.Config.Cmd}}'
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

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    match &arguments.command {
        Command::Ls(arguments) => super::images::run(context, arguments).await,
        Command::Inspect(arguments) => inspect(context, arguments).await,
        Command::Rm(arguments) => remove(context, arguments).await,
        Command::Verify(arguments) => super::verify::run(context, arguments).await,
        Command::Prune(arguments) => super::prune::run(context, arguments).await,
        Command::Pack(arguments) => super::pack::pack(context, arguments).await,
        Command::Unpack(arguments) => super::pack::unpack(context, arguments).await,
        Command::Dump(arguments) => dump(context, arguments).await,
        Command::Pull(arguments) => super::pull::run(context, arguments).await,
        Command::Push(arguments) => super::push::run(context, arguments).await,
        Command::Load(arguments) => super::load::run(context, arguments).await,
        Command::Save(arguments) => super::save::run(context, arguments).await,
        Command::Tag(arguments) => super::tag::run(context, arguments).await,
        Command::History(arguments) => super::history::run(context, arguments).await,
    }
}

async fn inspect(context: &Context, arguments: &InspectArguments) -> Outcome {
    let mut images = Vec::new();
    for name in &arguments.images {
        images.push(context.msb.images().inspect(name.as_str()).await?);
    }
    match (&arguments.format, images.as_slice()) {
        (ListingFormat::Json, [one]) => output::print_json(one)?,
        (ListingFormat::Json, several) => output::print_json(&several)?,
        (ListingFormat::Template(template), _) => {
            let rows = images.iter().map(template_fields);
            template.print(&rows.collect::<Result<Vec<_>, _>>()?)?;
        }
        (ListingFormat::Table, _) => images.iter().try_for_each(print_table)?,
    }
    Ok(0)
}

fn print_table(image: &Map<String, Value>) -> io::Result<()> {
    let text = |key: &str| image.get(key).and_then(Value::as_str).unwrap_or_default();
    let layers = image.get("layers").and_then(Value::as_array);
    let rows = [
        ["digest", text("manifest_digest")],
        ["platform", text("platform")],
        ["layers", &layers.map_or(0, Vec::len).to_string()],
        ["fsmeta", text("fsmeta")],
        ["vmdk", text("vmdk")],
    ];
    let rows = rows.map(|row| row.map(str::to_owned));
    table::print(["KEY", "VALUE"], &rows)
}

/// Returns an image's fields for templates, under msb's names and under Docker's.
pub(super) fn template_fields(image: &Map<String, Value>) -> Result<Value, serde_json::Error> {
    let value = |key: &str| image.get(key).cloned().unwrap_or_default();
    let names = value("references");
    let names = names.as_array().into_iter().flatten();
    let names = names.filter_map(Value::as_str).map(Image::short_name);
    let docker = json!({
        "Id": value("manifest_digest"),
        "RepoTags": names.collect::<Vec<_>>(),
        "Created": value("created"),
        "Os": value("platform")["os"],
        "Architecture": value("platform")["architecture"],
        "Size": value("size_bytes"),
        "Config": value("config"),
    });
    fields(image, docker)
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

async fn dump(context: &Context, arguments: &DumpArguments) -> Outcome {
    let text = context.msb.images().dump(arguments.image.as_str()).await?;
    output::print(&text)?;
    Ok(0)
}
