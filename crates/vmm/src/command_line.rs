use crate::{InvalidMachine, Machine};

/// What the kernel keeps (`COMMAND_LINE_SIZE`, 2048 on x86-64 and arm64), less what VMMs append for
/// their virtio-mmio devices: about 40 bytes each.
const LIMIT_BYTES: usize = 1536;

/// What every machine is told, each for a reason.
const COMMON: [&str; 9] = [
    // The only console that both VMMs have.
    "console=hvc0",
    // Our own image format for the root, whose first program is the agent.
    "rootfstype=erofs",
    "ro",
    "init=/init",
    // A panic reboots, and a reboot ends the machine: no guest hangs dead.
    "panic=-1",
    // The seed comes at once from the processor and the VMM; no boot waits for it.
    "random.trust_cpu=on",
    // Security modules that programs ask for, as far as the kernel has them. SELinux, which libkrunfw's kernel
    // would start, gets no policy here, and is asked at every look-up.
    "lsm=landlock,yama,bpf",
    // Loop devices are made when somebody asks for one.
    "max_loop=0",
    // The jitter generator tests itself at length, and nothing needs it: the seed is there already.
    "initcall_blacklist=jent_mod_init",
];

impl Machine {
    /// The kernel command line: what every machine is told, then `vmm_words`, then the machine's own
    /// arguments. The kernel lets the last of two equal words win, so the machine's own do.
    ///
    /// # Errors
    /// An argument that is no single printable word, or too many of them.
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

/// The guest's name for the disk at `index`. No VMM has room for 26 disks.
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
             lsm=landlock,yama,bpf max_loop=0 initcall_blacklist=jent_mod_init \
             root=/dev/vdc quiet reboot=t loglevel=7"
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
