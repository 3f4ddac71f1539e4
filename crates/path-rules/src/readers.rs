//! Files of which programs of the host run commands when somebody opens or uses their directory.

use std::fmt;

use crate::names;

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

/// The program that runs commands of a file, and the path that makes the file one of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reason {
    reader: &'static str,
    depth: usize,
}

impl Reason {
    /// Returns the program, such as `git` or `an editor`.
    #[must_use]
    pub const fn reader(self) -> &'static str {
        self.reader
    }

    /// Returns the number of names up to the one that makes the file one of these, such as 2 for
    /// `app/.vscode/tasks.json`.
    #[must_use]
    pub const fn depth(self) -> usize {
        self.depth
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} runs commands that it names", self.reader)
    }
}

/// Returns the program of the host that runs commands of a file at this path, or below it, when somebody
/// opens or uses a directory above. `None` if no program is known to. Names are compared [`folded`].
///
/// Files that run commands only on request, such as a makefile, are not known. Neither is a bare repository of
/// git, which only its files tell.
///
/// # Examples
///
/// ```
/// use path_rules::runs_programs;
///
/// let reason = runs_programs(b"work/.Git/hooks/pre-commit").map(|reason| reason.to_string());
/// assert_eq!(reason.as_deref(), Some("git runs commands that it names"));
/// assert_eq!(runs_programs(b"work/.git/index"), None);
/// ```
#[must_use]
pub fn runs_programs(path: &[u8]) -> Option<Reason> {
    let names: Vec<String> = names(path).map(folded).collect();
    if let Some(git) = names.iter().position(|name| name == ".git") {
        let inner = &names[git + 1..];
        let found = |name: &String| IN_REPOSITORY.contains(&&name[..]);
        // A file in the place of the directory leads to another one.
        let depth = if inner.is_empty() {
            git + 1
        } else {
            git + 2 + inner.iter().position(found)?
        };
        let reader = "git";
        return Some(Reason { reader, depth });
    }
    names.iter().enumerate().find_map(|(index, name)| {
        let run_by = RUN_BY.iter().find(|(_, run)| run.contains(&&name[..]));
        let (reader, _) = run_by?;
        let depth = if name == ".config" {
            let next = names.get(index + 1)?;
            IN_CONFIG.contains(&&next[..]).then_some(index + 2)?
        } else {
            index + 1
        };
        Some(Reason { reader, depth })
    })
}

/// Returns the part of a path up to a repository of git, `.git`. `None` if it leads into none.
#[must_use]
pub fn repository(path: &[u8]) -> Option<&[u8]> {
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
#[must_use]
pub fn is_git(name: &[u8]) -> bool {
    folded(name) == ".git"
}

/// Returns a name in lower case and without characters of no width. Filesystems that ignore these take names
/// with equal results for one.
#[must_use]
pub fn folded(name: &[u8]) -> String {
    let name = String::from_utf8_lossy(name);
    let shown = name
        .chars()
        .filter(|&character| !terminal_text::is_hidden(character));
    shown.flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn depth(path: &str) -> Option<usize> {
        runs_programs(path.as_bytes()).map(Reason::depth)
    }

    #[test]
    fn files_that_run_commands_are_known_in_any_case() {
        for (path, expected) in [
            ("work/.git/hooks/pre-commit", 3),
            ("work/.GIT/config", 3),
            ("a/.git", 2),
            (".git/modules/sub/config", 4),
            (".g\u{200c}it/hooks/x", 2),
            (".gitmodules", 1),
            (".Envrc", 1),
            ("deep/.vscode/tasks.json", 2),
            (".idea/workspace.xml", 1),
            (".claude/settings.json", 1),
            (".mcp.json", 1),
            (".codex/config.toml", 1),
            ("home/u/.BASHRC", 3),
            (".config/systemd/user/x.service", 2),
        ] {
            assert_eq!(depth(path), Some(expected), "{path}");
        }
        for path in [
            "src/main.rs",
            ".git/index",
            ".gitignore",
            ".config/app.toml",
            ".config",
            "git/hooks/x",
            "bashrc",
            "",
        ] {
            assert_eq!(depth(path), None, "{path}");
        }
    }

    #[test]
    fn a_path_leads_into_a_repository() {
        assert_eq!(repository(b"/work/.Git/x"), Some(&b"/work/.Git"[..]));
        assert_eq!(repository(b".git"), Some(&b".git"[..]));
        assert_eq!(repository(b"/work/.gitignore"), None);
    }

    #[test]
    fn the_page_lists_every_name() {
        let page = include_str!("../../../docs/diff.md");
        let names = RUN_BY.iter().flat_map(|(_, names)| names.iter());
        for name in names.chain(&IN_CONFIG).chain(&IN_REPOSITORY) {
            assert!(page.contains(&format!("`{name}`")), "{name}");
        }
    }
}
