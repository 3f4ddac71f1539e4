use crate::{InvalidMachine, Machine};

/// The longest command line.
///
/// The kernel keeps 2048 bytes on x86-64 and arm64 (`COMMAND_LINE_SIZE`). VMMs append about 40
/// bytes for each of their virtio-mmio devices.
const LIMIT_BYTES: usize = 1536;

/// The arguments of every machine, each with its reason.
const COMMON: [&str; 12] = [
    // The only console that both VMMs have.
    "console=hvc0",
    // The boot disk is an EROFS image, and its `/init` is the agent.
    "rootfstype=erofs",
    "ro",
    "init=/init",
    // A panic reboots, and a reboot ends the machine: no guest hangs after a panic.
    "panic=-1",
    // The processor and the VMM provide the seed at once; no boot waits for it.
    "random.trust_cpu=on",
    // Security modules that programs use, as far as the kernel has them. SELinux, which libkrunfw's
    // kernel would start, would get no policy, and would be consulted at every lookup.
    "lsm=landlock,yama,bpf",
    // Loop devices are created on demand.
    "max_loop=0",
    // The jitter generator has a long self-test, and nothing needs it: a seed already exists. The other
    // makes 4,000 files below /sys/kernel/slab, which nobody in a sandbox reads.
    "initcall_blacklist=jent_mod_init,slab_late_init",
    // A sandbox has the network interfaces that it was given, and `ip link add` makes others.
    "dummy.numdummies=0",
    // Who waits for all processors to pass through the scheduler (mounts, control groups, network
    // interfaces) interrupts them instead of waiting for some ticks of the clock each time.
    "rcupdate.rcu_expedited=1",
    // A processor's own variables take 45 pages of memory, not those of a whole huge page, which the
    // kernel would fill with zeros first.
    "percpu_alloc=page",
];

impl Machine {
    /// Returns the kernel command line.
    ///
    /// It holds the arguments of every machine, then `vmm_words`, then the machine's own arguments.
    /// The kernel uses the last of two equal arguments, so the machine's own take precedence.
    ///
    /// # Errors
    /// If an argument is not one printable word, or the arguments are too long together.
    pub fn kernel_command_line(&self, vmm_words: &[&str]) -> Result<String, InvalidMachine> {
        if let Some(argument) = self
            .kernel_arguments
            .iter()
            .find(|argument| !is_word(argument))
        {
            return Err(InvalidMachine::KernelArgument {
                argument: argument.clone(),
            });
        }
        let root = format!("root={}", device_path(self.root_disk));
        let own = self.kernel_arguments.iter().map(String::as_str);
        let words = COMMON.into_iter().chain([root.as_str(), "quiet"]);
        let line = words
            .chain(vmm_words.iter().copied())
            .chain(own)
            .collect::<Vec<_>>()
            .join(" ");
        if line.len() > LIMIT_BYTES {
            let length_bytes = line.len();
            return Err(InvalidMachine::CommandLineTooLong {
                length_bytes,
                limit_bytes: LIMIT_BYTES,
            });
        }
        Ok(line)
    }
}

fn is_word(argument: &str) -> bool {
    !argument.is_empty() && argument.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Returns the guest's name for the disk at `index`. No VMM supports 26 disks.
fn device_path(index: usize) -> String {
    let letter = ('a'..='z').nth(index).unwrap_or('z');
    format!("/dev/vd{letter}")
}

#[cfg(test)]
mod tests {
    use crate::InvalidMachine;
    use crate::machine::tests::machine;

    #[test]
    fn words_come_in_order_of_authority() {
        let mut machine = machine();
        machine.kernel_arguments = vec!["loglevel=7".to_owned()];
        assert_eq!(
            machine.kernel_command_line(&["reboot=t"]).unwrap(),
            "console=hvc0 rootfstype=erofs ro init=/init panic=-1 random.trust_cpu=on \
             lsm=landlock,yama,bpf max_loop=0 initcall_blacklist=jent_mod_init,slab_late_init \
             dummy.numdummies=0 rcupdate.rcu_expedited=1 \
             percpu_alloc=page root=/dev/vdc quiet reboot=t loglevel=7"
        );
    }

    #[test]
    fn an_argument_cannot_smuggle_in_another() {
        for argument in ["", "a b", "a\nb", "ä", "a\0"] {
            let mut machine = machine();
            machine.kernel_arguments = vec!["fine".to_owned(), argument.to_owned()];
            let expected = InvalidMachine::KernelArgument {
                argument: argument.to_owned(),
            };
            assert_eq!(machine.kernel_command_line(&[]), Err(expected));
        }
    }

    #[test]
    fn the_line_leaves_room_for_what_the_vmm_appends() {
        let mut machine = machine();
        machine.kernel_arguments = vec!["x".repeat(1500)];
        let error = machine.kernel_command_line(&[]).unwrap_err();
        assert!(matches!(
            error,
            InvalidMachine::CommandLineTooLong {
                limit_bytes: 1536,
                ..
            }
        ));
    }
}
