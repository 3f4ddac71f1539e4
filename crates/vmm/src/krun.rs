use crate::{Backend, Unavailable, hardware_virtualisation};

/// libkrun has 11 interrupt lines for virtio-mmio devices on x86-64 (IRQ 5 to 15). Four are used by
/// the balloon, the entropy source, the console and the agent's port. A network device uses one
/// more.
const DEVICE_LIMIT: usize = 11 - 4;

/// libkrun, as a process sees it that does not link it.
#[derive(Debug, Clone, Copy, Default)]
pub struct KrunBackend;

impl Backend for KrunBackend {
    fn name(&self) -> &'static str {
        "krun"
    }

    fn probe(&self) -> Result<(), Unavailable> {
        hardware_virtualisation()
    }

    /// Returns true: threads of libkrun serve them.
    fn serves_shares(&self) -> bool {
        true
    }

    fn device_limit(&self, has_network: bool) -> usize {
        DEVICE_LIMIT - usize::from(has_network)
    }
}
