use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use fs_err as fs;
use msb_sandbox_model::engine_of;
use rustix::fs::Stat;

/// The sockets of engines where they are usually. Another name for one of them, such as a bind mount, is found by its inode.
const OF_HOST: [&str; 18] = [
    "/run/docker.sock",
    "/run/podman/podman.sock",
    "/run/containerd/containerd.sock",
    "/run/containerd/containerd.sock.ttrpc",
    "/run/crio/crio.sock",
    "/run/cri-dockerd.sock",
    "/run/buildkit/buildkitd.sock",
    "/run/k3s/containerd/containerd.sock",
    "/run/k0s/containerd.sock",
    "/var/snap/microk8s/common/run/containerd.sock",
    "/run/libvirt/libvirt-sock",
    "/run/libvirt/virtqemud-sock",
    "/var/lib/lxd/unix.socket",
    "/var/snap/lxd/common/lxd/unix.socket",
    "/var/lib/incus/unix.socket",
    "/run/incus/unix.socket",
    "/run/systemd/private",
    "/run/dbus/system_bus_socket",
];
/// The same below the directory of a user in `/run/user`.
const OF_USER: [&str; 8] = [
    "docker.sock",
    "podman/podman.sock",
    "containerd/containerd.sock",
    "buildkit/buildkitd.sock",
    "libvirt/libvirt-sock",
    "libvirt/virtqemud-sock",
    "systemd/private",
    "bus",
];

/// Returns the name of the server of a socket whose clients run any program on the host: by the path that the user names,
/// by the path that this leads to, or by the file.
pub(crate) fn engine_at(path: &Path, real: &Path, found: &Stat) -> Option<&'static str> {
    let named = |path: &Path| engine_of(&path.to_string_lossy());
    let of_file = || {
        let path = usual(found.st_uid).find(|path| is(path, found))?;
        engine_of(&path)
    };
    named(path).or_else(|| named(real)).or_else(of_file)
}

/// Returns the usual paths of engines' sockets, for this user among others.
fn usual(uid: u32) -> impl Iterator<Item = String> {
    let of_user = OF_USER.map(|name| format!("/run/user/{uid}/{name}"));
    OF_HOST.map(str::to_owned).into_iter().chain(of_user)
}

/// Returns true if the path leads to this file.
fn is(path: &str, found: &Stat) -> bool {
    let engine = fs::metadata(path);
    engine.is_ok_and(|engine| (engine.dev(), engine.ino()) == (found.st_dev, found.st_ino))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_usual_path_is_that_of_an_engine() {
        for path in usual(1000) {
            assert!(engine_of(&path).is_some(), "{path}");
        }
    }

    #[test]
    fn a_file_is_known_by_its_inode() {
        let directory = tempfile::tempdir().expect("a directory");
        let [one, other] = ["one", "other"].map(|name| directory.path().join(name));
        fs::write(&one, "").expect("written");
        fs::hard_link(&one, &other).expect("linked");
        let found = rustix::fs::stat(&other).expect("found");
        assert!(is(one.to_str().expect("text"), &found));
        assert!(!is("/", &found));
    }
}
