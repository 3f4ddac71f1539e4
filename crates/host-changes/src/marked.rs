//! Changes that a reviewer has to know of before they are put into a directory of the host.

use fstree::{FileKind, Tree};
use path_rules::{folded, repository, runs_programs};

use super::gate::Gate;
use super::host_directory::split;
use super::path::{components, relative, trimmed};
use super::step::{HostAction, Step};

/// A change that can have an effect beyond the file itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marked {
    /// Path of the file, relative to the host's directory.
    pub path: Vec<u8>,
    /// Path of the file in the sandbox, with a leading `/`.
    pub sandbox_path: Vec<u8>,
    /// The effect.
    pub effect: Effect,
    /// True if the change is applied only if its path was accepted, and it was not.
    pub needs_acceptance: bool,
}

/// An effect of a change on the host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Effect {
    /// A program of the host runs commands that the file has.
    #[error("{reader} runs commands that it names")]
    RunsCommands {
        /// The program.
        reader: &'static str,
    },
    /// A rule asks before the file is changed.
    #[error("the rule {rule} asks before it is changed")]
    Asked {
        /// The rule.
        rule: String,
    },
    /// The file is a named pipe.
    #[error("it is a FIFO: a program that reads it waits")]
    Fifo,
    /// The file is a symlink that leads out of the directory.
    #[error("it is a symlink to '{}', outside of the directory", .target.escape_ascii())]
    LeadsOutside {
        /// The link's target.
        target: Vec<u8>,
    },
}

/// Finds the effect of a step. `tree` is the sandbox's, and `sandbox_path` the path of the step's file in it.
pub(super) fn effect<D>(step: &Step, tree: &Tree<D>, sandbox_path: &[u8]) -> Option<Effect> {
    let id = step.new.filter(|_| step.action != HostAction::Remove)?;
    let kind = &tree.inode(id).kind;
    if kind.as_directory().is_some() {
        return None;
    }
    let reader = runs_programs(sandbox_path).map(|reason| reason.reader());
    if let Some(reader) = reader.or_else(|| bare_repository(tree, sandbox_path)) {
        return Some(Effect::RunsCommands { reader });
    }
    match kind {
        FileKind::Fifo => Some(Effect::Fifo),
        FileKind::Symlink(target) if leads_outside(&step.path, target) => {
            Some(Effect::LeadsOutside {
                target: target.to_vec(),
            })
        }
        _ => None,
    }
}

/// Returns git if the file makes a directory a repository, or belongs to one that git finds by its files: a bare
/// one, or a linked worktree, whose `commondir` names the directory of the configuration.
fn bare_repository<D>(tree: &Tree<D>, path: &[u8]) -> Option<&'static str> {
    let names: Vec<String> = components(path).map(folded).collect();
    let name = names.last()?;
    let (above, _) = split(path);
    let (above, is_of_git) = match name.as_str() {
        "config" | "config.worktree" | "head" | "commondir" => (above, true),
        _ => {
            let (directory, _) = split(above);
            (
                directory,
                names
                    .iter()
                    .rev()
                    .nth(1)
                    .is_some_and(|name| name == "hooks"),
            )
        }
    };
    let directory = tree.find(above).filter(|_| is_of_git)?;
    let has = |name: &str| tree.lookup(directory, name.as_bytes()).is_some();
    let is_bare = has("objects") && has("refs");
    (has("HEAD") && (is_bare || has("commondir"))).then_some("git")
}

/// Returns true if a symlink at a path of a directory leads out of it, symlinks on the way not counted.
fn leads_outside(path: &[u8], target: &[u8]) -> bool {
    if target.starts_with(b"/") {
        return true;
    }
    let mut depth = components(path).count().saturating_sub(1);
    for name in components(target) {
        if name != b".." {
            depth += 1;
        } else if depth == 0 {
            return true;
        } else {
            depth -= 1;
        }
    }
    false
}

/// Marks the steps that have an effect, with the paths that were accepted.
pub(super) fn marked<D>(
    steps: &[Step],
    tree: &Tree<D>,
    from: &[u8],
    (accepted, gate): (&[Vec<u8>], Option<&Gate<'_>>),
) -> Vec<Marked> {
    let accepted: Vec<Vec<u8>> = (accepted.iter().map(|path| trimmed(path))).collect();
    let mark = |step: &Step| {
        let mut path = from.to_vec();
        if !from.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(&step.path);
        let question = gate.and_then(|gate| gate.question(&step.path));
        let question = question.map(|rule| Effect::Asked { rule });
        let effect = question.or_else(|| effect(step, tree, &path))?;
        let is_accepted = |accepted: &Vec<u8>| relative(&path, accepted).is_some();
        Some(Marked {
            path: step.path.clone(),
            needs_acceptance: matches!(effect, Effect::RunsCommands { .. } | Effect::Asked { .. })
                && !accepted.iter().any(is_accepted),
            sandbox_path: [b"/", &path[..]].concat(),
            effect,
        })
    };
    steps.iter().filter_map(mark).collect()
}

/// Returns true if a user named a path in a repository: one of the chosen paths leads into it, too.
pub(super) fn is_named(path: &[u8], chosen: &[Vec<u8>]) -> bool {
    let path = trimmed(path);
    chosen.iter().any(|chosen| {
        let chosen = trimmed(chosen);
        repository(&chosen).is_some() && relative(&path, &chosen).is_some()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_in_a_repository_has_to_be_named() {
        assert!(is_named(b"/work/.git/x", &[b"/work/.git".to_vec()]));
        assert!(!is_named(b"/work/.git/x", &[b"/work".to_vec()]));
        assert!(!is_named(b"/work/a/.git/x", &[b"/work/.git".to_vec()]));
    }

    #[test]
    fn a_symlink_is_followed_by_its_names() {
        for (path, target, is_outside) in [
            ("a", "/etc/passwd", true),
            ("a", "b/c", false),
            ("a", "../b", true),
            ("a/b", "../c", false),
            ("a/b", "../../c", true),
            ("a/b", "c/../../../d", true),
            ("a/b", "./c//d", false),
        ] {
            let found = leads_outside(path.as_bytes(), target.as_bytes());
            assert_eq!(found, is_outside, "{path} {target}");
        }
    }
}
