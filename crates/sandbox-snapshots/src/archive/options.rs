//! The options of an imported sandbox. An archive may come from anybody, so nothing in it leads to this
//! host: to its files, its volumes, its ports and its network. It takes no more of the host's memory,
//! processors and disk than a sandbox does that is created without options.

use msb_network::Settings;
use msb_patches::Patches;
use msb_runtime::{CreateOptions, Mount, Resources, Source, Spec, VOLUME_BYTES};

/// Returns the options of a sandbox with this description and at most the processors and memory of
/// `most`, and what was left out of it.
pub(super) fn imported(
    spec: Spec,
    name: Option<String>,
    upper_bytes: u64,
    most: Resources,
) -> (CreateOptions, Vec<String>) {
    let name = name.unwrap_or(spec.name);
    let mut left_out = Vec::new();
    let mut mounts = spec.mounts;
    mounts.retain(|mount| is_inside(mount, &mut left_out));
    for mount in &mut mounts {
        bound(mount, &mut left_out);
    }
    if spec.memory_mib > most.memory_mib {
        left_out.push(format!("the memory of {} MiB", spec.memory_mib));
    }
    if spec.cpus > most.cpus {
        left_out.push(format!("the number of {} processors", spec.cpus));
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
        process: spec.process,
        restart: spec.restart,
        lifetime: spec.lifetime,
        network: spec.network.map(|network| closed(network, &mut left_out)),
        guest: spec.guest.for_copy(&name),
        stopping: spec.stopping,
        ready_for_snapshots: true,
        snapshot_commands: spec.snapshot_commands,
        undo_limit: spec.undo_limit,
        patches: Patches::default(),
        mounts,
        room: None,
        name: Some(name),
    };
    (options, left_out)
}

/// Returns true if a mount has nothing of the host.
fn is_inside(mount: &Mount, left_out: &mut Vec<String>) -> bool {
    let what = match &mount.source {
        Source::Anonymous { .. } | Source::Tmpfs { .. } => return true,
        Source::Bind { .. } => "the host directory",
        Source::Staged(_) => "the staged directory",
        Source::BindFile { .. } => "the file of the host",
        Source::Volume { .. } => "the volume",
    };
    left_out.push(format!("{what} at {}", mount.target.as_str()));
    false
}

/// Gives a volume without a name at most the default size.
fn bound(mount: &mut Mount, left_out: &mut Vec<String>) {
    if let Source::Anonymous { size_bytes } = &mut mount.source
        && *size_bytes > VOLUME_BYTES
    {
        *size_bytes = VOLUME_BYTES;
        let target = mount.target.as_str();
        left_out.push(format!("the size of the volume at {target}"));
    }
}

/// Returns network settings that allow no more than they would without a rule.
fn closed(network: Settings, left_out: &mut Vec<String>) -> Settings {
    for publish in &network.publish {
        left_out.push(format!("the published port {publish}"));
    }
    if !network.allow.is_empty() {
        left_out.push("the destinations that --net-allow allows".to_owned());
    }
    if !network.resolvers.is_empty() {
        left_out.push("the resolvers of --dns".to_owned());
    }
    Settings {
        reach: network.reach,
        deny: network.deny,
        allow: Vec::new(),
        publish: Vec::new(),
        resolvers: Vec::new(),
    }
}
