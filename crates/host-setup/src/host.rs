use rustix::process::geteuid;

use crate::Distribution;

/// The properties of a host that decide about commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Host {
    /// The family of the distribution; `None` if it is not known.
    pub distribution: Option<Distribution>,
    /// True if this process has the rights of root.
    pub is_root: bool,
    /// The kernel's module of KVM for this processor.
    pub kvm_module: &'static str,
}

/// A step that prepares a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetupStep {
    /// The step, in words.
    pub action: &'static str,
    /// The command, for a shell of this user.
    pub command: String,
}

impl Host {
    /// Reads the properties of this host.
    #[must_use]
    pub fn read() -> Self {
        Self {
            distribution: Distribution::of_host(),
            is_root: geteuid().is_root(),
            kvm_module: kvm_module(),
        }
    }

    /// Returns the step that lets this user open `/dev/kvm`.
    #[must_use]
    pub fn permit_kvm(&self) -> SetupStep {
        self.step(
            "allow this user to use KVM, then log in again",
            "usermod --append --groups kvm \"$(id -un)\"",
        )
    }

    /// Returns the step that makes `/dev/kvm` exist.
    #[must_use]
    pub fn load_kvm(&self) -> SetupStep {
        let command = format!("modprobe {}", self.kvm_module);
        self.step("load the module of KVM", &command)
    }

    /// Returns the step that installs QEMU for guests of this host's architecture. `None` if its command is
    /// not known.
    #[must_use]
    pub fn install_qemu(&self) -> Option<SetupStep> {
        let command = self.distribution?.install_qemu;
        Some(self.step("install QEMU", command))
    }

    /// Returns the step that installs a guest kernel. `None` if no package of one is known.
    #[must_use]
    pub fn install_kernel(&self) -> Option<SetupStep> {
        let command = self.distribution?.install_kernel?;
        Some(self.step(
            "install msb's release, which has a kernel, or libkrunfw",
            command,
        ))
    }

    /// Returns a step whose command this user runs with the rights of root.
    fn step(&self, action: &'static str, command: &str) -> SetupStep {
        let command = if self.is_root {
            command.to_owned()
        } else {
            format!("sudo {command}")
        };
        SetupStep { action, command }
    }
}

/// Returns the module for this processor, by the flag of its virtualisation.
fn kvm_module() -> &'static str {
    let cpu_info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let has_vmx = cpu_info.split_ascii_whitespace().any(|word| word == "vmx");
    if has_vmx { "kvm_intel" } else { "kvm_amd" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(is_root: bool, os_release: &str) -> Host {
        Host {
            distribution: Distribution::parse(os_release),
            is_root,
            kvm_module: "kvm_amd",
        }
    }

    #[test]
    fn commands_are_those_of_the_distribution_and_of_the_user() {
        let step = host(true, "ID=fedora").install_qemu().expect("a package");
        assert!(step.command.starts_with("dnf install qemu-system-"));
        let step = host(false, "ID=fedora").install_kernel();
        let command = step.map(|step| step.command);
        assert_eq!(command.as_deref(), Some("sudo dnf install libkrunfw"));
        let step = host(false, "ID=debian").load_kvm();
        assert_eq!(step.command, "sudo modprobe kvm_amd");
        let step = host(true, "ID=debian").permit_kvm();
        assert!(step.command.starts_with("usermod "));
    }

    #[test]
    fn without_a_package_no_command_is_known() {
        assert_eq!(host(false, "ID=debian").install_kernel(), None);
        let unknown = host(false, "ID=plan9");
        assert_eq!(
            (unknown.install_qemu(), unknown.install_kernel()),
            (None, None)
        );
    }

    #[test]
    fn this_host_is_read() {
        assert!(Host::read().kvm_module.starts_with("kvm_"));
    }
}
