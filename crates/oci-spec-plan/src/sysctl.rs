//! Kernel parameters: those that belong to the container's namespaces.

use container_plan::Sysctl;

use crate::Refusal;
use crate::node::Fields;

/// The parameters of an IPC namespace.
const IPC: [&str; 8] = [
    "kernel.msgmax",
    "kernel.msgmnb",
    "kernel.msgmni",
    "kernel.sem",
    "kernel.shmall",
    "kernel.shmmax",
    "kernel.shmmni",
    "kernel.shm_rmid_forced",
];

/// Plans the parameters, in the order of the map.
pub(crate) fn plan(sysctls: Fields) -> Result<Vec<Sysctl>, Refusal> {
    sysctls
        .entries()
        .map(|(name, node)| {
            let name = dotted(&name);
            let is_of_namespace = IPC.contains(&name.as_str())
                || name.starts_with("fs.mqueue.")
                || name.starts_with("net.");
            if !is_of_namespace {
                let reason =
                    "the parameter belongs to the kernel, not to the container's namespaces";
                let remedy = "give parameters of IPC, message queues and the network only";
                return Err(node.refuse(reason, Some(remedy)));
            }
            Ok(Sysctl {
                name,
                value: node.text()?.to_owned(),
            })
        })
        .collect()
}

/// Returns a name with dots. As sysctl(8) has it, the first separator decides: after a slash, dots are part of names.
fn dotted(name: &str) -> String {
    let first = name.find(['.', '/']);
    if first.is_some_and(|index| name[index..].starts_with('/')) {
        let swapped = |letter| match letter {
            '/' => '.',
            '.' => '/',
            other => other,
        };
        name.chars().map(swapped).collect()
    } else {
        name.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_slashes_gets_dots() {
        assert_eq!(dotted("net.ipv4.ip_forward"), "net.ipv4.ip_forward");
        assert_eq!(dotted("net/ipv4/ip_forward"), "net.ipv4.ip_forward");
        assert_eq!(
            dotted("net/ipv4/conf/eth0.1/mtu"),
            "net.ipv4.conf.eth0/1.mtu"
        );
        assert_eq!(
            dotted("net.ipv4.conf.eth0/1.mtu"),
            "net.ipv4.conf.eth0/1.mtu"
        );
        assert_eq!(dotted("x"), "x");
    }
}
