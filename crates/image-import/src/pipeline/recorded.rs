use std::cell::RefCell;
use std::io::{self, Read, Write};

use fstree::{BLOCK_SIZE_BYTES, DataSink, Run};
use image_store::outline::{OutlineWriter, Written};

/// The outline of a layer that is being read. [`RecordedReader`] and [`RecordedSink`] share it: the
/// reader adds each byte of the tar, unless the sink stores it.
pub(crate) struct Recording<W: Write>(RefCell<State<W>>);

struct State<W: Write> {
    outline: OutlineWriter<W>,
    /// Number of the tar's bytes that were read for the sink, in bytes; `None` while it stores none.
    stored_bytes: Option<u64>,
    /// First error of the outline's file.
    failure: Option<io::Error>,
}

impl<W: Write> Recording<W> {
    /// Starts an outline in an empty file.
    pub(crate) fn new(file: W) -> io::Result<Self> {
        Ok(Self(RefCell::new(State {
            outline: OutlineWriter::new(file)?,
            stored_bytes: None,
            failure: None,
        })))
    }

    /// Ends the outline. Returns its file, not yet synced.
    ///
    /// # Errors
    /// The first error of the file.
    pub(crate) fn finish(self) -> io::Result<(W, Written)> {
        let state = self.0.into_inner();
        match state.failure {
            None => state.outline.finish(),
            Some(error) => Err(error),
        }
    }

    /// Adds bytes that were read from the tar.
    fn read(&self, bytes: &[u8]) {
        let mut state = self.0.borrow_mut();
        let state = &mut *state;
        if let Some(stored_bytes) = &mut state.stored_bytes {
            *stored_bytes += length(bytes);
        } else if state.failure.is_none() {
            state.failure = state.outline.literal(bytes).err();
        }
    }

    /// Returns the number of the tar's bytes that were read for the sink, in bytes.
    fn stored_bytes(&self) -> u64 {
        self.0.borrow().stored_bytes.unwrap_or(0)
    }

    fn begin_content(&self) {
        self.0.borrow_mut().stored_bytes = Some(0);
    }

    /// Adds the pieces of a run, and the bytes of the run that no piece covers are none of the
    /// tar's.
    fn end_content(&self, run: Option<&Run>, pieces: &[Piece]) {
        let mut state = self.0.borrow_mut();
        let state = &mut *state;
        state.stored_bytes = None;
        let start_bytes = run.map_or(0, |run| u64::from(run.start_block) * BLOCK_SIZE_BYTES);
        for piece in pieces {
            if state.failure.is_none() {
                let offset_bytes = start_bytes + piece.offset_bytes;
                state.failure = state.outline.copy(offset_bytes, piece.length_bytes).err();
            }
        }
    }
}

/// A part of a run that the tar has.
struct Piece {
    /// Offset in the run, in bytes.
    offset_bytes: u64,
    length_bytes: u64,
}

/// A reader of a tar that is recorded.
pub(crate) struct RecordedReader<'a, R, W: Write> {
    pub(crate) tar: R,
    pub(crate) recording: &'a Recording<W>,
}

impl<R: Read, W: Write> Read for RecordedReader<'_, R, W> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.tar.read(buffer)?;
        self.recording.read(buffer.get(..count).unwrap_or(buffer));
        Ok(count)
    }
}

/// A sink for the content of files, whose runs are recorded.
pub(crate) struct RecordedSink<'a, S, W: Write> {
    pub(crate) sink: S,
    pub(crate) recording: &'a Recording<W>,
}

impl<S: DataSink, W: Write> DataSink for RecordedSink<'_, S, W> {
    type Error = S::Error;

    fn append(
        &mut self,
        content: &mut dyn Read,
        length_bytes: u64,
    ) -> Result<Option<Run>, Self::Error> {
        self.recording.begin_content();
        let mut pieces = Pieces {
            content,
            recording: self.recording,
            offset_bytes: 0,
            pieces: Vec::new(),
        };
        let stored = self.sink.append(&mut pieces, length_bytes);
        let pieces = pieces.pieces;
        let run = stored.as_ref().ok().and_then(Option::as_ref);
        self.recording.end_content(run, &pieces);
        stored
    }
}

/// A reader of content that tells the tar's bytes from the zeros between the data of a sparse file.
struct Pieces<'a, W: Write> {
    content: &'a mut dyn Read,
    recording: &'a Recording<W>,
    offset_bytes: u64,
    /// Adjacent pieces are one, so there are no more than the file has segments.
    pieces: Vec<Piece>,
}

impl<W: Write> Read for Pieces<'_, W> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let before_bytes = self.recording.stored_bytes();
        let count = self.content.read(buffer)?;
        let length_bytes = self.recording.stored_bytes() - before_bytes;
        let count_bytes = length(buffer.get(..count).unwrap_or(buffer));
        if length_bytes > 0 {
            if length_bytes != count_bytes {
                return Err(io::Error::other("data and zeros were read at once"));
            }
            match self.pieces.last_mut() {
                Some(last) if last.offset_bytes + last.length_bytes == self.offset_bytes => {
                    last.length_bytes += length_bytes;
                }
                _ => self.pieces.push(Piece {
                    offset_bytes: self.offset_bytes,
                    length_bytes,
                }),
            }
        }
        self.offset_bytes += count_bytes;
        Ok(count)
    }
}

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}
