//! Commands that msb does not have.

/// A command of Docker or Podman that msb does not have.
#[derive(Debug, Clone, Copy)]
pub struct MissingCommand {
    /// The command's words, without the group that Docker also has it in. Groups are `image`,
    /// `container` and `system`.
    pub words: &'static str,
    /// The complete answer, in one line.
    pub instead: &'static str,
}

const fn missing(words: &'static str, instead: &'static str) -> MissingCommand {
    MissingCommand { words, instead }
}

const BUILD: &str = "msb does not build images; build with docker, podman or buildah, and pass the output of docker \
     save to msb load";
const CLUSTER: &str = "msb runs sandboxes only on this host; msb run -d starts one";
const NETWORKS: &str =
    "msb has no networks to manage, because each sandbox has its own; see --network of msb run";
const CONFIG: &str =
    "msb does not store configs; -e, --env-file, --copy and -v pass them to a sandbox";

/// Every command of Docker, and the common commands of Podman, that msb does not have.
pub const ALL: &[MissingCommand] = &[
    missing("build", BUILD),
    missing("builder", BUILD),
    missing("buildx", BUILD),
    missing(
        "checkpoint",
        "msb does not save memory; msb snapshot create saves the files of a sandbox, and msb \
         rollback goes back to them",
    ),
    missing(
        "compose",
        "msb does not read compose files; start each service with msb run -d, and reach \
             published ports with --net-allow",
    ),
    missing("config", CONFIG),
    missing(
        "context",
        "msb runs sandboxes only on this host; --home or MSB_HOME sets their directory",
    ),
    missing(
        "events",
        "msb does not report events; see msb wait, msb logs -f and msb ps --format json",
    ),
    missing(
        "export",
        "msb has no export; msb cp -x NAME:/ - writes a sandbox's files as a tar archive",
    ),
    missing(
        "healthcheck",
        "msb does not run health checks; msb exec NAME COMMAND runs one",
    ),
    missing(
        "import",
        "msb does not create an image from an archive of files; use docker import, then docker \
             save | msb load",
    ),
    missing(
        "info",
        "msb has no info command; see msb version, msb doctor and msb df",
    ),
    missing(
        "kube",
        "msb does not read Kubernetes files; start each container of a pod with msb run -d",
    ),
    missing(
        "machine",
        "msb does not need a machine to run in; msb doctor checks whether this host can run \
             sandboxes",
    ),
    missing(
        "manifest",
        "msb has no manifest lists; msb pull --platform chooses one of an image's platforms",
    ),
    missing(
        "network ls",
        "msb has no networks to list; see --network of msb run",
    ),
    missing("network connect", NETWORKS),
    missing("network create", NETWORKS),
    missing("network disconnect", NETWORKS),
    missing("network inspect", NETWORKS),
    missing("network prune", NETWORKS),
    missing("node", CLUSTER),
    missing(
        "plugin",
        "msb has no plugins; volumes, networks and logs are built in",
    ),
    missing(
        "pod",
        "msb has no pods; sandboxes reach each other's published ports with --net-allow",
    ),
    missing(
        "search",
        "msb does not search registries; skopeo list-tags docker://IMAGE lists the tags of an image",
    ),
    missing("service", CLUSTER),
    missing("stack", CLUSTER),
    missing("swarm", CLUSTER),
    missing(
        "trust",
        "msb checks digests, but not signatures; name an image by its digest to get exactly \
             that image",
    ),
    missing(
        "upgrade",
        "msb does not replace itself; install a newer msb over it, and running sandboxes \
             continue",
    ),
];

/// Returns the answer to the command that `typed` begins with, below the command `path`, which is empty
/// for the first word. `None` if msb has no answer.
#[must_use]
pub fn answer(path: &str, typed: &[&str]) -> Option<&'static str> {
    let named = |words: &str| ALL.iter().find(|missing| missing.words == words);
    if path == "network" {
        // msb has the group, and not all of its commands.
        let words = format!("{path} {}", typed.first()?);
        return Some(named(&words)?.instead);
    }
    if !matches!(path, "" | "image" | "container" | "system") {
        return None;
    }
    let both = typed.join(" ");
    let missing = named(&both).or_else(|| named(typed.first()?))?;
    Some(missing.instead)
}
