use std::io::{self, Read as _, Write as _};

use vhost_device::Buffers;
use virtio_queue::{Reader, Writer};

/// The buffers of a request: those that the guest filled, those for the answer, and the last byte of these.
pub(crate) struct RequestBuffers<'a> {
    pub(crate) input: Reader<'a>,
    pub(crate) output: Writer<'a>,
    status: Writer<'a>,
}

impl<'a> RequestBuffers<'a> {
    /// Returns the buffers of a request. `None` if a buffer lies outside of the guest's memory, or there is no byte for
    /// the status.
    pub(crate) fn from_chain(buffers: &'a Buffers) -> Option<Self> {
        let memory = buffers.memory();
        let input = Reader::new(memory, buffers.clone()).ok()?;
        let mut output = Writer::new(memory, buffers.clone()).ok()?;
        let data_bytes = output.available_bytes().checked_sub(1)?;
        let status = output.split_at(data_bytes).ok()?;
        Some(Self {
            input,
            output,
            status,
        })
    }

    /// Writes the status. Returns the number of bytes of the answer.
    pub(crate) fn end(mut self, status: u8) -> u32 {
        let data_bytes = self.output.bytes_written();
        match self.status.write_all(&[status]) {
            Ok(()) => u32::try_from(data_bytes)
                .unwrap_or(u32::MAX)
                .saturating_add(1),
            Err(_) => 0,
        }
    }

    /// Fills a part of a buffer of this process with the next bytes of the guest.
    pub(crate) fn take(&mut self, part: &mut [u8]) -> io::Result<()> {
        self.input.read_exact(part)
    }

    /// Gives the guest the next bytes of the answer.
    pub(crate) fn give(&mut self, part: &[u8]) -> io::Result<()> {
        self.output.write_all(part)
    }
}
