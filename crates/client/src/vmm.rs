//! The choice of a VMM, by a process that does not run it.

use std::ffi::OsString;
use std::path::PathBuf;

use msb_runtime::{Room, VmmCommand};
use msb_vmm::{Backend, ChooseError, KrunBackend, VmmChoice, choose};
use msb_vmm_qemu::Qemu;

use crate::{Settings, Shared};

/// The subcommand of `msb` that runs a virtual machine.
const VMM_COMMAND: &str = "__vmm";

/// Every VMM of msb.
#[derive(Debug)]
pub struct Backends {
    krun: KrunBackend,
    qemu: Qemu,
}

/// The VMM of a start.
#[derive(Debug)]
pub struct Selected {
    /// The name of the VMM.
    pub name: &'static str,
    /// The room for mounts that it has for this sandbox.
    pub room: Room,
    /// A notice for the user if this is not the best VMM.
    pub notice: Option<String>,
    /// True if the VMM itself serves the host's directories.
    pub serves_shares: bool,
}

impl Backends {
    /// Returns the backends that the settings describe.
    pub fn new(settings: &Settings) -> Self {
        let qemu = settings.qemu.clone().map(PathBuf::into_os_string);
        let search_path = settings.search_path.clone().map(PathBuf::into_os_string);
        Self {
            krun: KrunBackend,
            qemu: Qemu::new(qemu).in_path(Some(search_path.unwrap_or_default())),
        }
    }

    /// Returns all VMMs, in order of preference.
    pub fn all(&self) -> [&dyn Backend; 2] {
        [&self.krun, &self.qemu]
    }

    /// Selects the VMM for a sandbox with a network or without.
    ///
    /// # Errors
    /// If the wanted VMM, or every VMM, lacks a requirement.
    pub fn select(&self, wanted: VmmChoice, has_network: bool) -> Result<Selected, ChooseError> {
        let all = self.all();
        let selection = choose(wanted, &all)?;
        Ok(Selected {
            name: selection.vmm.name(),
            room: Room::for_vmm(selection.vmm, has_network),
            notice: selection.notice,
            serves_shares: selection.vmm.serves_shares(),
        })
    }
}

impl Shared {
    /// Returns the command line of a virtual machine's process. It has an empty environment, so its
    /// settings are arguments.
    pub fn vmm_command(&self, program: PathBuf) -> VmmCommand {
        let mut arguments: Vec<OsString> = vec![
            "--home".into(),
            self.home().root().into(),
            VMM_COMMAND.into(),
        ];
        if let Some(timeline) = self.timeline().path() {
            arguments.extend(["--timeline".into(), timeline.into()]);
        }
        let settings = self.settings();
        for (option, value) in [
            ("--search-path", &settings.search_path),
            ("--qemu", &settings.qemu),
        ] {
            if let Some(value) = value {
                arguments.extend([option.into(), value.clone().into_os_string()]);
            }
        }
        VmmCommand { program, arguments }
    }
}
