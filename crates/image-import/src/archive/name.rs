use std::collections::BTreeMap;

/// The annotation in which containerd and BuildKit write the full name.
const CONTAINERD_NAME: &str = "io.containerd.image.name";
/// The specification's annotation: some programs write a tag in it, others a full name.
const REF_NAME: &str = "org.opencontainers.image.ref.name";

/// Returns the name that an index entry's annotations state.
/// A single word is a tag without a repository, and not a name.
pub(super) fn from_annotations(annotations: &BTreeMap<String, String>) -> Option<String> {
    if let Some(name) = annotations.get(CONTAINERD_NAME) {
        return Some(name.clone());
    }
    annotations
        .get(REF_NAME)
        .filter(|name| name.contains(['/', ':', '@']))
        .cloned()
}

/// Returns every name and tag that an index entry's annotations state.
pub(super) fn stated(annotations: &BTreeMap<String, String>) -> impl Iterator<Item = &str> {
    let keys = [REF_NAME, CONTAINERD_NAME].into_iter();
    keys.filter_map(|key| annotations.get(key))
        .map(String::as_str)
}

/// Returns a name from the archive's root without `.`, `..` and empty components.
/// `None` for a name that leads out of the root, or to the root itself.
pub(super) fn normal(name: &str) -> Option<String> {
    let mut components: Vec<&str> = Vec::new();
    for component in name.split('/') {
        match component {
            "" | "." => {}
            ".." => {
                components.pop()?;
            }
            other => components.push(other),
        }
    }
    (!components.is_empty()).then(|| components.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_leads_out() {
        assert_eq!(normal("./a//b/../c").as_deref(), Some("a/c"));
        assert_eq!(normal("/etc/passwd").as_deref(), Some("etc/passwd"));
        for name in ["..", "a/../../b", "", "/", "."] {
            assert_eq!(normal(name), None, "{name}");
        }
    }

    #[test]
    fn full_names_are_taken_and_tags_are_not() {
        let name = |pairs: &[(&str, &str)]| {
            let pairs = pairs
                .iter()
                .map(|&(key, value)| (key.to_owned(), value.to_owned()));
            from_annotations(&pairs.collect())
        };
        let full = "docker.io/library/a:1";
        assert_eq!(
            name(&[(REF_NAME, "1"), (CONTAINERD_NAME, full)]).as_deref(),
            Some(full)
        );
        assert_eq!(name(&[(REF_NAME, "a:1")]).as_deref(), Some("a:1"));
        assert_eq!(name(&[(REF_NAME, "latest")]), None);
        assert_eq!(name(&[]), None);
    }
}
