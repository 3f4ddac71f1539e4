//! The socket of a shim: one for each group of containers and each containerd.

use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

/// The scheme of an address.
const UNIX: &str = "unix://";

/// Returns the path of the socket of a group. It is the same for each start of the group.
pub(super) fn socket_path(
    directory: &Path,
    containerd: &str,
    namespace: &str,
    group: &str,
) -> PathBuf {
    let mut hash = Sha256::new();
    for part in [containerd, namespace, group] {
        hash.update(part);
        hash.update([0]);
    }
    // 128 bits: a path of a socket has at most 107 bytes.
    let digest = hex::encode(hash.finalize());
    directory.join(digest.get(..32).unwrap_or_default())
}

/// Returns the address of a socket.
pub(super) fn to_address(socket: &Path) -> String {
    format!("{UNIX}{}", socket.display())
}

/// Returns the path of an address, with or without its scheme.
pub(super) fn to_path(address: &str) -> &Path {
    Path::new(address.strip_prefix(UNIX).unwrap_or(address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_has_one_socket_for_each_containerd() {
        let path = |containerd, namespace, group| {
            socket_path(Path::new("/s"), containerd, namespace, group)
        };
        let one = path("/c", "n", "g");
        assert_eq!(one, path("/c", "n", "g"));
        assert_eq!(one.as_os_str().len(), "/s/".len() + 32);
        for other in [
            path("/d", "n", "g"),
            path("/c", "ng", ""),
            path("/c", "n", "h"),
        ] {
            assert_ne!(one, other);
        }
        assert_eq!(to_path(&to_address(&one)), one);
    }
}
