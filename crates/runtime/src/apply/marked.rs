//! Changes that a reviewer has to know of before they are put into a directory of the host.

use fstree::{FileKind, Tree};

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

/// Names whose files, or the files below them, make a program run commands; in lower case.
const RUN_BY: [(&str, &[&str]); 13] = [
    ("git", &[".githooks", ".gitmodules", ".gitconfig"]),
    (
        "an editor",
        &[
            ".vscode",
            ".idea",
            ".cursor",
            ".zed",
            ".devcontainer",
            ".vimrc",
            ".gvimrc",
            ".exrc",
            ".nvimrc",
            ".nvim.lua",
            ".dir-locals.el",
        ],
    ),
    (
        "an agent",
        &[".claude", ".claude.json", ".mcp.json", ".codex", ".gemini"],
    ),
    ("direnv", &[".envrc", ".direnvrc"]),
    ("mise", &[".mise.toml", "mise.toml", ".mise"]),
    (
        "a shell",
        &[
            ".bashrc",
            ".bash_profile",
            ".bash_login",
            ".bash_logout",
            ".bash_aliases",
            ".profile",
            ".zshrc",
            ".zshenv",
            ".zprofile",
            ".zlogin",
            ".zlogout",
            ".kshrc",
            ".mkshrc",
            ".cshrc",
            ".tcshrc",
            ".login",
            ".logout",
        ],
    ),
    (
        "a session",
        &[
            ".xprofile",
            ".xsession",
            ".xsessionrc",
            ".xinitrc",
            ".pam_environment",
        ],
    ),
    ("a debugger", &[".gdbinit", ".lldbinit"]),
    (
        "npm or yarn",
        &[".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs"],
    ),
    ("cargo", &[".cargo"]),
    ("ssh", &[".ssh"]),
    (
        "a hook of git",
        &[
            ".husky",
            ".pre-commit-config.yaml",
            "lefthook.yml",
            ".lefthook.yml",
        ],
    ),
    ("a service of the user", &[".config"]),
];
/// Directories in `.config` whose files are meant; others in it are not.
const IN_CONFIG: [&str; 6] = ["autostart", "systemd", "fish", "git", "direnv", "nvim"];
/// Names in a repository that make git run commands, or look for its hooks and configuration elsewhere.
const IN_REPOSITORY: [&str; 6] = [
    "hooks",
    "config",
    "config.worktree",
    "commondir",
    "gitdir",
    "attributes",
];

/// Returns the part of a path up to a repository of git, `.git`. `None` if it leads into none.
pub(super) fn repository(path: &[u8]) -> Option<&[u8]> {
    let mut end = 0;
    for name in path.split(|&byte| byte == b'/') {
        end += name.len();
        if is_git(name) {
            return Some(&path[..end]);
        }
        end += 1;
    }
    None
}

/// Returns true for `.git` as a filesystem without case, or one that ignores characters of no width, takes
/// a name.
pub(super) fn is_git(name: &[u8]) -> bool {
    folded(name) == ".git"
}

fn folded(name: &[u8]) -> String {
    let name = String::from_utf8_lossy(name);
    let shown = name
        .chars()
        .filter(|&character| !terminal_text::is_hidden(character));
    shown.flat_map(char::to_lowercase).collect()
}

/// Finds the effect of a step. `tree` is the sandbox's, and `sandbox_path` the path of the step's file in it.
pub(super) fn effect<D>(step: &Step, tree: &Tree<D>, sandbox_path: &[u8]) -> Option<Effect> {
    let id = step.new.filter(|_| step.action != HostAction::Remove)?;
    let kind = &tree.inode(id).kind;
    if kind.as_directory().is_some() {
        return None;
    }
    let names: Vec<String> = components(sandbox_path).map(folded).collect();
    if let Some(reader) = reader(&names).or_else(|| bare_repository(tree, sandbox_path, &names)) {
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

/// Returns the program that runs commands of a file with these names.
fn reader(names: &[String]) -> Option<&'static str> {
    if let Some(git) = names.iter().position(|name| name == ".git") {
        let inner = &names[git + 1..];
        // A file in the place of the directory leads to another one.
        let is_read =
            inner.is_empty() || inner.iter().any(|name| IN_REPOSITORY.contains(&&name[..]));
        return is_read.then_some("git");
    }
    names.iter().enumerate().find_map(|(index, name)| {
        let run_by = RUN_BY.iter().find(|(_, run)| run.contains(&&name[..]));
        let (reader, _) = run_by?;
        let next = names.get(index + 1);
        let is_meant = name != ".config" || next.is_some_and(|next| IN_CONFIG.contains(&&next[..]));
        is_meant.then_some(*reader)
    })
}

/// Returns git if the file is the configuration of a bare repository, which git finds by its files.
fn bare_repository<D>(tree: &Tree<D>, path: &[u8], names: &[String]) -> Option<&'static str> {
    let name = names.last()?;
    let (above, _) = split(path);
    let (above, is_of_git) = match name.as_str() {
        "config" | "config.worktree" => (above, true),
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
    (has("HEAD") && has("objects") && has("refs")).then_some("git")
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
    accepted: &[Vec<u8>],
) -> Vec<Marked> {
    let accepted: Vec<Vec<u8>> = (accepted.iter().map(|path| trimmed(path))).collect();
    let mark = |step: &Step| {
        let mut path = from.to_vec();
        if !from.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(&step.path);
        let effect = effect(step, tree, &path)?;
        let is_accepted = |accepted: &Vec<u8>| relative(&path, accepted).is_some();
        Some(Marked {
            path: step.path.clone(),
            needs_acceptance: matches!(effect, Effect::RunsCommands { .. })
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

    fn reads(path: &str) -> Option<&'static str> {
        let names: Vec<String> = components(path.as_bytes()).map(folded).collect();
        reader(&names)
    }

    #[test]
    fn files_that_run_commands_are_known_in_any_case() {
        for path in [
            "work/.git/hooks/pre-commit",
            "work/.GIT/config",
            "a/.git",
            ".git/modules/sub/config",
            ".g\u{200c}it/hooks/x",
            ".gitmodules",
            ".Envrc",
            "deep/.vscode/tasks.json",
            ".idea/workspace.xml",
            ".claude/settings.json",
            ".mcp.json",
            ".codex/config.toml",
            "home/u/.BASHRC",
            ".config/systemd/user/x.service",
        ] {
            assert!(reads(path).is_some(), "{path}");
        }
        for path in [
            "src/main.rs",
            ".git/index",
            ".gitignore",
            ".config/app.toml",
            "git/hooks/x",
            "bashrc",
        ] {
            assert_eq!(reads(path), None, "{path}");
        }
    }

    #[test]
    fn a_path_leads_into_a_repository() {
        assert_eq!(repository(b"/work/.Git/x"), Some(&b"/work/.Git"[..]));
        assert_eq!(repository(b".git"), Some(&b".git"[..]));
        assert_eq!(repository(b"/work/.gitignore"), None);
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

    #[test]
    fn the_page_lists_every_name() {
        let page = include_str!("../../../../docs/diff.md");
        let names = RUN_BY.iter().flat_map(|(_, names)| names.iter());
        for name in names.chain(&IN_CONFIG).chain(&IN_REPOSITORY) {
            assert!(page.contains(&format!("`{name}`")), "{name}");
        }
    }
}
