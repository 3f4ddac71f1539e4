//! The options of an imported sandbox. An archive may come from anybody, so nothing in it leads to this
//! host: to its files, its volumes, its ports and its network. It takes no more of the host's memory,
//! processors and disk than a sandbox does that is created without options.

use msb_guest_trust::{TrustFiles, without_placeholders};
use msb_network::Settings;
use msb_patches::Patches;
use msb_runtime::{CreateOptions, Mount, Resources, Source, Spec, VOLUME_BYTES};
use msb_sandbox_model::GuestSettings;

use super::left_out::LeftOut;
use super::staged;

/// Returns the options of a sandbox with this description and at most the processors and memory of
/// `most`, and what was left out of it. Its staged directories stay if the archive `has_images` of them.
pub(super) fn imported(
    spec: Spec,
    name: Option<String>,
    upper_bytes: u64,
    most: Resources,
    has_images: bool,
) -> (CreateOptions, Vec<LeftOut>) {
    let name = name.unwrap_or(spec.name);
    let mut left_out = Vec::new();
    let mut process = spec.process;
    if let Some(network) = &spec.network {
        without_placeholders(&mut process.env, &network.secrets);
    }
    if let Some(variable) = spec.guest.agent_variable() {
        process.env.retain(|setting| *setting != variable);
    }
    let mut mounts = spec.mounts;
    mounts.retain(|mount| {
        let reason = host_part(mount, has_images);
        let what = reason.map(|part| format!("{part} at {}", mount.target.as_str()));
        left_out.extend(what.map(LeftOut::option));
        reason.is_none()
    });
    for mount in &mut mounts {
        bound(mount, &mut left_out);
    }
    if spec.memory_mib > most.memory_mib {
        let what = format!("the memory of {} MiB", spec.memory_mib);
        left_out.push(LeftOut::option(what));
    }
    if spec.cpus > most.cpus {
        let what = format!("the number of {} processors", spec.cpus);
        left_out.push(LeftOut::option(what));
    }
    let options = CreateOptions {
        image: spec.image,
        root_disk: None,
        native_root: spec.native_root,
        resources: Resources {
            cpus: spec.cpus.min(most.cpus),
            memory_mib: spec.memory_mib.min(most.memory_mib),
            upper_bytes,
        },
        remove_when_stopped: false,
        removed_with_owner: false,
        labels: spec.labels,
        process,
        restart: spec.restart,
        lifetime: spec.lifetime,
        network: spec.network.map(|network| closed(network, &mut left_out)),
        guest: without_sockets(spec.guest.for_copy(&name), &mut left_out),
        stopping: spec.stopping,
        snapshot_commands: spec.snapshot_commands,
        undo_limit: spec.undo_limit,
        patches: Patches::default(),
        trust: TrustFiles::default(),
        mounts,
        room: None,
        name: Some(name),
    };
    (options, left_out)
}

/// Returns the part of the host that a mount shows; `None` if it shows none.
fn host_part(mount: &Mount, has_images: bool) -> Option<&'static str> {
    match &mount.source {
        Source::Anonymous { .. } | Source::Tmpfs { .. } => None,
        Source::Staged(_) if has_images => None,
        Source::Bind { .. } => Some("the host directory"),
        Source::Staged(_) => Some("the staged directory"),
        Source::BindFile { .. } => Some("the file of the host"),
        Source::Volume { .. } => Some("the volume"),
    }
}

/// Gives a volume without a name at most the default size, and takes from a staged directory what leads to a host.
fn bound(mount: &mut Mount, left_out: &mut Vec<LeftOut>) {
    let target = mount.target.as_str();
    match &mut mount.source {
        Source::Anonymous { size_bytes } if *size_bytes > VOLUME_BYTES => {
            *size_bytes = VOLUME_BYTES;
            let what = format!("the size of the volume at {target}");
            left_out.push(LeftOut::option(what));
        }
        Source::Staged(staged) => staged::close(staged, target, left_out),
        _ => {}
    }
}

/// Returns the settings of a guest without sockets of the host.
fn without_sockets(mut guest: GuestSettings, left_out: &mut Vec<LeftOut>) -> GuestSettings {
    for socket in std::mem::take(&mut guest.sockets) {
        left_out.push(LeftOut::option(format!("the forwarded socket {socket}")));
    }
    if std::mem::take(&mut guest.forward_agent) {
        left_out.push(LeftOut::option("the forwarded SSH agent".to_owned()));
    }
    guest
}

/// Returns network settings that allow no more than they would without a rule.
fn closed(network: Settings, left_out: &mut Vec<LeftOut>) -> Settings {
    for publish in &network.publish {
        left_out.push(LeftOut::option(format!("the published port {publish}")));
    }
    if !network.allow.is_empty() {
        let what = "the destinations that --net-allow allows".to_owned();
        left_out.push(LeftOut::option(what));
    }
    if !network.resolvers.is_empty() {
        left_out.push(LeftOut::option("the resolvers of --dns".to_owned()));
    }
    for secret in &network.secrets {
        left_out.push(LeftOut::option(format!("the secret {}", secret.name)));
    }
    if let Some(proxy) = &network.upstream_proxy {
        left_out.push(LeftOut::option(format!("the upstream proxy {proxy}")));
    }
    if !network.requests.is_empty() {
        let what = "the HTTPS requests that --net-allow allows".to_owned();
        left_out.push(LeftOut::option(what));
    }
    if network.asks {
        left_out.push(LeftOut::option("the questions of --net-ask".to_owned()));
    }
    Settings {
        reach: network.reach,
        deny: network.deny,
        ..Settings::default()
    }
}
