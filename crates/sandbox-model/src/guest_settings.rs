use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    AGENT_PATH, AGENT_VARIABLE, Hostname, PidNamespace, Size, SocketForward, Sysctls, kernel_word,
};

/// Maximum length of the settings on the kernel's command line, in bytes. The whole line has 1,536.
pub const WORD_MAX_BYTES: usize = 768;

/// The settings that `msb inspect` shows in another object, or under another name: the setting, the
/// object and the key in it. All others have their own names, beside the sandbox's id.
pub const GROUPED: [(&str, &str, &str); 5] = [
    ("pids", "limits", "pids"),
    ("shm", "limits", "shm_bytes"),
    ("tmp", "limits", "tmp_bytes"),
    ("pid", "process", "pid"),
    ("init", "process", "init"),
];

/// The settings that the host carries out, and of which the guest's agent is not told.
const OF_HOST: [&str; 2] = ["forward_agent", "sockets"];
/// The most sockets that are forwarded. The guest's agent listens on 16.
const SOCKETS_MAX: usize = 12;

/// The settings of a sandbox's guest.
///
/// The guest's root can lift the limits among them: they protect programs from each other, not the
/// host from the guest. Texts of other languages are generated from the comments of the fields.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct GuestSettings {
    /// The namespace of process IDs: the sandbox's own, in which the main command is process 1, or that of the
    /// virtual machine.
    pub pid: PidNamespace,
    /// True if process 1 is an init, which starts the main command, passes signals on to it and reaps orphans.
    pub init: bool,
    /// Most processes and threads of all commands together; the kernel's limit by default.
    pub pids: Option<NonZeroU32>,
    /// Size of `/dev/shm`; half of the memory by default.
    pub shm: Option<Size>,
    /// Size of `/tmp` in memory; by default `/tmp` is on the writable disk.
    pub tmp: Option<Size>,
    /// Settings of the guest's kernel, by name, such as `net.core.somaxconn`.
    pub sysctls: Sysctls,
    /// The guest's hostname; the sandbox's name by default.
    pub hostname: Option<Hostname>,
    /// True if nothing can be written but to mounts and to `/dev/shm`.
    pub read_only: bool,
    /// Unix sockets of the host that programs of the guest can connect to, each as
    /// `HOST_PATH:GUEST_PATH[:mode=MODE,owner=USER]`.
    pub sockets: Vec<SocketForward>,
    /// True if programs of the guest can list the keys of the host's SSH agent and sign with them.
    pub forward_agent: bool,
}

/// Settings that are valid one by one, and cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidGuestSettings {
    /// A filesystem in memory has no room. For a tmpfs, a size of 0 means no limit.
    #[error("the size of {path} must be greater than 0")]
    NoRoom {
        /// The path of the filesystem.
        path: &'static str,
    },
    /// Two sockets have the same path in the guest.
    #[error("two sockets are forwarded to '{}'", .path.escape_debug())]
    SamePath {
        /// The path in the guest.
        path: String,
    },
    /// There are too many sockets.
    #[error("{count} sockets are too many to forward, the limit is {SOCKETS_MAX}")]
    TooManySockets {
        /// The number of sockets.
        count: usize,
    },
    /// The settings do not fit on the kernel's command line.
    #[error(
        "the settings of the guest are too long: {length_bytes} bytes together, the limit is {limit_bytes}"
    )]
    TooLong {
        /// Length of all settings, in bytes.
        length_bytes: usize,
        /// Limit, in bytes.
        limit_bytes: usize,
    },
}

/// The word of the kernel's command line holds no settings of a guest.
#[derive(Debug, thiserror::Error)]
pub enum InvalidGuestWord {
    /// The word is not encoded as [`kernel_word`] encodes JSON.
    #[error("the word is not encoded JSON")]
    Encoding,
    /// The JSON is not an object of settings, or one of them is unknown or invalid.
    #[error("the word has no valid settings")]
    Settings(#[source] serde_json::Error),
}

impl GuestSettings {
    /// Checks that the settings can be used together.
    ///
    /// # Errors
    /// A size of 0, sockets that are too many or at one path, or settings that are too long for the kernel's command
    /// line.
    pub fn check(&self) -> Result<(), InvalidGuestSettings> {
        for (size, path) in [(self.shm, "/dev/shm"), (self.tmp, "/tmp")] {
            if size == Some(Size::new(0)) {
                return Err(InvalidGuestSettings::NoRoom { path });
            }
        }
        self.check_sockets()?;
        match self.kernel_word().map_or(0, |word| word.len()) {
            length_bytes if length_bytes > WORD_MAX_BYTES => Err(InvalidGuestSettings::TooLong {
                length_bytes,
                limit_bytes: WORD_MAX_BYTES,
            }),
            _ => Ok(()),
        }
    }

    fn check_sockets(&self) -> Result<(), InvalidGuestSettings> {
        let count = self.sockets.len();
        if count > SOCKETS_MAX {
            return Err(InvalidGuestSettings::TooManySockets { count });
        }
        let agent = self.forward_agent.then_some(AGENT_PATH);
        let paths = self.sockets.iter().map(SocketForward::guest_path);
        let mut paths: Vec<&str> = paths.chain(agent).collect();
        paths.sort_unstable();
        let mut pairs = paths.iter().zip(paths.iter().skip(1));
        match pairs.find(|(path, next)| path == next) {
            Some((&path, _)) => Err(InvalidGuestSettings::SamePath {
                path: path.to_owned(),
            }),
            None => Ok(()),
        }
    }

    /// Returns the variable that commands find the forwarded SSH agent by, as `NAME=value`; `None` if none is
    /// forwarded.
    pub fn agent_variable(&self) -> Option<String> {
        self.forward_agent
            .then(|| format!("{AGENT_VARIABLE}={AGENT_PATH}"))
    }

    /// Returns the settings for a copy of the sandbox that has this name. A hostname that the original was given is
    /// in its files, and is replaced there by the copy's name.
    #[must_use]
    pub fn for_copy(mut self, name: &str) -> Self {
        self.hostname = self.hostname.and_then(|_| name.parse().ok());
        self
    }

    /// Returns the word of the kernel's command line from which the guest's agent reads the settings, without
    /// the name of its variable. Settings that have their defaults are left out; `None` if all have.
    pub fn kernel_word(&self) -> Option<String> {
        let (mut fields, defaults) = (fields(self), fields(&Self::default()));
        fields.retain(|name, value| {
            defaults.get(name) != Some(value) && !OF_HOST.contains(&name.as_str())
        });
        let json = (!fields.is_empty()).then(|| Value::Object(fields).to_string())?;
        Some(kernel_word::encode_json(&json))
    }

    /// Reads the word that [`kernel_word`](Self::kernel_word) returned.
    ///
    /// # Errors
    /// If the word is none, or has a setting that this build does not know.
    pub fn from_kernel_word(word: &str) -> Result<Self, InvalidGuestWord> {
        let json = kernel_word::decode_json(word).ok_or(InvalidGuestWord::Encoding)?;
        // A list would be read as the fields in their order.
        let fields: Map<String, Value> =
            serde_json::from_str(&json).map_err(InvalidGuestWord::Settings)?;
        serde_json::from_value(Value::Object(fields)).map_err(InvalidGuestWord::Settings)
    }
}

fn fields(settings: &GuestSettings) -> Map<String, Value> {
    match serde_json::to_value(settings) {
        Ok(Value::Object(fields)) => fields,
        _ => unreachable!("a structure of plain values is an object"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sysctl;

    fn settings() -> GuestSettings {
        let sysctl = |text: &str| text.parse::<Sysctl>().expect("a setting");
        GuestSettings {
            pids: NonZeroU32::new(50),
            shm: Some(Size::new(1 << 20)),
            sysctls: Sysctls::new([sysctl("kernel.core_pattern=|/a 'b' \"%c\"")]).expect("short"),
            hostname: Some("web.example.com".parse().expect("a name")),
            read_only: true,
            ..GuestSettings::default()
        }
    }

    #[test]
    fn the_agent_reads_the_settings_that_differ_from_their_defaults() {
        assert_eq!(GuestSettings::default().kernel_word(), None);
        let word = settings().kernel_word().expect("a word");
        assert_eq!(
            word,
            "{'hostname':'web.example.com','pids':50,'read_only':true,'shm':1048576,\
             'sysctls':{'kernel.core_pattern':'|/a%20%27b%27%20\\'%25c\\''}}"
        );
        let read = GuestSettings::from_kernel_word(&word).expect("read");
        assert_eq!(read, settings());
    }

    #[test]
    fn the_guest_is_not_told_of_sockets_of_the_host() {
        let forward = |text: &str| text.parse::<SocketForward>().expect("a forward");
        let mut forwards = GuestSettings {
            sockets: vec![forward("/a:/b"), forward("/c:/d")],
            forward_agent: true,
            ..GuestSettings::default()
        };
        forwards.check().expect("good");
        assert_eq!(forwards.kernel_word(), None);
        let variable = forwards.agent_variable();
        let expected = "SSH_AUTH_SOCK=/dev/msb/ssh-agent.sock";
        assert_eq!(variable.as_deref(), Some(expected));
        forwards.sockets.push(forward("/e:/dev/msb/ssh-agent.sock"));
        let error = forwards.check().expect_err("refused");
        assert!(
            matches!(&error, InvalidGuestSettings::SamePath { path } if path.ends_with(".sock")),
            "{error}"
        );
        let many = (0..13).map(|number| forward(&format!("/a:/{number}")));
        forwards.sockets = many.collect();
        let error = forwards.check().expect_err("refused");
        assert_eq!(error, InvalidGuestSettings::TooManySockets { count: 13 });
    }

    #[test]
    fn a_word_with_another_setting_is_refused() {
        for word in [
            "",
            "{",
            "%",
            "[]",
            "{'firewall':true}",
            "{'shm':true}",
            "{'hostname':'a%20b'}",
            "{'pids':0}",
        ] {
            GuestSettings::from_kernel_word(word).expect_err(word);
        }
    }

    #[test]
    fn settings_that_cannot_be_used_together_are_refused() {
        settings().check().expect("good");
        let mut no_room = settings();
        no_room.tmp = Some(Size::new(0));
        let error = no_room.check().expect_err("refused");
        assert_eq!(error.to_string(), "the size of /tmp must be greater than 0");
        // The settings of the kernel alone are within their limit, and the JSON around each is not counted there.
        let short = (0..80).map(|number| Sysctl::new(&format!("a.{number}"), "").expect("short"));
        let mut long = settings();
        long.sysctls = Sysctls::new(short).expect("within the limit");
        let error = long.check().expect_err("refused");
        assert!(
            matches!(error, InvalidGuestSettings::TooLong { .. }),
            "{error}"
        );
    }

    #[test]
    fn a_copy_has_its_own_hostname_if_the_original_was_given_one() {
        let copy = settings().for_copy("copy");
        assert_eq!(copy.hostname, "copy".parse().ok());
        assert_eq!(copy.pids, settings().pids);
        assert_eq!(GuestSettings::default().for_copy("copy").hostname, None);
    }

    #[test]
    fn each_setting_that_is_shown_elsewhere_exists() {
        let fields = fields(&GuestSettings::default());
        for (setting, _, _) in GROUPED {
            assert!(fields.contains_key(setting), "{setting}");
        }
    }

    #[test]
    fn settings_are_fields_of_a_record() {
        #[derive(Debug, PartialEq, Serialize, Deserialize)]
        struct Record {
            name: String,
            #[serde(flatten)]
            guest: GuestSettings,
        }
        let record = Record {
            name: "web".to_owned(),
            guest: settings(),
        };
        let json = serde_json::to_string(&record).expect("written");
        assert_eq!(serde_json::from_str::<Record>(&json).expect("read"), record);
        let old: Record = serde_json::from_str(r#"{"name": "old"}"#).expect("read");
        assert_eq!(old.guest, GuestSettings::default());
    }
}
