use super::Instead::{Line, UntilThen};
use super::MissingCommand;

const fn missing(words: &'static str, instead: super::Instead) -> MissingCommand {
    MissingCommand { words, instead }
}

const BUILD: super::Instead = Line(
    "msb builds no images; build with docker, podman or buildah, and give msb load what docker save writes",
);
const CLUSTER: super::Instead =
    Line("msb runs sandboxes on this host alone and knows of no others; msb run -d starts one");
const CONFIG: super::Instead = Line(
    "msb keeps no configs and secrets; -e, --env-file, --copy and -v bring them into a sandbox",
);
const PAUSE: super::Instead = Line(
    "msb does not pause sandboxes; msb kill -s STOP NAME stops a sandbox's command, and -s CONT lets it go on",
);

/// Every command of Docker, and the common commands of Podman, that msb does not have.
pub(super) const ALL: &[MissingCommand] = &[
    missing(
        "commit",
        UntilThen("msb cp takes files out of a sandbox, and a volume hands them to another"),
    ),
    missing(
        "diff",
        UntilThen("msb cp -x NAME:/ - | tar t lists all files of a sandbox"),
    ),
    missing(
        "history",
        UntilThen("msb image inspect lists an image's layers"),
    ),
    missing(
        "login",
        UntilThen("docker login writes what msb pull reads, ~/.docker/config.json"),
    ),
    missing(
        "logout",
        UntilThen("docker logout removes what msb pull reads, in ~/.docker/config.json"),
    ),
    missing(
        "push",
        UntilThen("skopeo copy sends the archive that an image was loaded from"),
    ),
    missing(
        "save",
        UntilThen("skopeo copy takes an image from its registry as an archive"),
    ),
    missing(
        "tag",
        UntilThen("msb load --tag NAME gives an image its name"),
    ),
    missing("build", BUILD),
    missing("builder", BUILD),
    missing("buildx", BUILD),
    missing(
        "checkpoint",
        Line(
            "msb takes no checkpoints; msb stop keeps what a sandbox has written, msb start goes on from there",
        ),
    ),
    missing(
        "compose",
        Line(
            "msb reads no compose files; start each service with msb run -d, and let one reach the published port of another with --net-allow",
        ),
    ),
    missing("config", CONFIG),
    missing(
        "context",
        Line(
            "msb runs sandboxes on this host alone; --home or MSB_HOME choose where they are kept",
        ),
    ),
    missing(
        "events",
        Line(
            "msb reports no events; msb wait, msb logs -f and msb ps --format json tell what happens",
        ),
    ),
    missing(
        "export",
        Line("msb has no export; msb cp -x NAME:/ - writes a sandbox's files as a tar archive"),
    ),
    missing(
        "healthcheck",
        Line("msb runs no health checks; msb exec NAME COMMAND runs one"),
    ),
    missing(
        "import",
        Line(
            "msb makes no image of a directory's archive; docker import does, and docker save | msb load brings it here",
        ),
    ),
    missing(
        "info",
        Line("msb has no info; msb version, msb doctor and msb df say what docker info says"),
    ),
    missing(
        "kube",
        Line("msb reads no Kubernetes files; start each container of a pod with msb run -d"),
    ),
    missing(
        "machine",
        Line("msb needs no machine to run in; msb doctor says whether this host can run sandboxes"),
    ),
    missing(
        "manifest",
        Line("msb has no manifest lists; msb pull --platform chooses one of an image's platforms"),
    ),
    missing(
        "network ls",
        Line("msb has no networks to list; see --network of msb run"),
    ),
    missing(
        "network",
        Line("msb has no networks to manage, each sandbox has its own; see --network of msb run"),
    ),
    missing("node", CLUSTER),
    missing("pause", PAUSE),
    missing(
        "plugin",
        Line("msb has no plugins; volumes, networks and logs are its own"),
    ),
    missing(
        "pod",
        Line(
            "msb has no pods; let one sandbox reach the published port of another with --net-allow",
        ),
    ),
    missing(
        "search",
        Line(
            "msb does not search registries; skopeo list-tags docker://IMAGE lists the tags of an image",
        ),
    ),
    missing("secret", CONFIG),
    missing("service", CLUSTER),
    missing("stack", CLUSTER),
    missing("swarm", CLUSTER),
    missing(
        "trust",
        Line(
            "msb checks digests and no signatures; name an image by its digest to have that one alone",
        ),
    ),
    missing("unpause", PAUSE),
    missing(
        "upgrade",
        Line("msb does not replace itself; put a newer msb in its place, running sandboxes go on"),
    ),
];
