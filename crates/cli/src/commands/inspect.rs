use std::path::PathBuf;

use anyhow::anyhow;
use image_store::{FindError, StoredImage};
use msb_runtime::{Condition, Resources, Sandbox, Spec, State, Volume, VolumeError};
use serde::Serialize;
use serde_json::{Value, json};

use super::{Context, image, ps, volume};
use crate::docker::NeedlessOptions;
use crate::failure::{Failure, Outcome};
use crate::output;
use crate::template::{ListingFormat, fields};

// Arguments of `msb inspect`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Prints a JSON array with an object for each name. A name is looked up among sandboxes, then \
    images, then volumes.\n\n\
    A template prints a line for each object; for a sandbox it can use {{.Id}}, {{.Name}}, {{.Image}}, \
    {{.Created}}, {{.State.Status}}, {{.State.Running}}, {{.State.ExitCode}}, {{.Config.Cmd}}, \
    {{.Config.Env}}, the keys of JSON, and {{json .}}.\n\n\
    Examples:\n  \
    msb inspect work\n  \
    msb inspect work | jq -r '.[0].state'\n  \
    msb inspect --type image --format '{{.Config.Cmd}}' alpine"
)]
pub(crate) struct Arguments {
    /// Output format: json, or a template as '{{.State.Status}}'
    #[arg(short, long, default_value = "json", value_parser = parse_format)]
    format: ListingFormat,
    /// Look up names among objects of this kind alone
    #[arg(long, value_enum, value_name = "KIND")]
    r#type: Option<Kind>,
    #[command(flatten)]
    needless: NeedlessOptions,
    /// Sandboxes, by name or id, images or volumes
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
}

/// The kinds of objects that can be inspected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    #[value(alias = "container")]
    Sandbox,
    Image,
    Volume,
}

fn parse_format(text: &str) -> Result<ListingFormat, String> {
    match text.parse()? {
        ListingFormat::Table => {
            Err("the format table is not available: write json, or a template".to_owned())
        }
        format => Ok(format),
    }
}

#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    spec: Spec,
    #[serde(flatten)]
    condition: Condition,
    /// Resources of the running machine. Those in the sandbox's description apply from the next
    /// start.
    #[serde(skip_serializing_if = "Option::is_none")]
    machine: Option<Resources>,
    /// Process id of the VMM process on this host.
    #[serde(skip_serializing_if = "Option::is_none")]
    machine_pid: Option<u32>,
    /// Failures of disks, one line for each disk.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    disk_errors: Vec<String>,
    /// Published ports as `-p` takes them, with the ports that the host chose.
    ports: Vec<String>,
    /// Directory of the sandbox's files.
    directory: PathBuf,
    /// Space that the writable disk uses on the host, in bytes.
    allocated_bytes: Option<u64>,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    arguments.needless.print(context.quiet);
    let mut found = Vec::new();
    for name in &arguments.names {
        found.push(Found::find(context, name, arguments.r#type).await?);
    }
    match &arguments.format {
        ListingFormat::Template(template) => {
            let rows = found.iter().map(Found::template_fields);
            template.print(&rows.collect::<Result<Vec<_>, _>>()?)?;
        }
        ListingFormat::Json | ListingFormat::Table => output::print_json(&found)?,
    }
    Ok(0)
}

/// The object that a name stands for.
enum Found {
    Sandbox(Box<Report>),
    Image(Box<StoredImage>),
    Volume(Box<volume::Report>),
}

impl Serialize for Found {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Sandbox(report) => report.serialize(serializer),
            Self::Image(image) => image::inspection(image)
                .map_err(serde::ser::Error::custom)?
                .serialize(serializer),
            Self::Volume(report) => report.serialize(serializer),
        }
    }
}

impl Found {
    async fn find(context: &Context, name: &str, kind: Option<Kind>) -> Result<Self, Failure> {
        match kind {
            Some(Kind::Sandbox) => Self::sandbox(context.sandbox(name)?).await,
            Some(Kind::Image) => Ok(Self::image(context.store()?.find(name)?)),
            Some(Kind::Volume) => {
                Self::volume(context, Volume::find(&context.home, &name.parse()?)?)
            }
            None => Self::of_any_kind(context, name).await,
        }
    }

    async fn of_any_kind(context: &Context, name: &str) -> Result<Self, Failure> {
        if let Some(sandbox) = Sandbox::find(&context.home, name)? {
            return Self::sandbox(sandbox).await;
        }
        match context.store()?.find(name) {
            Err(FindError::NotFound { .. }) => {}
            found => return Ok(Self::image(found?)),
        }
        let volume = name.parse().map(|name| Volume::find(&context.home, &name));
        match volume {
            Err(_) | Ok(Err(VolumeError::Missing { .. })) => {
                Err(anyhow!("no such sandbox, image or volume: {name}").into())
            }
            Ok(volume) => Self::volume(context, volume?),
        }
    }

    async fn sandbox(sandbox: Sandbox) -> Result<Self, Failure> {
        Ok(Self::Sandbox(Box::new(report(sandbox).await?)))
    }

    fn image(image: StoredImage) -> Self {
        Self::Image(Box::new(image))
    }

    fn volume(context: &Context, volume: Volume) -> Result<Self, Failure> {
        Ok(Self::Volume(Box::new(volume::report(context, volume)?)))
    }

    fn template_fields(&self) -> Result<Value, serde_json::Error> {
        match self {
            Self::Sandbox(report) => fields(report, docker_names(report)),
            Self::Image(image) => image::template_fields(image),
            Self::Volume(report) => volume::template_fields(report),
        }
    }
}

/// Returns a report's fields under the names of Docker's templates.
fn docker_names(report: &Report) -> Value {
    let Report {
        spec, condition, ..
    } = report;
    let exit = condition.exit.as_ref();
    json!({
        "Id": spec.id,
        "Name": spec.name,
        "Created": output::time(spec.created_s),
        "Image": spec.image_digest,
        "State": {
            "Status": ps::state(condition.state),
            "Running": condition.state == State::Running,
            "Paused": false,
            "ExitCode": exit.map_or(0, |exit| exit.code),
            "Error": exit.and_then(|exit| exit.error.clone()).unwrap_or_default(),
            "StartedAt": condition.started_s.map(output::time),
            "FinishedAt": exit.and_then(|exit| exit.ended_s).map(output::time),
        },
        "Config": {
            "Image": spec.image,
            "Hostname": spec.hostname.as_ref().map_or_else(|| spec.name.clone(), ToString::to_string),
            "User": spec.process.user,
            "Env": spec.process.env,
            "Cmd": spec.process.argv,
            "WorkingDir": spec.process.working_directory,
            "Labels": spec.labels,
            "Tty": spec.process.terminal,
            "OpenStdin": spec.process.stdin,
        },
    })
}

async fn report(sandbox: Sandbox) -> std::io::Result<Report> {
    let condition = sandbox.condition()?;
    let is_running = condition.state == State::Running;
    let machine = is_running.then(|| sandbox.machine_resources());
    let disk_errors = if is_running {
        sandbox.disk_errors().await
    } else {
        Vec::new()
    };
    let ports = sandbox.published()?;
    Ok(Report {
        condition,
        disk_errors,
        machine: machine.flatten(),
        // A VMM process in another PID namespace has no process id here.
        machine_pid: sandbox.machine_process_id().ok().flatten(),
        ports: ports.iter().map(ToString::to_string).collect(),
        directory: sandbox.directory().to_owned(),
        allocated_bytes: sandbox.allocated_bytes().ok(),
        spec: sandbox.spec,
    })
}
