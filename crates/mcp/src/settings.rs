use std::path::PathBuf;
use std::time::Duration;

use msb_sdk::SandboxOptions;

/// The time without use after which a sandbox stops that its session leaves.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30 * 60);
/// The most sandboxes of a session.
const SANDBOXES_MAX: usize = 4;

/// The settings of a session, which the user gives, and the client cannot change.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The options of each sandbox: its mounts, network, ports, secrets, memory and processors. The client can
    /// lower the memory, the processors and the reach of the network. Image, name, labels and lifetime are set by
    /// the session.
    pub template: SandboxOptions,
    /// The images that the client can choose, of which the first is the default; if there are none, it names any.
    pub images: Vec<String>,
    /// The directories of the host that each sandbox has staged, at `/work`.
    pub directories: Vec<PathBuf>,
    /// True if the roots that the client offers are staged, unless there are `directories`.
    pub uses_roots: bool,
    /// True if the client can put changes of staged directories into the directories of the host.
    pub applies: bool,
    /// True if the sandboxes of the session are removed at its end. Otherwise they stop after `idle_timeout`.
    pub removes: bool,
    /// The time without use after which a sandbox stops.
    pub idle_timeout: Duration,
    /// True if the client sees all sandboxes of the home, not those of its session alone.
    pub sees_all: bool,
    /// The most sandboxes that the session creates.
    pub sandboxes_max: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            template: SandboxOptions::default(),
            images: Vec::new(),
            directories: Vec::new(),
            uses_roots: true,
            applies: true,
            removes: false,
            idle_timeout: IDLE_TIMEOUT,
            sees_all: false,
            sandboxes_max: SANDBOXES_MAX,
        }
    }
}
