use std::io::Read as _;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context as _, anyhow};
use msb_patches::{HostCopy, HostEntry, NewDirectory};
use msb_runtime::network::GATEWAY_ADDRESS;
use msb_sdk::{CopyIn, HostName, SandboxOptions};

use msb_terminal::failure::Failure;

/// The longest file of hosts that is read, in bytes.
const HOSTS_MAX_BYTES: u64 = 256 << 10;

// Changes to a sandbox's files before its first boot.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Files")]
pub(crate) struct PatchArguments {
    /// Copy a host file or directory in before the first boot
    ///
    /// The rules of docker cp apply to DST. The owner is root unless UID is given.
    #[arg(long, value_name = "SRC:DST[:UID[:GID]]")]
    copy: Vec<Copy>,
    /// Create a directory and its parents
    #[arg(long, value_name = "PATH[:MODE]")]
    mkdir: Vec<Directory>,
    /// Remove a file or a directory of the image
    #[arg(long, value_name = "PATH")]
    rm_path: Vec<String>,
    /// Add a line to /etc/hosts
    ///
    /// The address host-gateway stands for this host's loopback.
    #[arg(long, value_name = "NAME:IP")]
    add_host: Vec<Host>,
    /// Add the lines of a file in the format of /etc/hosts
    #[arg(long, value_name = "FILE")]
    hosts: Vec<PathBuf>,
}

impl PatchArguments {
    /// Puts the changes into the options of a sandbox.
    pub(crate) fn set(&self, options: &mut SandboxOptions) -> Result<(), Failure> {
        let mut hosts = Vec::new();
        for path in &self.hosts {
            hosts.extend(read_hosts(path)?);
        }
        hosts.extend(self.add_host.iter().map(|host| host.0.clone()));
        options.hosts = hosts.iter().map(host_name).collect();
        options.remove_paths.clone_from(&self.rm_path);
        let make = self.mkdir.iter().map(|made| msb_sdk::NewDirectory {
            path: made.0.path.clone(),
            mode: made.0.mode,
        });
        options.make_directories = make.collect();
        let copy = self.copy.iter().map(|copy| CopyIn {
            source: copy.0.source.clone(),
            destination: copy.0.destination.clone(),
            uid: copy.0.owner.0,
            gid: copy.0.owner.1,
        });
        options.copy = copy.collect();
        Ok(())
    }
}

fn host_name(entry: &HostEntry) -> HostName {
    HostName {
        names: entry.names().to_vec(),
        address: entry.address().to_string(),
    }
}

/// `SRC:DST[:UID[:GID]]`; the destination begins at the last `:/`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Copy(HostCopy);

impl FromStr for Copy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is not a path to copy: write SRC:/DST[:UID[:GID]]");
        let colon = text.rfind(":/").ok_or_else(wrong)?;
        let (source, rest) = (&text[..colon], &text[colon + 1..]);
        let mut words: Vec<&str> = rest.split(':').collect();
        let mut owner = Vec::new();
        while words.len() > 1
            && owner.len() < 2
            && let Some(number) = words.last().and_then(|word| word.parse::<u32>().ok())
        {
            owner.insert(0, number);
            words.pop();
        }
        if source.is_empty() {
            return Err(wrong());
        }
        Ok(Self(HostCopy {
            source: source.into(),
            destination: words.join(":"),
            owner: match owner[..] {
                [user, group] => (user, group),
                [user] => (user, user),
                _ => (0, 0),
            },
        }))
    }
}

/// `PATH[:MODE]`, a directory to make, with its mode in octal.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Directory(NewDirectory);

impl FromStr for Directory {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let octal = |word: &str| u16::from_str_radix(word, 8).ok();
        let (path, mode) = match text.rsplit_once(':') {
            Some((path, word)) => match octal(word).filter(|&mode| mode <= 0o7777) {
                Some(mode) => (path, Some(mode)),
                None => {
                    return Err(format!(
                        "'{word}' in '{text}' is not a mode: write octal digits such as 0755"
                    ));
                }
            },
            None => (text, None),
        };
        if !path.starts_with('/') {
            return Err(format!("'{path}' is not an absolute path: begin it with /"));
        }
        Ok(Self(NewDirectory {
            path: path.to_owned(),
            mode,
        }))
    }
}

/// `NAME:IP` or `NAME=IP`, an entry of `/etc/hosts`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Host(HostEntry);

impl FromStr for Host {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is not a host entry: write NAME:IP");
        let (name, address) = text.split_once([':', '=']).ok_or_else(wrong)?;
        let bare = address
            .strip_prefix('[')
            .and_then(|address| address.strip_suffix(']'));
        let address = match address {
            "host-gateway" => GATEWAY_ADDRESS.into(),
            _ => bare.unwrap_or(address).parse().map_err(|_| wrong())?,
        };
        HostEntry::new(address, vec![name.to_owned()])
            .map(Self)
            .ok_or_else(wrong)
    }
}

/// Reads the entries of a file in the format of hosts(5).
fn read_hosts(path: &Path) -> Result<Vec<HostEntry>, Failure> {
    let name = path.display();
    let cannot = || format!("cannot read {name}");
    // The file may be a device or a pipe, whose length is not known in advance.
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(HOSTS_MAX_BYTES + 1).read_to_end(&mut bytes))
        .with_context(cannot)?;
    if bytes.len() as u64 > HOSTS_MAX_BYTES {
        return Err(anyhow!("{name} is too large, the limit is {HOSTS_MAX_BYTES} bytes").into());
    }
    let text = String::from_utf8(bytes).with_context(cannot)?;
    let meant = |line: &str| line.split('#').next().unwrap_or("").trim().to_owned();
    let lines = text.lines().map(meant).filter(|line| !line.is_empty());
    lines
        .map(|line| {
            entry(&line).ok_or_else(|| {
                anyhow!("{name}: the line '{line}' does not have the form IP NAME...").into()
            })
        })
        .collect()
}

fn entry(line: &str) -> Option<HostEntry> {
    let mut words = line.split_ascii_whitespace();
    let address: IpAddr = words.next()?.parse().ok()?;
    HostEntry::new(address, words.map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_say_where_and_whose() {
        let parsed = |text: &str| {
            let copy = text.parse::<Copy>().ok()?.0;
            let source = copy.source.to_str()?.to_owned();
            Some((source, copy.destination, copy.owner))
        };
        let copy = |source: &str, destination: &str, owner| {
            Some((source.to_owned(), destination.to_owned(), owner))
        };
        assert_eq!(parsed("a:/b"), copy("a", "/b", (0, 0)));
        assert_eq!(parsed("./a:b:/c/:7"), copy("./a:b", "/c/", (7, 7)));
        assert_eq!(parsed("/a:/b:7:8"), copy("/a", "/b", (7, 8)));
        assert_eq!(parsed("/a:/b:c:7"), copy("/a", "/b:c", (7, 7)));
        for wrong in ["/a", "a:b", ":/b", ""] {
            assert_eq!(parsed(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_file_of_names_is_read_so_far_and_no_further() {
        let error = read_hosts(Path::new("/dev/zero")).expect_err("endless");
        assert_eq!(error.exit_code(), 125);
        // The byte limit lies within a character.
        let long = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(long.path(), "\u{e9}".repeat(200_000)).expect("written");
        let error = read_hosts(long.path()).expect_err("too long");
        let words = format!("{error:?}");
        assert!(words.contains("the limit"), "{words}");
        assert!(
            read_hosts(Path::new("/dev/null"))
                .expect("empty")
                .is_empty()
        );
    }

    #[test]
    fn directories_and_hosts_are_said_in_one_word() {
        let directory = |text: &str| text.parse::<Directory>().ok().map(|made| made.0.mode);
        assert_eq!(directory("/a/b"), Some(None));
        assert_eq!(directory("/a:1777"), Some(Some(0o1777)));
        assert_eq!(directory("/a:rwx"), None);
        assert_eq!(directory("a"), None);
        let host = |text: &str| text.parse::<Host>().ok().map(|host| host.0.to_string());
        assert_eq!(host("db:10.0.0.7").as_deref(), Some("10.0.0.7\tdb\n"));
        assert_eq!(host("db=::1").as_deref(), Some("::1\tdb\n"));
        assert_eq!(host("db:[::1]").as_deref(), Some("::1\tdb\n"));
        assert_eq!(host("up:host-gateway").as_deref(), Some("192.0.0.1\tup\n"));
        for wrong in ["db", "db:x", ":1.2.3.4", "a b:1.2.3.4", "a#:1.2.3.4"] {
            assert_eq!(host(wrong), None, "{wrong}");
        }
    }
}
