//! Device nodes: a fixed list that every guest has.

use container_plan::{Device, DeviceKind, DeviceRule, STANDARD_DEVICES};

use crate::Refusal;
use crate::node::{Fields, Node};

/// The character devices of a guest that a specification can add: `/dev/fuse` and `/dev/net/tun`.
const GUEST_DEVICES: [(u32, u32); 2] = [(10, 229), (10, 200)];
/// The character devices that every container has besides the standard ones: `/dev/console` and `/dev/ptmx`.
const TERMINALS: [(u32, u32); 2] = [(5, 1), (5, 2)];
/// The access to a device: reading, writing, mknod.
const ALL_ACCESS: &str = "rwm";
/// The mode of a device without one.
const MODE: u32 = 0o666;

/// Plans a device; `None` if every container has it.
pub(crate) fn plan(mut fields: Fields) -> Result<Option<Device>, Refusal> {
    let path = fields.require("path")?;
    let kind = fields.require("type")?;
    let major = fields.number::<u32>("major")?.unwrap_or(0);
    let minor = fields.number::<u32>("minor")?.unwrap_or(0);
    let mode = fields.number("fileMode")?.unwrap_or(MODE);
    let uid = fields.number("uid")?.unwrap_or(0);
    let gid = fields.number("gid")?.unwrap_or(0);
    fields.finish(&mut Vec::new())?;
    let is_character = matches!(kind.text()?, "c" | "u");
    let name = path.text()?;
    let is_standard = STANDARD_DEVICES
        .iter()
        .any(|device| (device.path, device.major, device.minor) == (name, major, minor));
    if is_character && (is_standard || TERMINALS.contains(&(major, minor))) {
        return Ok(None);
    }
    if !is_character || !GUEST_DEVICES.contains(&(major, minor)) {
        return Err(refused(&path));
    }
    Ok(Some(Device {
        path: name.to_owned(),
        kind: DeviceKind::Character.into(),
        major,
        minor,
        // The type of the file can be part of the mode.
        mode: mode & 0o7777,
        uid,
        gid,
    }))
}

/// Returns the rule that denies all access to devices, which is runc's default.
pub(crate) fn deny_all() -> DeviceRule {
    DeviceRule {
        access: ALL_ACCESS.to_owned(),
        ..DeviceRule::default()
    }
}

/// Returns true if a rule is about all access to all devices.
pub(crate) fn is_of_all(rule: &DeviceRule) -> bool {
    rule.kind() == DeviceKind::Any
        && (rule.major, rule.minor) == (None, None)
        && ALL_ACCESS
            .chars()
            .all(|access| rule.access.contains(access))
}

/// Plans a rule for the access to devices.
pub(crate) fn rule(mut fields: Fields) -> Result<DeviceRule, Refusal> {
    let is_allowed = fields.flag("allow")?;
    let kind = match fields.take("type") {
        None => DeviceKind::Any,
        Some(kind) => match kind.text()? {
            "" | "a" => DeviceKind::Any,
            "c" | "u" => DeviceKind::Character,
            "b" => DeviceKind::Block,
            _ => return Err(kind.refuse("it must be a, b or c", None)),
        },
    };
    let access = fields.take("access");
    let rule = DeviceRule {
        is_allowed,
        kind: kind.into(),
        major: number(fields.take("major"))?,
        minor: number(fields.take("minor"))?,
        access: match &access {
            None => ALL_ACCESS.to_owned(),
            Some(access) => match access.text()? {
                "" => ALL_ACCESS.to_owned(),
                text => text.to_owned(),
            },
        },
    };
    fields.finish(&mut Vec::new())?;
    Ok(rule)
}

/// Returns a number of a device; `None` for all, which is -1 or missing.
fn number(node: Option<Node>) -> Result<Option<u32>, Refusal> {
    match node {
        None => Ok(None),
        Some(node) if node.number::<i64>().is_ok_and(|number| number == -1) => Ok(None),
        Some(node) => node.number().map(Some),
    }
}

fn refused(path: &Node) -> Refusal {
    path.refuse(
        "a guest has no such device; it has /dev/fuse and /dev/net/tun",
        Some(
            "remove the device; for privileged containers set privileged_without_host_devices = \
             true in the runtime's configuration of containerd",
        ),
    )
}
