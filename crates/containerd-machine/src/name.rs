//! The names of sandboxes.

use msb_containerd_shim::Group;
use sha2::{Digest as _, Sha256};

/// The beginning of every name.
const PREFIX: &str = "ctr-";
/// The hexadecimal digits of a name: 128 bits.
const DIGITS: usize = 32;

/// Returns the name of a group's sandbox. It is the same each time, and another for each containerd.
pub(crate) fn sandbox_name(group: &Group) -> String {
    let mut hash = Sha256::new();
    for part in [&group.containerd, &group.namespace, &group.id] {
        hash.update(part);
        hash.update([0]);
    }
    let digits = hex::encode(hash.finalize());
    format!("{PREFIX}{}", digits.get(..DIGITS).unwrap_or(&digits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_has_one_sandbox_for_each_containerd() {
        let name = |containerd: &str, namespace: &str, id: &str| {
            sandbox_name(&Group {
                namespace: namespace.to_owned(),
                containerd: containerd.to_owned(),
                id: id.to_owned(),
            })
        };
        let one = name("/c", "n", "a");
        assert_eq!(one.len(), PREFIX.len() + DIGITS);
        assert_eq!(one, name("/c", "n", "a"));
        for other in [
            name("/d", "n", "a"),
            name("/c", "na", ""),
            name("/c", "n", "b"),
        ] {
            assert_ne!(one, other);
        }
    }
}
