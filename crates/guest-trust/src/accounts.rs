use crate::PrepareError;
use crate::image_files::{ImageFiles, ImageFilesError};

/// The most that is read of `/etc/passwd` or `/etc/group`, in bytes, as in the guest.
const FILE_MAX_BYTES: u64 = 10 << 20;

/// The users and groups of an image.
#[derive(Debug, Default)]
pub(crate) struct Accounts {
    passwd: String,
    group: String,
}

impl Accounts {
    /// Reads the accounts of an image. An image without the files has none.
    pub(crate) fn read(image: &ImageFiles) -> Result<Self, ImageFilesError> {
        let text = |path| {
            let bytes = image.read(path, FILE_MAX_BYTES)?.unwrap_or_default();
            // Bytes that are not UTF-8 match nothing.
            Ok::<_, ImageFilesError>(String::from_utf8(bytes).unwrap_or_default())
        };
        Ok(Self {
            passwd: text("/etc/passwd")?,
            group: text("/etc/group")?,
        })
    }

    /// Returns the user id and the group id of `user[:group]`, by names or numbers; root's if it is empty. Only the
    /// user is known to exist then: a group that does not is reported when the command starts.
    pub(crate) fn owner(&self, wanted: &str) -> Result<(u32, u32), PrepareError> {
        let (user, group) = wanted.split_once(':').unwrap_or((wanted, ""));
        let user = if user.is_empty() { "0" } else { user };
        let number = user.parse::<u32>().ok();
        let by_name = fields(&self.passwd).find(|found| found[0] == user);
        let by_number =
            || fields(&self.passwd).find(|found| number.is_some() && id(found, 2) == number);
        let known = by_name.or_else(by_number);
        let uid = known.as_ref().and_then(|known| id(known, 2)).or(number);
        let uid = uid.ok_or_else(|| PrepareError::NoUser {
            user: user.to_owned(),
        })?;
        let own = known.as_ref().and_then(|known| id(known, 3));
        let named = fields(&self.group).find(|found| !group.is_empty() && found[0] == group);
        let named = named.and_then(|found| id(&found, 2));
        let given = named.or_else(|| group.parse().ok());
        Ok((uid, given.or(own).unwrap_or(0)))
    }
}

/// Returns the fields of each line that has a name and at least three fields.
fn fields(text: &str) -> impl Iterator<Item = Vec<&str>> {
    let lines = text.lines().map(|line| line.split(':').collect::<Vec<_>>());
    lines.filter(|fields| fields.len() > 2 && !fields[0].is_empty())
}

fn id(fields: &[&str], index: usize) -> Option<u32> {
    fields.get(index)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_is_found_by_name_and_by_number() {
        let accounts = Accounts {
            passwd:
                "root:x:0:0:root:/root:/bin/sh\nbroken\n:x:7:7\nme:x:1000:100::/home/me:/bin/sh\n\
                     bad:x:many:1\n1000:x:5:6::/:\n"
                    .to_owned(),
            group: "users:x:100:me\naudio:x:29:\n".to_owned(),
        };
        for (user, owner) in [
            ("", (0, 0)),
            ("me", (1000, 100)),
            ("me:", (1000, 100)),
            ("me:audio", (1000, 29)),
            ("me:7", (1000, 7)),
            ("me:none", (1000, 100)),
            // A name counts before a number.
            ("1000", (5, 6)),
            ("4711", (4711, 0)),
            ("4711:audio", (4711, 29)),
            (":audio", (0, 29)),
        ] {
            assert_eq!(accounts.owner(user).expect(user), owner, "{user}");
        }
        for user in ["nobody", "broken", "bad", "-1", "4294967296"] {
            let refused = accounts.owner(user).expect_err(user);
            assert!(refused.to_string().contains(user), "{refused}");
        }
    }

    #[test]
    fn without_accounts_only_numbers_are_known() {
        let none = Accounts::default();
        assert_eq!(none.owner("65534:9").expect("numbers"), (65534, 9));
        assert_eq!(none.owner("").expect("root"), (0, 0));
        assert!(none.owner("me").is_err());
    }
}
