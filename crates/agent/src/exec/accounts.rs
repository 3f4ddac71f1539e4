use msb_agent_protocol::v1::{Failure, FailureKind};
use rustix::path::Arg;

use crate::guarded_file::read_regular;

/// The most that is read of `/etc/passwd` or `/etc/group`, in bytes. An image's file may have any
/// size.
const FILE_MAX_BYTES: u64 = 10 << 20;
/// The largest id that the kernel accepts; the one after it means "no change".
const ID_MAX: u32 = u32::MAX - 1;

/// The user that a command runs as, with its groups and home directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) uid: u32,
    pub(super) gid: u32,
    /// Ids of the supplementary groups, and of `gid` first, as in docker: a process that may change its
    /// primary group keeps it, so it cannot leave a group that a file excludes.
    pub(super) groups: Vec<u32>,
    pub(super) home: String,
}

/// Returns the home directory of this process's user; `None` if the image has no such user.
pub(crate) fn own_home() -> Option<String> {
    let user = rustix::process::getuid().as_raw().to_string();
    let identity = Accounts::read().resolve(&user, &[]).ok()?;
    Some(identity.home)
}

/// Resolves `user[:group]` with the files of the sandbox, and returns the two numbers.
pub(crate) fn owner(wanted: &str) -> Result<(u32, u32), Failure> {
    let identity = Accounts::read().resolve(wanted, &[])?;
    Ok((identity.uid, identity.gid))
}

/// The text of the two files. Bytes that are not UTF-8 match nothing.
#[derive(Debug, Default)]
pub(super) struct Accounts {
    passwd: String,
    group: String,
}

struct User<'a> {
    name: &'a str,
    uid: u32,
    gid: u32,
    home: &'a str,
}

struct Group<'a> {
    name: &'a str,
    gid: u32,
    members: &'a str,
}

impl Accounts {
    /// Reads the sandbox's own files. An image without them has no accounts.
    pub(super) fn read() -> Self {
        Self::read_from("/etc/passwd", "/etc/group")
    }

    fn read_from(passwd: impl Arg, group: impl Arg) -> Self {
        Self {
            passwd: text(passwd),
            group: text(group),
        }
    }

    /// Resolves `user[:group]`, names or numbers, in the way Docker does. An unknown name is
    /// refused, an unknown number is used unchanged. `added` are further groups, by name or number.
    pub(super) fn resolve(&self, wanted: &str, added: &[String]) -> Result<Identity, Failure> {
        let (user, group) = match wanted.split_once(':') {
            Some((user, group)) => (user, Some(group).filter(|group| !group.is_empty())),
            None => (wanted, None),
        };
        let user = if user.is_empty() { "0" } else { user };
        let number = number(user)?;
        let by_name = self.users().find(|found| found.name == user);
        let known = by_name.or_else(|| self.users().find(|found| Some(found.uid) == number));
        let (uid, own_gid, name, home) = match (known, number) {
            (Some(user), _) => (user.uid, user.gid, user.name, user.home),
            (None, Some(uid)) => (uid, 0, "", ""),
            (None, None) => return Err(refused(format!("the image has no user '{user}'"))),
        };
        let (gid, mut groups) = match group {
            Some(group) => (self.resolve_group(group)?, Vec::new()),
            None => (own_gid, self.groups_of(name)),
        };
        groups.retain(|&group| group != gid);
        groups.insert(0, gid);
        for name in added {
            let gid = self.resolve_group(name)?;
            if !groups.contains(&gid) {
                groups.push(gid);
            }
        }
        let home = if home.is_empty() { "/" } else { home };
        Ok(Identity {
            uid,
            gid,
            groups,
            home: home.to_owned(),
        })
    }

    fn resolve_group(&self, wanted: &str) -> Result<u32, Failure> {
        let number = number(wanted)?;
        let by_name = self
            .groups()
            .find(|group| group.name == wanted)
            .map(|group| group.gid);
        by_name
            .or(number)
            .ok_or_else(|| refused(format!("the image has no group '{wanted}'")))
    }

    fn groups_of(&self, user: &str) -> Vec<u32> {
        let is_member = |group: &Group<'_>| group.members.split(',').any(|member| member == user);
        let named = !user.is_empty();
        self.groups()
            .filter(|group| named && is_member(group))
            .map(|group| group.gid)
            .collect()
    }

    fn users(&self) -> impl Iterator<Item = User<'_>> {
        self.passwd.lines().filter_map(|line| {
            let mut fields = line.split(':');
            let name = fields.next().filter(|name| !name.is_empty())?;
            let _password = fields.next()?;
            let uid = fields.next()?.parse().ok()?;
            let gid = fields.next()?.parse().ok()?;
            let _comment = fields.next();
            Some(User {
                name,
                uid,
                gid,
                home: fields.next().unwrap_or_default(),
            })
        })
    }

    fn groups(&self) -> impl Iterator<Item = Group<'_>> {
        self.group.lines().filter_map(|line| {
            let mut fields = line.split(':');
            let name = fields.next().filter(|name| !name.is_empty())?;
            let _password = fields.next()?;
            let gid = fields.next()?.parse().ok()?;
            Some(Group {
                name,
                gid,
                members: fields.next().unwrap_or_default(),
            })
        })
    }
}

/// Parses a word of digits as an id; `None` if the word is not a number. An id that the kernel
/// cannot have is refused, not truncated.
fn number(word: &str) -> Result<Option<u32>, Failure> {
    if !word.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(None);
    }
    match word.parse() {
        Ok(id) if id <= ID_MAX => Ok(Some(id)),
        _ => Err(refused(format!(
            "the id {word} is too large, the limit is {ID_MAX}"
        ))),
    }
}

fn refused(message: String) -> Failure {
    Failure {
        kind: FailureKind::BadRequest.into(),
        message,
    }
}

/// Returns the text of a file; empty if it is not a regular file that can be read.
fn text(path: impl Arg) -> String {
    let bytes = read_regular(path, FILE_MAX_BYTES).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accounts() -> Accounts {
        Accounts {
            passwd: "root:x:0:0:root:/root:/bin/sh\nbroken\nme:x:1000:100::/home/me:/bin/sh\n\
                1234:x:7:8::/odd:\n"
                .to_owned(),
            group: "root:x:0:\nusers:x:100:\nwheel:x:10:root,me\naudio:x:29:me\n".to_owned(),
        }
    }

    fn identity(wanted: &str) -> Result<(u32, u32, Vec<u32>, String), String> {
        accounts()
            .resolve(wanted, &[])
            .map(|found| (found.uid, found.gid, found.groups, found.home))
            .map_err(|failure| failure.message)
    }

    #[test]
    fn what_stands_in_the_place_of_the_files_has_no_accounts() {
        let misfits = crate::guarded_file::tests::Misfits::new("accounts");
        for path in misfits.all() {
            let accounts = Accounts::read_from(&path, &path);
            let identity = accounts.resolve("7", &[]).expect("a number");
            assert_eq!((identity.uid, identity.gid), (7, 0), "{}", path.display());
            assert!(accounts.resolve("root", &[]).is_err());
        }
    }

    #[test]
    fn users_are_resolved_as_docker_does() {
        let ok =
            |uid, gid, groups: &[u32], home: &str| Ok((uid, gid, groups.to_vec(), home.into()));
        assert_eq!(identity(""), ok(0, 0, &[0, 10], "/root"));
        assert_eq!(identity("me"), ok(1000, 100, &[100, 10, 29], "/home/me"));
        assert_eq!(identity("me:wheel"), ok(1000, 10, &[10], "/home/me"));
        assert_eq!(identity("1000"), ok(1000, 100, &[100, 10, 29], "/home/me"));
        assert_eq!(identity("55:66"), ok(55, 66, &[66], "/"));
        // A name of digits is a name before it is a number.
        assert_eq!(identity("1234"), ok(7, 8, &[8], "/odd"));
        assert!(identity("nobody").is_err());
        assert!(identity("me:nobody").is_err());
        assert!(identity("4294967295").is_err());
        assert!(identity("4294967296").is_err());
    }

    #[test]
    fn groups_are_added_to_those_of_the_user() {
        let groups = |user: &str, added: &[&str]| {
            let added: Vec<_> = added.iter().map(|&name| name.to_owned()).collect();
            let found = accounts().resolve(user, &added);
            found.map(|identity| (identity.gid, identity.groups))
        };
        let added = groups("me", &["users", "77", "audio"]).expect("groups");
        assert_eq!(added, (100, vec![100, 10, 29, 77]));
        let added = groups("me:wheel", &["audio"]).expect("groups");
        assert_eq!(added, (10, vec![10, 29]));
        for unknown in ["nobody", "", "4294967295"] {
            assert!(groups("me", &[unknown]).is_err(), "{unknown}");
        }
    }
}
