//! The functions of this crate: from text to a plan that a guest accepts.

use container_plan::{Cgroup, Process};

use crate::node::Node;
use crate::{Pod, SpecError, SpecPlan, config, process, resources};

/// Turns the `config.json` of a bundle into a plan.
///
/// # Errors
/// If the text is too large or not JSON, or if it has a field that is unknown, invalid or not supported.
pub fn plan_container(id: &str, config: &[u8], pod: &Pod) -> Result<SpecPlan, SpecError> {
    let fields = Node::parse(config, "")?.fields()?;
    let mut plan = config::plan(fields, pod)?;
    id.clone_into(&mut plan.container.id);
    // The guest checks again; here an error still is the caller's.
    plan.container.to_bytes()?;
    Ok(plan)
}

/// Turns a `Process` of the runtime specification into a further process of a container.
///
/// # Errors
/// If the text is too large or not JSON, or if it has a field that is unknown, invalid or not supported.
pub fn plan_process(process: &[u8]) -> Result<Process, SpecError> {
    let fields = Node::parse(process, "process")?.fields()?;
    let planned = process::plan(fields, &mut Vec::new())?;
    planned.to_bytes()?;
    Ok(planned)
}

/// Turns the `LinuxResources` of the runtime specification into the values of a control group.
///
/// # Errors
/// If the text is too large or not JSON, or if it has a field that is unknown, invalid or not supported.
pub fn plan_resources(resources: &[u8]) -> Result<Cgroup, SpecError> {
    let fields = Node::parse(resources, "linux.resources")?.fields()?;
    let planned = resources::plan(fields, &mut Vec::new())?;
    planned.to_bytes()?;
    Ok(planned)
}
