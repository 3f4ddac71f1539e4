use std::collections::{BTreeMap, HashMap, HashSet};

use fstree::{InodeId, Tree};
use path_rules::{Rules, State};

use crate::Notices;
use crate::found::Content;
use crate::stamp::Stamp;

/// The files with several names that rules keep out of the image, and the rules that do so, of all sources.
#[derive(Default)]
pub(crate) struct LeftOut {
    /// The identities of hidden and denied files with several names.
    files: HashSet<(u64, u64)>,
    /// The files of the tree with several names.
    linked: Vec<((u64, u64), InodeId)>,
    /// Given rules that hide, deny or ask, as text; true if one matched a file.
    rules: BTreeMap<String, bool>,
}

impl LeftOut {
    /// Adds a file that a rule hides or denies.
    pub(crate) fn add_file(&mut self, stamp: &Stamp) {
        if stamp.links > 1 {
            self.files.insert(stamp.identity());
        }
    }

    /// Adds a source's files of the tree with several names.
    pub(crate) fn add_linked(&mut self, files: HashMap<(u64, u64), InodeId>) {
        self.linked.extend(files);
    }

    /// Adds a source's rules, and for each given one whether it matched a file.
    pub(crate) fn add_rules(&mut self, rules: &Rules, matched: &[bool]) {
        for (rule, &is_matched) in rules.given().iter().zip(matched) {
            if matches!(rule.state(), State::Hide | State::Deny | State::Ask) {
                *self.rules.entry(rule.to_string()).or_default() |= is_matched;
            }
        }
    }

    /// Removes all names of hidden and denied files from the tree: a name that no rule is for would show their
    /// content. Adds the notices.
    pub(crate) fn finish(self, tree: &mut Tree<Content>, notices: &mut Notices) {
        for (rule, _) in self.rules.iter().filter(|(_, is_matched)| !**is_matched) {
            notices.add(|notices| &mut notices.unmatched, rule.as_str());
        }
        let linked = self.linked.iter();
        let unwanted: HashSet<InodeId> = linked
            .filter(|(identity, _)| self.files.contains(identity))
            .map(|&(_, id)| id)
            .collect();
        if unwanted.is_empty() {
            return;
        }
        let names = tree.walk().filter(|entry| unwanted.contains(&entry.id));
        let names: Vec<_> = names.map(|entry| (entry.parent, entry.path)).collect();
        for (parent, path) in names {
            tree.unlink(parent, last(&path));
            notices.add(|notices| &mut notices.linked, below_source(&path));
        }
    }
}

/// Returns the last name of a path.
pub(crate) fn last(path: &[u8]) -> &[u8] {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or(path)
}

/// Returns a path of the tree relative to its source.
pub(crate) fn below_source(path: &[u8]) -> &[u8] {
    let slash = path.iter().position(|&byte| byte == b'/');
    slash
        .and_then(|slash| path.get(slash + 1..))
        .unwrap_or_default()
}
