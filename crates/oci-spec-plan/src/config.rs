//! The whole specification: its objects in the order of their effects.

use container_plan::ContainerPlan;

use crate::node::{Fields, Node};
use crate::plan::{HostPart, Note, Pod, SpecPlan};
use crate::{
    Refusal, SpecError, device, mount, namespace, process, propagation, resources, seccomp, sysctl,
};

/// Plans a container without its id.
pub(crate) fn plan(mut config: Fields, pod: &Pod) -> Result<SpecPlan, SpecError> {
    let mut plan = SpecPlan {
        container: ContainerPlan::default(),
        host: HostPart::default(),
        notes: Vec::new(),
    };
    check_version(&config.require("ociVersion")?)?;
    let process = config.require("process")?.fields()?;
    plan.container.process = process::plan(process, &mut plan.notes)?;
    if let Some(root) = config.object("root")? {
        plan.container.is_root_read_only = is_read_only(root, &mut plan.notes)?;
    }
    plan.container.domainname = config.text("domainname")?;
    let hostname = config.take("hostname");
    for node in config.list("mounts")? {
        mount::plan(node.fields()?, pod, &mut plan)?;
    }
    let linux = config.require("linux")?.fields()?;
    plan_linux(linux, pod, &mut plan)?;
    if let Some(hostname) = hostname {
        namespace::check_hostname(&hostname, plan.container.namespaces)?;
        hostname.text()?.clone_into(&mut plan.container.hostname);
    }
    config.finish(&mut plan.notes)?;
    Ok(plan)
}

fn plan_linux(mut linux: Fields, pod: &Pod, plan: &mut SpecPlan) -> Result<(), SpecError> {
    let container = &mut plan.container;
    let namespaces = linux.list("namespaces")?;
    let planned = namespace::plan(namespaces, pod, &mut plan.notes)?;
    container.namespaces = planned.namespaces;
    plan.host.network_namespace = planned.network;
    for node in linux.list("devices")? {
        container.devices.extend(device::plan(node.fields()?)?);
    }
    let resources = linux.object("resources")?.unwrap_or_default();
    container.cgroup = resources::plan(resources, &mut plan.notes)?;
    // As with runc, devices are denied unless a rule allows them.
    let rules = &mut container.cgroup.device_rules;
    if !rules.first().is_some_and(device::is_of_all) {
        rules.insert(0, device::deny_all());
    }
    if let Some(sysctls) = linux.object("sysctl")? {
        container.sysctls = sysctl::plan(sysctls)?;
    }
    if let Some(propagation) = linux.take("rootfsPropagation") {
        container.root_propagation = propagation::of_root(&propagation)?.into();
    }
    container.masked_paths = linux.texts("maskedPaths")?;
    container.readonly_paths = linux.texts("readonlyPaths")?;
    plan.host.cgroups_path = linux.text("cgroupsPath")?;
    if let Some(profile) = linux.object("seccomp")? {
        container.seccomp = Some(seccomp::plan(profile, pod.architecture, &mut plan.notes)?);
    }
    linux.finish(&mut plan.notes)?;
    Ok(())
}

fn is_read_only(mut root: Fields, notes: &mut Vec<Note>) -> Result<bool, Refusal> {
    let is_read_only = root.flag("readonly")?;
    root.finish(notes)?;
    Ok(is_read_only)
}

/// Checks the version: all of major version 1 add fields only, and an unknown field is refused by its name.
fn check_version(version: &Node) -> Result<(), Refusal> {
    if version.text()?.starts_with("1.") {
        Ok(())
    } else {
        Err(version.refuse("it must be a version 1 of the runtime specification", None))
    }
}
