use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::run::quiet;

/// Parts of the base that are layers of their own, each with the paths it takes.
const PARTS: [(&str, &[&str]); 4] = [
    ("python", &["./usr/lib/python3.11", "./usr/lib/python3"]),
    (
        "documentation",
        &["./usr/share/doc", "./usr/share/man", "./usr/share/info"],
    ),
    (
        "locales",
        &[
            "./usr/share/locale",
            "./usr/share/i18n",
            "./usr/share/zoneinfo",
        ],
    ),
    (
        "packages",
        &["./var/lib/dpkg", "./var/lib/apt", "./var/cache"],
    ),
];

/// Layers that change what is below them: a name, and the shell lines that make it in an empty
/// directory. `.wh.` files are whiteouts.
const CHANGES: [(&str, &str); 9] = [
    (
        "deletions",
        "mkdir -p usr/share/man usr/lib/python3.11; touch usr/share/.wh.info \
        usr/share/man/.wh.man1 usr/lib/python3.11/.wh.turtle.py usr/lib/python3.11/.wh.idlelib",
    ),
    (
        "replaced",
        "mkdir -p etc usr/lib/python3.11; echo 'replaced by a layer' > etc/motd; \
        echo 'raise SystemExit(0)' > usr/lib/python3.11/this.py; chmod 0600 etc/motd; \
        touch -d '2001-02-03 04:05:06.789012345Z' etc/motd",
    ),
    (
        "opaque",
        "mkdir -p usr/share/locale/only-this; touch usr/share/locale/.wh..wh..opq; \
        echo kept > usr/share/locale/only-this/file",
    ),
    (
        "hardlinks",
        "mkdir -p srv/links; head -c 5000 /dev/zero | tr '\\0' h > srv/links/a; \
        ln srv/links/a srv/links/b; mkdir srv/links/deep; ln srv/links/a srv/links/deep/c; \
        ln -s a srv/links/symlink; ln srv/links/symlink srv/links/symlink-again",
    ),
    (
        "broken-group",
        "mkdir -p srv/links; echo alone > srv/links/b; chown 70000:80000 srv/links/b",
    ),
    (
        "attributes",
        "mkdir -p srv/attributes; cp /bin/true srv/attributes/ping; \
        setcap cap_net_raw=ep srv/attributes/ping; cp /bin/true srv/attributes/suid; \
        chmod 6755 srv/attributes/suid; echo x > srv/attributes/noted; \
        setfattr -n user.note -v 'a value' srv/attributes/noted; \
        setfattr -n security.note -v 0x000aff srv/attributes/noted; \
        chown 4000000000:4000000001 srv/attributes/noted; \
        touch -d '1999-12-31 23:59:59.5Z' srv/attributes; chmod 1777 srv/attributes",
    ),
    (
        "special",
        "mkdir -p srv/special; mknod srv/special/null c 1 3; mknod srv/special/disk b 259 70000; \
        mkfifo srv/special/pipe; ln -s /nowhere/at/all srv/special/dangling; \
        : > srv/special/empty; head -c 4096 /dev/zero > srv/special/block; \
        head -c 4097 /dev/zero | tr '\\0' b > srv/special/block-and-one; \
        printf '%255s' n | tr ' ' n | xargs -I{} touch srv/special/{}; \
        touch \"$(printf 'srv/special/caf\\351 \\001')\" srv/special/Case srv/special/case",
    ),
    (
        "type-changes",
        "mkdir -p srv/special srv/links; touch srv/special/.wh.pipe; \
        mkdir srv/special/empty srv/special/null; echo inside > srv/special/null/file; \
        echo 'was a directory' > srv/links/deep; ln -s special srv/attributes-link",
    ),
    (
        "large",
        "mkdir -p srv/large; seq 1 700000 > srv/large/numbers; \
        truncate -s 3000000 srv/large/sparse; echo end >> srv/large/sparse",
    ),
];

/// Layer tars of the Debian tree: what belongs to no part, then each part.
pub(super) fn of_base(tree: &Path, work: &Path) -> Result<Vec<PathBuf>> {
    let elsewhere: Vec<&str> = PARTS
        .iter()
        .flat_map(|(_, paths)| paths.iter().copied())
        .collect();
    let mut tars = vec![part(tree, work, "base", &["."], &elsewhere)?];
    for (name, paths) in PARTS {
        let there: Vec<&str> = paths
            .iter()
            .copied()
            .filter(|path| tree.join(path).exists())
            .collect();
        tars.push(part(tree, work, name, &there, &[])?);
    }
    Ok(tars)
}

/// A tar of some of a tree's paths.
pub(super) fn part(
    tree: &Path,
    work: &Path,
    name: &str,
    paths: &[&str],
    elsewhere: &[&str],
) -> Result<PathBuf> {
    let path = work.join(format!("{name}.tar"));
    let mut command = tar(&path, tree);
    command
        .args(elsewhere.iter().map(|path| format!("--exclude={path}")))
        .args(paths);
    quiet(&mut command)?;
    Ok(path)
}

/// Layer tars that change what is below them.
pub(super) fn of_changes(work: &Path) -> Result<Vec<PathBuf>> {
    CHANGES
        .iter()
        .map(|(name, script)| change(work, name, script))
        .collect()
}

fn change(work: &Path, name: &str, script: &str) -> Result<PathBuf> {
    let directory = work.join(name);
    fs::create_dir(&directory)?;
    let script = format!("set -e; umask 022; {script}");
    quiet(
        Command::new("bash")
            .args(["-c", &script])
            .current_dir(&directory),
    )?;
    let path = work.join(format!("{name}.tar"));
    let mut command = tar(&path, &directory);
    // Every entry but the root, which is the base's to describe.
    let entries = fs::read_dir(&directory)?
        .flatten()
        .map(|entry| entry.file_name());
    let mut entries: Vec<_> = entries.map(|name| Path::new(".").join(name)).collect();
    entries.sort();
    quiet(command.args(entries))?;
    fs::remove_dir_all(directory)?;
    Ok(path)
}

/// GNU tar, keeping everything that a layer can hold.
fn tar(path: &Path, directory: &Path) -> Command {
    let mut tar = Command::new("tar");
    tar.args([
        "--create",
        "--format=pax",
        "--sort=name",
        "--numeric-owner",
        "--sparse",
    ])
    .args(["--xattrs", "--xattrs-include=*"])
    .arg(format!("--file={}", path.display()))
    .arg(format!("--directory={}", directory.display()));
    tar
}
