/// The ends of the paths of sockets whose clients run any program on the host, and the names of their servers. A component
/// `*` stands for any one.
const ENGINES: [(&str, &str); 30] = [
    ("docker.sock", "Docker"),
    ("docker.raw.sock", "Docker"),
    ("dockershim.sock", "Docker"),
    ("cri-dockerd.sock", "Docker"),
    ("podman.sock", "Podman"),
    ("containerd.sock", "containerd"),
    ("containerd.sock.ttrpc", "containerd"),
    ("nri.sock", "containerd"),
    ("crio.sock", "CRI-O"),
    ("buildkitd.sock", "BuildKit"),
    ("k3s.sock", "k3s"),
    ("finch.sock", "Finch"),
    ("balena-engine.sock", "balenaEngine"),
    ("libvirt-sock", "libvirt"),
    ("libvirt-sock-ro", "libvirt"),
    ("libvirt-admin-sock", "libvirt"),
    ("virtqemud-sock", "libvirt"),
    ("virtqemud-sock-ro", "libvirt"),
    ("virtqemud-admin-sock", "libvirt"),
    ("virtlxcd-sock", "libvirt"),
    ("virtchd-sock", "libvirt"),
    ("virtxend-sock", "libvirt"),
    ("lxd/unix.socket", "LXD"),
    ("lxd-user/unix.socket", "LXD"),
    ("incus/unix.socket", "Incus"),
    ("incus/unix.socket.user", "Incus"),
    ("systemd/private", "systemd"),
    ("systemd/io.systemd.Manager", "systemd"),
    ("system_bus_socket", "D-Bus"),
    ("user/*/bus", "D-Bus"),
];

/// Returns the name of the server of a socket whose clients run any program on the host, by the socket's path: an engine of
/// containers or virtual machines, or a service manager. `None` if the path is not known as that of one.
#[must_use]
pub fn engine_of(path: &str) -> Option<&'static str> {
    let known = ENGINES.iter().find(|(end, _)| ends_with(path, end));
    known.map(|(_, engine)| *engine)
}

fn ends_with(path: &str, end: &str) -> bool {
    let mut parts = path.rsplit('/');
    let mut wanted = end.rsplit('/');
    wanted.all(|wanted| {
        let part = parts.next();
        part.is_some_and(|part| wanted == "*" || part == wanted)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_are_known_by_the_ends_of_their_paths() {
        for (path, engine) in [
            ("/var/run/docker.sock", "Docker"),
            ("/home/me/.docker/run/docker.sock", "Docker"),
            ("/run/user/1000/podman/podman.sock", "Podman"),
            ("/run/k3s/containerd/containerd.sock", "containerd"),
            ("/var/run/crio/crio.sock", "CRI-O"),
            ("/run/user/1000/buildkit/buildkitd.sock", "BuildKit"),
            ("/run/libvirt/virtqemud-sock", "libvirt"),
            ("/var/snap/lxd/common/lxd/unix.socket", "LXD"),
            ("/var/lib/incus/unix.socket", "Incus"),
            ("/run/user/1000/systemd/private", "systemd"),
            ("/run/user/1000/bus", "D-Bus"),
        ] {
            assert_eq!(engine_of(path), Some(engine), "{path}");
        }
    }

    #[test]
    fn other_sockets_are_not_engines() {
        for path in [
            "/srv/app/unix.socket",
            "/srv/bus",
            "/srv/user/bus",
            "/run/docker.sock/agent",
            "/run/mydocker.sock",
            "bus",
            "",
        ] {
            assert_eq!(engine_of(path), None, "{path}");
        }
    }
}
