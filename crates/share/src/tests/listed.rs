use std::path::Path;

use crate::{Permission, Permissions};

/// Permissions of whole paths, which also hold below them.
pub(super) struct Listed(pub(super) &'static [(&'static str, Permission)]);

impl Permissions for Listed {
    fn of(&self, path: &[u8]) -> Permission {
        let path = std::str::from_utf8(path).unwrap();
        let is_at = |listed: &str| Path::new(path).starts_with(listed);
        let nearest = self.0.iter().filter(|(listed, _)| is_at(listed));
        let nearest = nearest.max_by_key(|(listed, _)| listed.len());
        nearest.map_or(Permission::All, |(_, permission)| *permission)
    }

    fn shows_below(&self, path: &[u8]) -> bool {
        let below = self.below(path);
        below
            .into_iter()
            .any(|permission| permission != Permission::Nothing)
    }

    fn depends_below(&self, path: &[u8]) -> bool {
        !self.below(path).is_empty()
    }
}

impl Listed {
    fn below(&self, path: &[u8]) -> Vec<Permission> {
        let path = Path::new(std::str::from_utf8(path).unwrap());
        let is_below =
            |listed: &str| listed != path.to_str().unwrap() && Path::new(listed).starts_with(path);
        let below = self.0.iter().filter(|(listed, _)| is_below(listed));
        below.map(|(_, permission)| *permission).collect()
    }
}
