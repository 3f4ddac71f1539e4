use std::path::{Path, PathBuf};

use super::super::system_calls::{Call, Effect, Fault};

/// The calls that may change something, between commas. `openat` does if it creates.
pub(super) const NAMES: &str = "openat,write,pwrite64,writev,pwritev,sendto,sendmsg,fsync,fdatasync,\
    syncfs,ftruncate,fallocate,rename,renameat,renameat2,link,linkat,symlink,symlinkat,mkdir,\
    mkdirat,unlink,unlinkat,rmdir,mknodat,chmod,fchmod,fchmodat,chown,fchown,fchownat,utimensat,setxattr,\
    fsetxattr,lsetxattr,removexattr,fremovexattr,copy_file_range";

/// Starts of the names of unfinished files, which are other ones each time.
pub(super) const UNFINISHED: [&str; 3] = [".tmp", ".new-", ".msb-"];
/// Ends of the names of a generation's files, which begin with a random number.
const OF_GENERATIONS: [&str; 3] = ["data", "blocks", "log"];
/// Number of hexadecimal digits of the number of a generation.
const ID_DIGITS: usize = 32;
/// The directory of a sandbox in which a disk is staged under a random number.
const STAGING: &str = "merging";
/// The start of the number that stands for the name of a file without one.
const NAMELESS: char = '#';

/// Returns true for a file of a generation, or the image below it, whose name is another one each time.
pub(super) fn is_of_generation(name: &str) -> bool {
    let name = name.strip_suffix(".new").unwrap_or(name);
    let parts = name.split_once('.');
    parts.is_some_and(|(start, end)| {
        let is_layer = end == "erofs" && start.len() == ID_DIGITS;
        is_layer || OF_GENERATIONS.contains(&end)
    })
}

/// A call of a command, by which a fault finds it again.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Step {
    call: String,
    /// A path of the call that is the same each time; `None` if it has none.
    path: Option<PathBuf>,
    /// The number of the call among those of its name, and of the path, in its thread, from 1.
    ordinal: u32,
}

impl Step {
    /// Returns true for a `write` that is known by its number alone. In another thread this is a
    /// write that wakes a third one; without it msb may not end (LIMITS.md).
    pub(super) fn may_wake(&self) -> bool {
        self.call == "write" && self.path.is_none()
    }

    /// Returns true if the process was killed in a call that may be this step.
    pub(super) fn is_cut_short(&self, call: &Call, root: &Path) -> bool {
        call.name == self.call && call.text.ends_with("= ?") && changes(call, root)
    }

    /// Returns true for a sync of a whole filesystem.
    pub(super) fn is_sync_at_once(&self) -> bool {
        self.call == "syncfs"
    }

    pub(super) fn fault(&self, effect: Effect) -> Fault {
        Fault {
            call: self.call.clone(),
            path: self.path.clone(),
            ordinal: self.ordinal,
            lasting: false,
            effect,
        }
    }
}

/// Returns the steps in a command's calls, in their order, and the number of calls that change a
/// file below `root` or send to a socket. Calls of several threads may be the same step. `is_new` tells
/// the paths that are other ones each time.
pub(super) fn steps(
    calls: &[Call],
    root: &Path,
    is_new: &dyn Fn(&Path) -> bool,
) -> (Vec<Step>, usize) {
    let mut steps = Vec::new();
    let mut count = 0;
    for (index, call) in calls.iter().enumerate() {
        if !changes(call, root) {
            continue;
        }
        count += 1;
        let path = stable_path(compared(call), root, is_new);
        let step = step(&calls[..=index], call, path);
        if !steps.contains(&step) {
            steps.push(step);
        }
    }
    (steps, count)
}

/// Returns true for a call that changes something, and succeeds.
fn changes(call: &Call, root: &Path) -> bool {
    let text = &call.text;
    let is_ours = text.contains(&root.display().to_string()) || text.contains("<socket:");
    let makes = call.name != "openat" || text.contains("O_CREAT") || text.contains("O_TRUNC");
    is_ours && makes && !text.contains("= -1")
}

/// Returns the step of a call, the last one of these, which has a path that is the same each time.
fn step(calls: &[Call], call: &Call, path: Option<String>) -> Step {
    let Some(path) = path else {
        return Step {
            call: call.name.clone(),
            path: None,
            ordinal: call.ordinal,
        };
    };
    let (quoted, open) = (format!("\"{path}\""), format!("<{path}>"));
    let matching = calls.iter().filter(|other| {
        let is_same = other.thread == call.thread && other.name == call.name;
        let text = compared(other);
        is_same && (text.contains(&quoted) || text.contains(&open))
    });
    Step {
        call: call.name.clone(),
        ordinal: u32::try_from(matching.count()).unwrap_or(u32::MAX),
        path: Some(PathBuf::from(path)),
    }
}

/// Returns the part of a call in which strace finds a path: its arguments, and the first of a `rename` alone.
fn compared(call: &Call) -> &str {
    let arguments = call.text.rsplit_once(") = ");
    let arguments = arguments.map_or(&*call.text, |(arguments, _)| arguments);
    if call.name != "rename" {
        return arguments;
    }
    arguments
        .split_inclusive("\", ")
        .next()
        .unwrap_or(arguments)
}

/// Returns the last path in a text that lies below `root` and has no random part.
fn stable_path(text: &str, root: &Path, is_new: &dyn Fn(&Path) -> bool) -> Option<String> {
    let paths = text.split(['"', '<', '>']);
    let mut stable = paths.filter(|path| {
        let path = Path::new(path);
        let is_unfinished = |name: &str| UNFINISHED.iter().any(|start| name.starts_with(start));
        let is_random = |name: &str| {
            let is_nameless = name.starts_with(NAMELESS);
            is_unfinished(name) || is_nameless || is_of_generation(name)
        };
        let directory = path.parent();
        let is_staged = directory.is_some_and(|directory| directory.iter().any(|of| of == STAGING));
        let mut names = path.iter().map(|name| name.to_string_lossy());
        path.starts_with(root) && !is_staged && !names.any(|name| is_random(&name)) && !is_new(path)
    });
    stable.next_back().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(thread: &str, name: &str, ordinal: u32, text: &str) -> Call {
        Call {
            name: name.to_owned(),
            thread: thread.to_owned(),
            ordinal,
            text: text.to_owned(),
        }
    }

    #[test]
    fn a_step_is_found_by_its_path_or_by_its_number() {
        let calls = [
            call(
                "1",
                "openat",
                1,
                "openat(AT_FDCWD</>, \"/r/a\", O_RDONLY) = 3</r/a>",
            ),
            call(
                "1",
                "openat",
                2,
                "openat(AT_FDCWD</>, \"/r/a\", O_CREAT) = 3</r/a>",
            ),
            call("1", "fsync", 1, "fsync(3</r/.new-x>) = 0"),
            call("1", "rename", 1, "rename(\"/r/.new-x\", \"/r/b\") = 0"),
            call("2", "fsync", 1, "fsync(3</r/.new-y>) = 0"),
            call("2", "syncfs", 1, "syncfs(3</r/.msb-apply-0>) = 0"),
            call("2", "write", 1, "write(5<socket:[7]>, \"\"..., 9) = 9"),
            call("2", "write", 2, "write(1<pipe:[7]>, \"\"..., 9) = 9"),
            call("2", "mkdir", 1, "mkdir(\"/r\") = -1 EEXIST"),
            call(
                "2",
                "rename",
                1,
                "rename(\"/r/07.log.new\", \"/r/07.log\") = 0",
            ),
            call("2", "rename", 2, "rename(\"/r/d.new\", \"/r/d\") = 0"),
            call(
                "2",
                "openat",
                1,
                "openat(3</r/d>, \"e\", O_CREAT) = 4</r/d/e>",
            ),
            call("2", "mkdir", 2, "mkdir(\"/r/merging\") = 0"),
            call("2", "unlink", 1, "unlink(\"/r/merging/07.disk\") = 0"),
            call("2", "fchmod", 1, "fchmod(3</r/#7(deleted)>, 0644) = 0"),
        ];
        let (steps, count) = steps(&calls, Path::new("/r"), &|_| false);
        let step = |call: &str, path: Option<&str>, ordinal| Step {
            call: call.to_owned(),
            path: path.map(PathBuf::from),
            ordinal,
        };
        let expected = [
            step("openat", Some("/r/a"), 2),
            step("fsync", None, 1),
            step("rename", None, 1),
            step("syncfs", None, 1),
            step("write", None, 1),
            step("rename", Some("/r/d.new"), 1),
            step("openat", Some("/r/d"), 1),
            step("mkdir", Some("/r/merging"), 1),
            step("unlink", None, 1),
            step("fchmod", None, 1),
        ];
        assert_eq!((&steps[..], count), (&expected[..], 12));
    }
}
