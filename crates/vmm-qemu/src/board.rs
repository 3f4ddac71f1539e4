use msb_vmm::Machine;

/// A machine type of QEMU, and what guests on it need.
#[derive(Debug)]
pub(crate) struct Board {
    /// QEMU's name for it.
    pub(crate) name: &'static str,
    /// Properties beside the accelerator.
    pub(crate) properties: &'static [(&'static str, &'static str)],
    /// The processor under KVM: the host's.
    pub(crate) kvm_processor: &'static str,
    /// The translated processor.
    pub(crate) translated_processor: &'static str,
    /// The virtio-mmio slots in the order in which the guest finds them.
    slots: &'static [u8],
    /// Kernel arguments.
    pub(crate) kernel_words: &'static [&'static str],
    /// More kernel arguments for a translated guest.
    pub(crate) translated_words: &'static [&'static str],
}

/// The board for guests of this host.
pub(crate) const HOST: &Board = if cfg!(target_arch = "aarch64") {
    &VIRT
} else {
    &MICROVM
};

/// The board for x86-64. QEMU names its devices on the kernel's command line.
pub(crate) const MICROVM: Board = Board {
    name: "microvm",
    properties: &[("rtc", "on"), ("acpi", "off"), ("isa-serial", "off")],
    // No nested virtualisation: it is the hypervisor's largest attack surface and costs boot time.
    kvm_processor: "host,vmx=off,svm=off",
    translated_processor: "max,vmx=off,svm=off",
    // QEMU lists the last one first. Slot 3 stays empty because its interrupt line, 8, is also the
    // clock's.
    slots: &[7, 6, 5, 4, 2, 1, 0],
    kernel_words: &[
        // The board resets by triple fault; it has no keyboard controller.
        "reboot=t",
        // Emulated timers run late, and the kernel must not distrust them for that.
        "no_timer_check",
        "tsc=reliable",
        // The board offers 1024 entries for every queue, and the console's driver fills its incoming
        // ones with a page each: 12 MiB. msb's kernel makes them smaller; others ignore the word.
        "msb.virtio_queue_size=128",
    ],
    translated_words: &[
        // With several processors, `sched_clock_init_late` rewrites the instructions of
        // `sched_clock_cpu` by way of a breakpoint, while every other processor executes them. QEMU
        // before 8.1 may keep a translation with the breakpoint, which crashes the kernel
        // (`Oops: int3`, in a third of starts with four processors). Without this initcall the kernel
        // keeps the clock that it has until then.
        "initcall_blacklist=sched_clock_init_late",
        // A kernel with one processor takes out the locks of 9,000 instructions one by one, and each
        // throws a translation away. QEMU ignores the locks then anyway.
        "noreplace-smp",
        // QEMU's local APIC counts nanoseconds. msb's kernel does not measure that then; others
        // ignore the word.
        "msb.lapic_timer_khz=1000000",
    ],
};

/// The board for arm64. QEMU names its devices in a device tree. The kernel switches it off, and
/// restarts it, by PSCI.
pub(crate) const VIRT: Board = Board {
    name: "virt",
    properties: &[
        // The host's interrupt controller under KVM, and the newest that the translator has.
        ("gic-version", "max"),
        // No interrupts by message: only PCI devices have them.
        ("its", "off"),
        ("acpi", "off"),
    ],
    kvm_processor: "host",
    // Signatures of pointers by a simple function: the architecture's own is slow to emulate.
    translated_processor: "max,pauth-impdef=on",
    // The first 16 of 32.
    slots: &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
    kernel_words: &[],
    translated_words: &[],
};

impl Board {
    /// Returns the most disks and shares that a machine can have.
    pub(crate) const fn device_limit(&self, has_network: bool) -> usize {
        let network = if has_network { 1 } else { 0 };
        self.slots.len() - 1 - network
    }

    /// Returns true if a slot is left for the entropy source, which is optional: the processor has
    /// entropy too.
    pub(crate) fn has_entropy(&self, machine: &Machine) -> bool {
        1 + devices(machine) < self.slots.len()
    }

    /// Returns the number of slots before the disks: of the serial bus, and of the entropy source.
    pub(crate) fn first_disk(&self, machine: &Machine) -> usize {
        1 + usize::from(self.has_entropy(machine))
    }

    /// Returns the last slot. `None` if another device needs it: the machine then has no balloon.
    pub(crate) fn balloon_place(&self, machine: &Machine) -> Option<usize> {
        let last = self.slots.len() - 1;
        let taken = self.first_disk(machine) + devices(machine);
        (taken <= last).then_some(last)
    }

    /// Returns the bus of the device that the guest finds at position `index`.
    pub(crate) fn bus(&self, index: usize) -> String {
        format!("virtio-mmio-bus.{}", self.slots[index])
    }
}

/// Returns the number of devices that a machine names.
fn devices(machine: &Machine) -> usize {
    machine.disks.len() + machine.shares.len() + usize::from(machine.network.is_some())
}
