use std::io;

/// The status of a request that was carried out: `VIRTIO_BLK_S_OK` (uapi/linux/virtio_blk.h).
pub(crate) const OK: u8 = 0;

/// A reason why a request was not carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The disk failed, or the request is not one for this disk.
    Failed,
    /// The device does not know the kind of the request, or a flag of it.
    Unsupported,
}

impl Refusal {
    /// Returns `VIRTIO_BLK_S_IOERR` or `VIRTIO_BLK_S_UNSUPP`.
    pub(crate) const fn status(self) -> u8 {
        match self {
            Self::Failed => 1,
            Self::Unsupported => 2,
        }
    }
}

/// The guest gets no reason but its status.
impl From<io::Error> for Refusal {
    fn from(_: io::Error) -> Self {
        Self::Failed
    }
}
