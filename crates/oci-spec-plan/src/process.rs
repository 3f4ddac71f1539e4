//! A process: its arguments, its user, its limits.

use container_plan::{Capabilities, Process, RLIMITS, Rlimit, TerminalSize, capability_bit};

use crate::Refusal;
use crate::fields::AMBIENT;
use crate::node::{Fields, Node};
use crate::plan::Note;

/// Plans the process of a container or of an exec.
pub(crate) fn plan(mut process: Fields, notes: &mut Vec<Note>) -> Result<Process, Refusal> {
    let mut planned = Process {
        args: process.texts("args")?,
        env: process.texts("env")?,
        cwd: process.text("cwd")?,
        no_new_privileges: process.flag("noNewPrivileges")?,
        oom_score_adj: process.number("oomScoreAdj")?,
        ..Process::default()
    };
    if let Some(user) = process.object("user")? {
        plan_user(user, &mut planned, notes)?;
    }
    let size = match process.object("consoleSize")? {
        Some(size) => terminal_size(size, notes)?,
        None => TerminalSize::default(),
    };
    planned.terminal = process.flag("terminal")?.then_some(size);
    for node in process.list("rlimits")? {
        planned.rlimits.push(rlimit(node.fields()?, notes)?);
    }
    if let Some(sets) = process.object("capabilities")? {
        planned.capabilities = capabilities(sets, notes)?;
    }
    process.finish(notes)?;
    Ok(planned)
}

fn plan_user(
    mut user: Fields,
    process: &mut Process,
    notes: &mut Vec<Note>,
) -> Result<(), Refusal> {
    process.uid = user.number("uid")?.unwrap_or(0);
    process.gid = user.number("gid")?.unwrap_or(0);
    process.umask = user.number("umask")?;
    let groups = user.list("additionalGids")?;
    process.additional_gids = groups.iter().map(Node::number).collect::<Result<_, _>>()?;
    user.finish(notes)
}

fn terminal_size(mut size: Fields, notes: &mut Vec<Note>) -> Result<TerminalSize, Refusal> {
    let planned = TerminalSize {
        columns: size.number("width")?.unwrap_or(0),
        rows: size.number("height")?.unwrap_or(0),
    };
    size.finish(notes)?;
    Ok(planned)
}

fn rlimit(mut limit: Fields, notes: &mut Vec<Note>) -> Result<Rlimit, Refusal> {
    let kind = limit.require("type")?;
    let resource = kind.text()?.strip_prefix("RLIMIT_");
    let resource = resource.map(str::to_ascii_lowercase).unwrap_or_default();
    if !RLIMITS.contains(&resource.as_str()) {
        let reason = "it must be a resource of setrlimit(2) such as RLIMIT_NOFILE";
        return Err(kind.refuse(reason, None));
    }
    let planned = Rlimit {
        resource,
        soft: limit.require("soft")?.number()?,
        hard: limit.require("hard")?.number()?,
    };
    limit.finish(notes)?;
    Ok(planned)
}

fn capabilities(mut sets: Fields, notes: &mut Vec<Note>) -> Result<Capabilities, Refusal> {
    let mut set = |name: &str| -> Result<u64, Refusal> {
        let names = sets.list(name)?;
        names.iter().try_fold(0, |set, node| Ok(set | bit(node)?))
    };
    let mut planned = Capabilities {
        bounding: set("bounding")?,
        effective: set("effective")?,
        permitted: set("permitted")?,
        inheritable: set("inheritable")?,
        ambient: set("ambient")?,
    };
    sets.finish(notes)?;
    let raised = planned.ambient & planned.permitted & planned.inheritable;
    if raised != planned.ambient {
        // The default specification of runc has such a set.
        notes.push(Note {
            path: "process.capabilities.ambient".to_owned(),
            reason: AMBIENT,
        });
        planned.ambient = raised;
    }
    Ok(planned)
}

fn bit(node: &Node) -> Result<u64, Refusal> {
    capability_bit(node.text()?)
        .ok_or_else(|| node.refuse("it must be a capability such as CAP_CHOWN", None))
}
