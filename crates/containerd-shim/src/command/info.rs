use containerd_protocol::Message as _;
use containerd_protocol::bootstrap::{ALLOWED_MOUNTS, RuntimeInfo, RuntimeVersion};
use containerd_protocol::mount::MountCapabilities;

use crate::Shim;

/// Returns the description of the runtime, a message.
pub(super) fn info(shim: &impl Shim) -> Vec<u8> {
    let mounts = allowed_mounts(&shim.mounts());
    let annotation = (!mounts.is_empty()).then(|| (ALLOWED_MOUNTS.to_owned(), mounts));
    let info = RuntimeInfo {
        name: shim.name().to_owned(),
        version: Some(RuntimeVersion {
            version: shim.version().to_owned(),
            revision: String::new(),
        }),
        options: None,
        features: None,
        annotations: annotation.into_iter().collect(),
    };
    info.encode_to_vec()
}

/// Returns the kinds of mounts as the annotation has them, such as `erofs,format/*`.
fn allowed_mounts(mounts: &MountCapabilities) -> String {
    let transforms = mounts
        .transforms
        .iter()
        .map(|transform| format!("{transform}/*"));
    let kinds: Vec<_> = mounts.types.iter().cloned().chain(transforms).collect();
    kinds.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transforms_are_allowed_with_every_type_behind_them() {
        let mounts = MountCapabilities {
            types: vec!["erofs".into()],
            transforms: vec!["format".into(), "mkfs".into(), "mkdir".into()],
        };
        assert_eq!(allowed_mounts(&mounts), "erofs,format/*,mkfs/*,mkdir/*");
        assert_eq!(allowed_mounts(&MountCapabilities::default()), "");
    }
}
