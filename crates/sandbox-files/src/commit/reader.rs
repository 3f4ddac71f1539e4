use std::io::{self, BufWriter, PipeReader, PipeWriter, Read, Write as _};
use std::thread::{Builder, JoinHandle};

/// Bytes that are collected before they go to the pipe.
const BUFFER_BYTES: usize = 64 << 10;

/// A layer's tar, from the thread that writes it. The thread ends when this value is dropped.
#[derive(Debug)]
pub struct LayerReader {
    pipe: PipeReader,
    /// The writing thread; `None` once it has ended.
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl LayerReader {
    pub(super) fn new(
        write: impl FnOnce(&mut BufWriter<PipeWriter>) -> io::Result<()> + Send + 'static,
    ) -> io::Result<Self> {
        let (pipe, writer) = io::pipe()?;
        let work = move || {
            let mut out = BufWriter::with_capacity(BUFFER_BYTES, writer);
            write(&mut out)?;
            out.flush()
        };
        let thread = Builder::new().name("msb-layer".to_owned()).spawn(work)?;
        Ok(Self {
            pipe,
            thread: Some(thread),
        })
    }
}

impl Read for LayerReader {
    /// Reads from the layer. Its end is reported only if it was written completely.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.pipe.read(buffer)?;
        if count == 0
            && !buffer.is_empty()
            && let Some(thread) = self.thread.take()
        {
            let ended = thread.join();
            ended.unwrap_or_else(|_| Err(io::Error::other("the writing thread panicked")))?;
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_an_error_is_the_readers() {
        let mut text = String::new();
        let mut reader = LayerReader::new(|out| out.write_all(b"layer")).expect("a pipe");
        reader.read_to_string(&mut text).expect("read");
        assert_eq!(text, "layer");
        let failing = LayerReader::new(|out| {
            out.write_all(b"half")?;
            Err(io::Error::other("no more"))
        });
        let error = failing.expect("a pipe").read_to_string(&mut text);
        assert_eq!(error.expect_err("it failed").to_string(), "no more");
        // A reader that is dropped does not make the writer wait.
        let endless = LayerReader::new(|out| {
            loop {
                out.write_all(&[0; 4096])?;
            }
        });
        drop(endless.expect("a pipe"));
    }
}
