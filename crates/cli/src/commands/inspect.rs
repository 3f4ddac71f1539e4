use std::collections::BTreeMap;
use std::path::PathBuf;

use msb_sdk::{Exit, Inspection, Msb, SandboxInfo, SandboxState};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{Context, image, ps, volume};
use crate::docker::NeedlessOptions;
use msb_terminal::failure::{Failure, Outcome};
use msb_terminal::output;
use msb_terminal::template::{ListingFormat, fields};

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
    /// Output format: json, or a template such as '{{.State.Status}}'
    #[arg(short, long, default_value = "json", value_parser = parse_format)]
    format: ListingFormat,
    /// Look up only objects of this kind
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

/// A sandbox as JSON, with stable keys.
#[derive(Serialize)]
struct Report {
    id: String,
    name: String,
    image: String,
    image_digest: String,
    created_s: u64,
    state: SandboxState,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_s: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit: Option<Exit>,
    cpus: u8,
    memory_mib: u32,
    upper_bytes: u64,
    remove_when_stopped: bool,
    labels: BTreeMap<String, String>,
    /// Published ports as `-p` takes them, with the ports that the host chose.
    ports: Vec<String>,
    /// Process id of the VMM process on this host.
    #[serde(skip_serializing_if = "Option::is_none")]
    machine_pid: Option<u32>,
    /// Failures of disks, one line for each disk.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    disk_errors: Vec<String>,
    /// The damage of a record whose copy is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    /// Directory of the sandbox's files.
    directory: PathBuf,
    /// Space that the writable disk uses on the host, in bytes.
    allocated_bytes: Option<u64>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

impl From<SandboxInfo> for Report {
    fn from(info: SandboxInfo) -> Self {
        Self {
            id: info.id,
            name: info.name,
            image: info.image,
            image_digest: info.image_digest,
            created_s: info.created_s,
            state: info.state,
            started_s: info.started_s,
            exit: info.exit.map(ps::without_signal),
            cpus: info.cpus,
            memory_mib: info.memory_mib,
            upper_bytes: info.upper_bytes,
            remove_when_stopped: info.remove_when_stopped,
            labels: info.labels,
            ports: info.ports.iter().map(ToString::to_string).collect(),
            machine_pid: info.machine_pid,
            disk_errors: info.disk_errors,
            problem: info.problem,
            directory: info.directory,
            allocated_bytes: info.allocated_bytes,
            rest: info.rest,
        }
    }
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    arguments.needless.print(context.quiet);
    let mut found = Vec::new();
    for name in &arguments.names {
        found.push(find(&context.msb, name, arguments.r#type).await?);
    }
    match &arguments.format {
        ListingFormat::Template(template) => {
            let rows = found.into_iter().map(template_fields);
            template.print(&rows.collect::<Result<Vec<_>, _>>()?)?;
        }
        ListingFormat::Json | ListingFormat::Table => {
            let reports: Vec<_> = found.into_iter().map(Printed::from).collect();
            output::print_json(&reports)?;
        }
    }
    Ok(0)
}

async fn find(msb: &Msb, name: &str, kind: Option<Kind>) -> Result<Inspection, msb_sdk::Error> {
    match kind {
        None => msb.inspect(name).await,
        Some(Kind::Sandbox) => {
            let info = msb.sandboxes().get(name).await?.inspect().await?;
            Ok(Inspection::Sandbox(Box::new(info)))
        }
        Some(Kind::Image) => Ok(Inspection::Image(msb.images().inspect(name).await?)),
        Some(Kind::Volume) => {
            let volume = msb.volumes().get(name).await?;
            Ok(Inspection::Volume(volume.info().clone()))
        }
    }
}

/// An object as JSON.
#[derive(Serialize)]
#[serde(untagged)]
enum Printed {
    Sandbox(Box<Report>),
    Other(Inspection),
}

impl From<Inspection> for Printed {
    fn from(found: Inspection) -> Self {
        match found {
            Inspection::Sandbox(info) => Self::Sandbox(Box::new(Report::from(*info))),
            other => Self::Other(other),
        }
    }
}

fn template_fields(found: Inspection) -> Result<Value, Failure> {
    match found {
        Inspection::Sandbox(info) => {
            let docker = docker_names(&info)?;
            Ok(fields(&Report::from(*info), docker)?)
        }
        Inspection::Image(image) => Ok(image::template_fields(&image)?),
        Inspection::Volume(volume) => Ok(volume::template_fields(&volume)?),
        other => Ok(serde_json::to_value(&other)?),
    }
}

/// Returns a sandbox's fields under the names of Docker's templates.
fn docker_names(info: &SandboxInfo) -> Result<Value, msb_sdk::Error> {
    let (command, exit) = (info.main_command()?, info.exit.as_ref());
    Ok(json!({
        "Id": info.id,
        "Name": info.name,
        "Created": output::time(info.created_s),
        "Image": info.image_digest,
        "State": {
            "Status": ps::state(info.state),
            "Running": info.state.is_up(),
            "Paused": info.state == SandboxState::Paused,
            "ExitCode": exit.map_or(0, |exit| exit.code),
            "Error": exit.and_then(|exit| exit.error.clone()).unwrap_or_default(),
            "StartedAt": info.started_s.map(output::time),
            "FinishedAt": exit.and_then(|exit| exit.ended_s).map(output::time),
        },
        "Config": {
            "Image": info.image,
            "Hostname": info.hostname(),
            "User": command.user,
            "Env": command.env,
            "Cmd": command.argv,
            "WorkingDir": command.working_directory,
            "Labels": info.labels,
            "Tty": command.terminal,
            "OpenStdin": command.stdin,
        },
    }))
}
