//! Namespaces: the container's own ones, and those that it shares with its pod.

use container_plan::{NamespaceScope, Namespaces};

use crate::Refusal;
use crate::node::{Fields, Node};
use crate::plan::{Note, Pod};

/// The remedy for a container that wants the host's network.
const WITHOUT_HOST_NETWORK: &str =
    "run it without the host's network (hostNetwork: false, or without --net-host)";

/// The note on a specification without a PID, IPC or UTS namespace.
const HOST_IS_POD: &str = "a namespace of the host is the pod's in a guest";

/// A namespace of a specification.
struct Namespace {
    kind: Node,
    /// The path of an existing namespace; `None` for a new one.
    path: Option<Node>,
}

/// The namespaces of a specification.
#[derive(Debug, Default)]
pub(crate) struct Planned {
    /// The namespaces that the container shares with its pod.
    pub(crate) namespaces: Namespaces,
    /// The path of the pod's network namespace on the host; `None` for a network without interfaces.
    pub(crate) network: Option<String>,
}

/// Plans the namespaces. A namespace of the host becomes the pod's, except that of the network, which is refused.
pub(crate) fn plan(
    namespaces: Vec<Node>,
    pod: &Pod,
    notes: &mut Vec<Note>,
) -> Result<Planned, Refusal> {
    let mut network = None;
    let mut planned = Namespaces::default();
    planned.set_pid(NamespaceScope::Pod);
    planned.set_ipc(NamespaceScope::Pod);
    planned.set_uts(NamespaceScope::Pod);
    let mut seen: Vec<String> = Vec::new();
    for node in namespaces {
        let namespace = Namespace::read(node.fields()?)?;
        let kind = namespace.kind.text()?.to_owned();
        if seen.contains(&kind) {
            let reason = "each kind of namespace can be given once";
            return Err(namespace.kind.refuse(reason, None));
        }
        match kind.as_str() {
            "pid" => planned.set_pid(namespace.scope(pod)?),
            "ipc" => planned.set_ipc(namespace.scope(pod)?),
            "uts" => planned.set_uts(namespace.scope(pod)?),
            "mount" | "cgroup" => namespace.require_new()?,
            "network" => network = namespace.path_text()?,
            _ => return Err(namespace.unsupported(&kind)),
        }
        seen.push(kind);
    }
    let has = |kind: &str| seen.iter().any(|known| known == kind);
    if !has("mount") {
        return Err(host_namespace("give the container a mount namespace"));
    }
    if !has("network") {
        return Err(host_namespace(WITHOUT_HOST_NETWORK));
    }
    if !(has("pid") && has("ipc") && has("uts")) {
        notes.push(Note {
            path: "linux.namespaces".to_owned(),
            reason: HOST_IS_POD,
        });
    }
    Ok(Planned {
        namespaces: planned,
        network,
    })
}

/// Checks that a host name is not given to a UTS namespace that the pod shares, because it would rename the pod.
pub(crate) fn check_hostname(hostname: &Node, namespaces: Namespaces) -> Result<(), Refusal> {
    if namespaces.uts() == NamespaceScope::Container || hostname.text()?.is_empty() {
        return Ok(());
    }
    let reason = "the container shares the host name of its pod";
    Err(hostname.refuse(reason, Some("give the host name to the pod")))
}

impl Namespace {
    fn read(mut fields: Fields) -> Result<Self, Refusal> {
        let kind = fields.require("type")?;
        let path = fields.take("path");
        fields.finish(&mut Vec::new())?;
        let path = match path {
            Some(path) if path.text()?.is_empty() => None,
            path => path,
        };
        Ok(Self { kind, path })
    }

    /// Returns the users of the namespace. The only one that can be joined is that of the VMM process, which stands
    /// for the pod's.
    fn scope(&self, pod: &Pod) -> Result<NamespaceScope, Refusal> {
        let Some(path) = &self.path else {
            return Ok(NamespaceScope::Container);
        };
        let kind = self.kind.text()?;
        let pods = pod.vmm_pid.map(|pid| format!("/proc/{pid}/ns/{kind}"));
        if pods.as_deref() == Some(path.text()?) {
            Ok(NamespaceScope::Pod)
        } else {
            Err(path.refuse(
                "a container can only join the namespaces of its own pod",
                Some("put both containers in one pod"),
            ))
        }
    }

    fn require_new(&self) -> Result<(), Refusal> {
        match &self.path {
            None => Ok(()),
            Some(path) => Err(path.refuse(
                "this namespace is always the container's own",
                Some("give the namespace without a path"),
            )),
        }
    }

    fn path_text(&self) -> Result<Option<String>, Refusal> {
        let Some(path) = &self.path else {
            return Ok(None);
        };
        let text = path.text()?;
        if text.starts_with('/') {
            Ok(Some(text.to_owned()))
        } else {
            Err(path.refuse("it must be an absolute path", None))
        }
    }

    fn unsupported(&self, kind: &str) -> Refusal {
        match kind {
            "user" => self.kind.refuse(
                "user namespaces are not supported",
                Some("run the pod without one (hostUsers: true)"),
            ),
            "time" => self.kind.refuse(
                "time namespaces are not supported",
                Some("run the container without offsets of clocks"),
            ),
            _ => self
                .kind
                .refuse("it must be pid, ipc, uts, mount, cgroup or network", None),
        }
    }
}

fn host_namespace(remedy: &'static str) -> Refusal {
    Refusal {
        path: "linux.namespaces".to_owned(),
        value: "a list without mount or network".to_owned(),
        reason: "a guest cannot use these namespaces of the host",
        remedy: Some(remedy),
    }
}
