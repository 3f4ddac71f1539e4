//! The options of a new sandbox: what the user has set, narrowed by what the client asks for.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use msb_sdk::{MEMORY_DEFAULT, Mount, MountKind, Network, NetworkMode, SandboxOptions, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Settings;
use crate::failure::Failure;

/// The place of staged directories in a sandbox.
const WORK: &str = "/work";
/// The most processors of a sandbox for which the user has set no number.
const CPUS_MAX: usize = 4;

/// The wishes of a client for a new sandbox; they can narrow what the user has set.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wanted {
    pub(crate) image: Option<String>,
    pub(crate) network: Option<Reach>,
    pub(crate) memory_mib: Option<u64>,
    pub(crate) cpus: Option<u8>,
}

/// The destinations that a sandbox reaches without a rule.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum Reach {
    None,
    Listed,
    Outbound,
}

/// A directory of the host that a sandbox has staged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct Staged {
    /// The path in the sandbox.
    path: String,
    /// The directory of the host. Only sandbox_apply writes to it.
    directory: String,
}

impl Staged {
    /// Returns the staged directories among the mounts of a new sandbox.
    pub(crate) fn of(mounts: &[Mount]) -> Vec<Self> {
        let staged = mounts
            .iter()
            .filter(|mount| mount.kind == MountKind::Staged);
        let staged = staged.map(|mount| Self {
            path: mount.target.clone(),
            directory: mount.source.clone().unwrap_or_default(),
        });
        staged.collect()
    }
}

/// Returns the options of a new sandbox, without its name and labels.
pub(crate) fn of(
    settings: &Settings,
    wanted: &Wanted,
    directories: &[PathBuf],
) -> Result<SandboxOptions, Failure> {
    let mut options = settings.template.clone();
    options.image = image(settings, wanted.image.as_deref())?;
    options.memory = Some(memory(options.memory, wanted.memory_mib)?);
    options.cpus = cpus(options.cpus, wanted.cpus)?;
    options.network = network(&options.network, wanted.network)?;
    if options.network.mode == NetworkMode::None {
        // Nothing can be published, and a rule that opens nothing is refused.
        options.network = Network::none();
        (options.ports, options.publish_all) = (Vec::new(), false);
    }
    let staged = mounts(directories)?;
    if options.cwd.is_none() && !staged.is_empty() {
        options.cwd = Some(WORK.to_owned());
    }
    options.mounts.extend(staged);
    options.command = None;
    options.remove_when_stopped = false;
    let idle_ms = u64::try_from(settings.idle_timeout.as_millis()).unwrap_or(u64::MAX);
    options.idle_timeout_ms = (!settings.removes).then_some(idle_ms);
    Ok(options)
}

fn image(settings: &Settings, wanted: Option<&str>) -> Result<String, Failure> {
    let images = &settings.images;
    match (wanted, images.first()) {
        (Some(wanted), None) => Ok(wanted.to_owned()),
        (Some(wanted), Some(_)) if images.iter().any(|image| image == wanted) => {
            Ok(wanted.to_owned())
        }
        (Some(wanted), Some(_)) => {
            let wanted = terminal_text::escaped(wanted);
            let message = format!("'{wanted}' is not one of the images of this session");
            let hint = format!("use one of: {}", images.join(", "));
            Err(Failure::invalid(message).with_hint(hint))
        }
        (None, Some(first)) => Ok(first.clone()),
        (None, None) => Err(Failure::invalid("no image was given")
            .with_hint("name an image, such as debian or python:3-slim")),
    }
}

fn memory(most: Option<Size>, wanted_mib: Option<u64>) -> Result<Size, Failure> {
    let most = most.unwrap_or(MEMORY_DEFAULT);
    let Some(mib) = wanted_mib else {
        return Ok(most);
    };
    let most_mib = most.bytes() >> 20;
    if mib > most_mib {
        let message = format!("memory_mib: {mib} is more than the {most_mib} of this session");
        return Err(Failure::invalid(message));
    }
    Ok(Size::new(mib << 20))
}

fn cpus(most: Option<u8>, wanted: Option<u8>) -> Result<Option<u8>, Failure> {
    let Some(wanted) = wanted else {
        return Ok(most);
    };
    let of_host = || {
        let host = std::thread::available_parallelism().map_or(1, usize::from);
        u8::try_from(host.min(CPUS_MAX)).unwrap_or(1)
    };
    let most = most.unwrap_or_else(of_host);
    if wanted > most {
        let message = format!("cpus: {wanted} is more than the {most} of this session");
        return Err(Failure::invalid(message));
    }
    Ok(Some(wanted))
}

fn network(set: &Network, wanted: Option<Reach>) -> Result<Network, Failure> {
    let most = match set.mode {
        NetworkMode::Outbound => Reach::Outbound,
        NetworkMode::Listed => Reach::Listed,
        // A mode that is newer than this match reaches nothing here.
        _ => Reach::None,
    };
    let mut network = set.clone();
    match wanted {
        None => {}
        Some(wanted) if wanted > most => {
            let message = "network: the sandboxes of this session reach less than that";
            return Err(
                Failure::invalid(message).with_hint("the user widens it with --network of msb mcp")
            );
        }
        Some(Reach::Outbound) => {}
        Some(Reach::Listed) => network.mode = NetworkMode::Listed,
        Some(Reach::None) => network.mode = NetworkMode::None,
    }
    Ok(network)
}

/// Returns the mounts of staged directories: one at `/work`, several below it by their names.
fn mounts(directories: &[PathBuf]) -> Result<Vec<Mount>, Failure> {
    let mut names = BTreeSet::new();
    let mut mounts = Vec::new();
    for directory in directories {
        let source = directory.to_str().ok_or_else(|| {
            let shown = directory.to_string_lossy();
            let shown = terminal_text::escaped(&shown);
            Failure::invalid(format!("cannot stage {shown}: the path is not UTF-8"))
        })?;
        let target = match directories {
            [_] => WORK.to_owned(),
            _ => format!("{WORK}/{}", unused_name(directory, &mut names)),
        };
        mounts.push(Mount::staged(source, target));
    }
    Ok(mounts)
}

fn unused_name(directory: &Path, names: &mut BTreeSet<String>) -> String {
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    let is_plain =
        |character: &char| character.is_ascii_alphanumeric() || "._-".contains(*character);
    let plain: String = name.chars().filter(is_plain).collect();
    let plain = match plain.trim_matches('.') {
        "" => "root".to_owned(),
        _ => plain,
    };
    let mut name = plain.clone();
    let mut number = 2_u32;
    while !names.insert(name.clone()) {
        name = format!("{plain}-{number}");
        number = number.saturating_add(1);
    }
    name
}

#[cfg(test)]
mod tests;
