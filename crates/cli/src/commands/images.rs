use std::str::FromStr;

use msb_sdk::ImageInfo;
use serde_json::{Value, json};

use super::Context;
use msb_terminal::failure::{Failure, Outcome};
use msb_terminal::image_pattern::{self, ImagePattern};
use msb_terminal::output;
use msb_terminal::table;
use msb_terminal::template::{ListingFormat, fields};

/// The number of a digest's hexadecimal digits that a table shows.
const DIGITS_SHOWN: usize = 12;
/// The text in place of a missing name or tag.
const NONE: &str = "<none>";

// Arguments of `msb images`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Filters: reference=PATTERN, dangling=true|false (without a name, or with one). In a pattern * \
    stands for any characters but /. -q prints only digests, each once.\n\n\
    A template prints a line for each name: {{.Repository}}, {{.Tag}}, {{.ID}}, {{.Digest}}, {{.CreatedAt}}, \
    {{.CreatedSince}}, {{.Size}}, the keys of JSON, and {{json .}}.\n\n\
    Examples:\n  \
    msb images\n  \
    msb images 'ghcr.io/owner/*'\n  \
    msb images --format json | jq -r '.[].reference'\n  \
    msb image rm $(msb images -q --filter dangling=true)"
)]
pub(crate) struct Arguments {
    /// Show only images with this name, and with this tag if it has one
    #[arg(value_name = "NAME[:TAG]")]
    name: Option<ImagePattern>,
    /// Show only images that match
    #[arg(short, long, value_name = "KEY=VALUE")]
    filter: Vec<Filter>,
    /// Show whole digests
    #[arg(long)]
    no_trunc: bool,
    /// Output format: table, json, or a template such as '{{.Repository}}'
    #[arg(long, default_value = "table")]
    format: ListingFormat,
    /// Ignored (docker compatibility): all images are always listed
    #[arg(short, long, hide = true)]
    all: bool,
    /// Ignored (docker compatibility): digests are always shown
    #[arg(long, hide = true)]
    digests: bool,
    /// An older name of --quiet
    #[arg(long, hide = true)]
    digests_only: bool,
}

/// A condition on the listed images.
#[derive(Debug, Clone)]
enum Filter {
    Reference(ImagePattern),
    Dangling(bool),
}

impl FromStr for Filter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (key, value) = text.split_once('=').unwrap_or((text, ""));
        let Ok(pattern) = value.parse();
        match (key, value) {
            ("reference", _) => Ok(Self::Reference(pattern)),
            ("dangling", "true" | "1") => Ok(Self::Dangling(true)),
            ("dangling", "false" | "0") => Ok(Self::Dangling(false)),
            ("dangling", _) => Err(format!(
                "'{value}' is not a value of the filter: write true or false"
            )),
            _ => Err(format!(
                "'{key}' is not a filter: write reference or dangling"
            )),
        }
    }
}

impl Filter {
    fn holds(&self, row: &ImageInfo) -> bool {
        match self {
            Self::Reference(pattern) => pattern.matches(row.reference.as_deref()),
            Self::Dangling(dangling) => row.reference.is_none() == *dangling,
        }
    }
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let images = context.msb.images().list().await?.into_iter();
    let rows = images.map(|image| image.info().clone());
    let is_wanted = |row: &ImageInfo| {
        let is_named = |name: &ImagePattern| name.matches(row.reference.as_deref());
        arguments.name.as_ref().is_none_or(is_named)
            && arguments.filter.iter().all(|filter| filter.holds(row))
    };
    let rows: Vec<ImageInfo> = rows.filter(is_wanted).collect();
    print(context, arguments, &rows)?;
    Ok(0)
}

fn print(context: &Context, arguments: &Arguments, rows: &[ImageInfo]) -> Result<(), Failure> {
    match &arguments.format {
        ListingFormat::Json => output::print_json(&rows)?,
        ListingFormat::Template(template) => {
            let whole = arguments.no_trunc;
            let rows = rows.iter().map(|row| fields(row, docker_names(row, whole)));
            let rows = rows.collect::<Result<Vec<_>, _>>()?;
            template.print(&rows)?;
        }
        ListingFormat::Table if context.quiet || arguments.digests_only => print_digests(rows)?,
        ListingFormat::Table => print_table(arguments, rows)?,
    }
    Ok(())
}

/// Prints each digest once, even if the image has several names.
fn print_digests(rows: &[ImageInfo]) -> std::io::Result<()> {
    let mut printed: Vec<&str> = Vec::new();
    for row in rows {
        if !printed.contains(&row.digest.as_str()) {
            printed.push(&row.digest);
        }
    }
    let lines: Vec<String> = printed.iter().map(|digest| format!("{digest}\n")).collect();
    output::print(&lines.concat())
}

fn print_table(arguments: &Arguments, rows: &[ImageInfo]) -> std::io::Result<()> {
    let cells: Vec<_> = rows
        .iter()
        .map(|row| {
            [
                row.reference.clone().unwrap_or_else(|| NONE.to_owned()),
                if arguments.no_trunc {
                    row.digest.clone()
                } else {
                    short(&row.digest)
                },
                row.platform.clone(),
                row.layer_count.to_string(),
                created(row).map_or_else(|| "-".to_owned(), age),
                output::human_size(row.size_bytes),
                output::human_size(row.disk_bytes),
            ]
        })
        .collect();
    table::print(
        [
            "IMAGE", "DIGEST", "PLATFORM", "LAYERS", "CREATED", "SIZE", "ON DISK",
        ],
        &cells,
    )
}

fn short(digest: &str) -> String {
    let digits = digest.chars().skip("sha256:".len());
    digits.take(DIGITS_SHOWN).collect()
}

/// Returns the time of creation, in seconds since the epoch. `None` if the image's config has no
/// valid time.
fn created(row: &ImageInfo) -> Option<u64> {
    let time: jiff::Timestamp = row.created.as_ref()?.parse().ok()?;
    u64::try_from(time.as_second()).ok()
}

fn age(created_s: u64) -> String {
    output::human_age(durable_files::now_s().saturating_sub(created_s))
}

/// Returns a row's fields under the names of Docker's templates; the id is the whole digest or short.
fn docker_names(row: &ImageInfo, whole: bool) -> Value {
    let (repository, tag) = match &row.reference {
        Some(name) => image_pattern::parts(name),
        None => (NONE, None),
    };
    json!({
        "Repository": repository,
        "Tag": tag.unwrap_or(NONE),
        "ID": if whole { row.digest.clone() } else { short(&row.digest) },
        "Digest": row.digest,
        "CreatedAt": created(row).map(output::time),
        "CreatedSince": created(row).map(age),
        "Size": output::human_size(row.size_bytes),
    })
}
