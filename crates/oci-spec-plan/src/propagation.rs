//! The propagation of mounts.

use container_plan::Propagation;

use crate::Refusal;
use crate::node::Node;

/// Returns the propagation of an option of mount(8); `None` if the option is another one.
pub(crate) fn named(option: &str) -> Option<Propagation> {
    Some(match option {
        "private" => Propagation::Private,
        "rprivate" => Propagation::RecursivePrivate,
        "slave" => Propagation::Slave,
        "rslave" => Propagation::RecursiveSlave,
        "unbindable" => Propagation::Unbindable,
        "runbindable" => Propagation::RecursiveUnbindable,
        _ => return None,
    })
}

/// Returns the propagation of a root filesystem. Nothing is mounted in a guest but by its containers, so a root that
/// would follow the host's mounts has none to follow.
pub(crate) fn of_root(node: &Node) -> Result<Propagation, Refusal> {
    match node.text()? {
        "" => Ok(Propagation::Unspecified),
        text => named(text).ok_or_else(|| refuse_shared(node)),
    }
}

/// Returns the propagation of a bind of the host's files.
pub(crate) fn of_bind(node: &Node, propagation: Propagation) -> Result<Propagation, Refusal> {
    match propagation {
        Propagation::Slave | Propagation::RecursiveSlave => Err(node.refuse(
            "later mounts of the host do not appear in a guest",
            Some("mount the volume with private propagation (mountPropagation: None)"),
        )),
        other => Ok(other),
    }
}

/// Returns the refusal of shared mounts.
pub(crate) fn refuse_shared(node: &Node) -> Refusal {
    node.refuse(
        "mounts of a guest cannot appear on the host",
        Some("use private propagation (mountPropagation: None)"),
    )
}
