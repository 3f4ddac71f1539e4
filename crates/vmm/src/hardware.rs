use crate::{Requirement, Unavailable};

/// Checks that this host supports hardware virtualisation and that this user may use it.
///
/// # Errors
/// The first missing requirement, with its remedy.
pub fn hardware_virtualisation() -> Result<(), Unavailable> {
    sys::hardware_virtualisation()
}

fn unavailable(requirement: Requirement, reason: &str, remedy: &str) -> Unavailable {
    Unavailable {
        reason: reason.to_owned(),
        remedy: remedy.to_owned(),
        requirement,
    }
}

#[cfg(target_os = "linux")]
mod sys {
    use std::fs::{File, OpenOptions};
    use std::io;

    use super::unavailable;
    use crate::{Requirement, Unavailable};

    const KVM: &str = "/dev/kvm";

    /// The remedy if the device does not exist.
    const LOAD_KVM: &str = if cfg!(target_arch = "aarch64") {
        "boot the host's kernel with virtualisation (at EL2), which most virtual machines do not \
         offer; in a container, pass the device in"
    } else {
        "load the module with 'modprobe kvm_intel' or 'modprobe kvm_amd'; in a container, pass the \
         device in"
    };

    pub(super) fn hardware_virtualisation() -> Result<(), Unavailable> {
        let cpu_info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        if cfg!(target_arch = "x86_64") {
            check_processor(&cpu_info)?;
        }
        check_device(OpenOptions::new().read(true).write(true).open(KVM))
    }

    /// Checks the processor's flags before the device: `/dev/kvm` can exist on a processor without
    /// the extensions, and then it runs no stock kernel.
    pub(super) fn check_processor(cpu_info: &str) -> Result<(), Unavailable> {
        let mut flags = cpu_info.lines().filter(|line| line.starts_with("flags"));
        let has_extension = |line: &str| {
            line.split_ascii_whitespace()
                .any(|flag| matches!(flag, "vmx" | "svm"))
        };
        if flags.any(has_extension) {
            return Ok(());
        }
        Err(unavailable(
            Requirement::Processor,
            "/proc/cpuinfo shows neither vmx nor svm",
            "turn on virtualisation in the firmware, or nested virtualisation in the hypervisor \
             that this machine itself runs on",
        ))
    }

    pub(super) fn check_device(opened: io::Result<File>) -> Result<(), Unavailable> {
        let Err(error) = opened else { return Ok(()) };
        Err(match error.kind() {
            io::ErrorKind::NotFound => {
                unavailable(Requirement::KvmDevice, "/dev/kvm does not exist", LOAD_KVM)
            }
            io::ErrorKind::PermissionDenied => unavailable(
                Requirement::KvmPermission,
                "no permission to open /dev/kvm",
                "add yourself to group kvm with 'sudo usermod -aG kvm $USER' and log in again",
            ),
            _ => Unavailable {
                reason: format!("cannot open /dev/kvm: {error}"),
                remedy: "see 'dmesg | grep -i kvm' for what the kernel says".to_owned(),
                requirement: Requirement::Other,
            },
        })
    }
}

#[cfg(not(target_os = "linux"))]
mod sys {
    use super::unavailable;
    use crate::{Requirement, Unavailable};

    pub(super) fn hardware_virtualisation() -> Result<(), Unavailable> {
        Err(unavailable(
            Requirement::Other,
            "msb does not use this system's hypervisor yet",
            "run msb on Linux with KVM",
        ))
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs::File;
    use std::io;

    use super::sys::{check_device, check_processor};

    #[test]
    fn the_processor_needs_one_of_two_flags_as_a_whole_word() {
        assert!(check_processor("flags\t\t: fpu svm lm\n").is_ok());
        assert!(check_processor("processor\t: 0\nflags\t\t: fpu vmx\n").is_ok());
        for without in [
            "",
            "flags\t: fpu vmx_extra\n",
            "vmx flags\t: ept vpid\nbugs: svm\n",
        ] {
            assert!(check_processor(without).is_err(), "{without}");
        }
    }

    #[test]
    fn each_trouble_with_the_device_has_its_remedy() {
        let remedy = |kind| check_device(Err(io::Error::from(kind))).unwrap_err().remedy;
        assert!(remedy(io::ErrorKind::NotFound).contains("in a container"));
        assert!(remedy(io::ErrorKind::PermissionDenied).contains("group kvm"));
        assert!(remedy(io::ErrorKind::ResourceBusy).contains("dmesg"));
        assert!(check_device(File::open("/dev/null")).is_ok());
    }
}
