//! Chain IDs: the names that containerd gives to the snapshots of an image's layers.

use oci_image::Digest;

/// Returns the chain ID of layers, the base layer first (OCI image specification, config.md, "Layer ChainID"); empty
/// without a layer.
pub(super) fn chain_id(diff_ids: &[Digest]) -> String {
    let mut layers = diff_ids.iter();
    let Some(base) = layers.next() else {
        return String::new();
    };
    let chain = layers.fold(*base, |chain, diff_id| {
        Digest::compute(format!("{chain} {diff_id}").as_bytes())
    });
    chain.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_is_the_digest_of_the_chain_below_and_the_layer() {
        let [a, b, c] = [b"a", b"b", b"c"].map(|bytes| Digest::compute(bytes));
        assert_eq!(chain_id(&[]), "");
        assert_eq!(chain_id(&[a]), a.to_string());
        let two = Digest::compute(format!("{a} {b}").as_bytes());
        assert_eq!(chain_id(&[a, b]), two.to_string());
        let three = Digest::compute(format!("{two} {c}").as_bytes());
        assert_eq!(chain_id(&[a, b, c]), three.to_string());
    }
}
