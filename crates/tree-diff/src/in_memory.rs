use std::io;

use fstree::{ReadAt as _, Segment, Tree};

use crate::Side;

/// A tree whose files have their content in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InMemory(pub Tree<Vec<u8>>);

impl Side for InMemory {
    type Content = Vec<u8>;
    type Error = io::Error;

    fn tree(&self) -> &Tree<Vec<u8>> {
        &self.0
    }

    fn size_bytes(&self, content: &Vec<u8>) -> u64 {
        content.len() as u64
    }

    fn segments(&self, content: &Vec<u8>) -> Vec<Segment> {
        Segment::whole_file(content.len() as u64)
    }

    fn read_at(&self, content: &Vec<u8>, offset_bytes: u64, buffer: &mut [u8]) -> io::Result<()> {
        content.read_exact_at(buffer, offset_bytes)
    }
}
