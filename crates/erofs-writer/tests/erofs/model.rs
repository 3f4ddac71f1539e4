//! A filesystem as described by a test, and the image that the writer makes of it.

use std::io::Cursor;

use erofs_writer::{DeviceSlot, Extent, FileData, Image, ImageWriter, Options, Summary};
use fstree::{FileKind, Inode, Metadata, Name, Tree};

const BLOCK: usize = 4096;

/// The content of a regular file, and the device of each part. Blocks without a piece are a hole.
#[derive(Debug, Clone, Default)]
pub(crate) struct Content {
    pub(crate) size_bytes: u64,
    pub(crate) pieces: Vec<Piece>,
}

/// Some blocks of a file, filled with bytes that depend on a seed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Piece {
    pub(crate) file_block: u64,
    pub(crate) blocks: u64,
    pub(crate) device: u16,
    pub(crate) seed: u8,
}

/// An image with its devices, and the tree that was written into it.
pub(crate) struct Built {
    pub(crate) image: Vec<u8>,
    pub(crate) devices: Vec<Vec<u8>>,
    pub(crate) tree: Tree<FileData>,
    pub(crate) summary: Summary,
}

impl Content {
    /// Returns a file without holes, on one device.
    pub(crate) fn whole(size_bytes: u64, device: u16, seed: u8) -> Self {
        let blocks = size_bytes.div_ceil(4096);
        let piece = Piece {
            file_block: 0,
            blocks,
            device,
            seed,
        };
        let pieces = if blocks > 0 { vec![piece] } else { vec![] };
        Self { size_bytes, pieces }
    }

    /// Returns every byte of the file.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; usize::try_from(self.size_bytes).unwrap()];
        for piece in &self.pieces {
            let start = usize::try_from(piece.file_block).unwrap() * BLOCK;
            let end = bytes
                .len()
                .min(start + usize::try_from(piece.blocks).unwrap() * BLOCK);
            for (index, byte) in bytes[start..end].iter_mut().enumerate() {
                *byte = piece.byte(index);
            }
        }
        bytes
    }
}

impl Piece {
    fn byte(self, index: usize) -> u8 {
        let mixed = index.wrapping_mul(2_654_435_761) >> 7;
        u8::try_from(mixed & 0xFF).unwrap() ^ self.seed
    }

    fn bytes(self, content: &Content) -> Vec<u8> {
        let end = content
            .size_bytes
            .min((self.file_block + self.blocks) * 4096);
        let length = usize::try_from(end - self.file_block * 4096).unwrap();
        (0..length).map(|index| self.byte(index)).collect()
    }
}

impl Built {
    /// Writes `tree` with `devices` devices beside the image, which contain only data.
    pub(crate) fn write(tree: Tree<Content>, devices: u16) -> Self {
        Self::with_devices(tree, (0..devices).map(|_| Vec::new()).collect())
    }

    /// Writes `tree` over `layers` devices, each of which is an image of its own. It has the files
    /// whose data it holds.
    pub(crate) fn write_over_layers(tree: Tree<Content>, layers: u16) -> Self {
        Self::with_devices(tree, (0..layers).map(|_| Layer::new()).collect())
    }

    fn with_devices<D: Device>(tree: Tree<Content>, mut others: Vec<D>) -> Self {
        let mut own: Vec<(Vec<u8>, Piece)> = Vec::new();
        let planned: Tree<Vec<(usize, Piece, u32)>> = tree
            .clone()
            .try_map(|content| {
                let place = |piece: &Piece| match piece.device {
                    0 => {
                        own.push((piece.bytes(&content), *piece));
                        (own.len() - 1, *piece, 0)
                    }
                    device => {
                        let device = &mut others[usize::from(device) - 1];
                        (0, *piece, device.append(&piece.bytes(&content)))
                    }
                };
                Ok::<_, ()>(content.pieces.iter().map(place).collect())
            })
            .unwrap();
        let others: Vec<Vec<u8>> = others.into_iter().map(Device::finish).collect();
        let options = Options {
            uuid: *b"0123456789abcdef",
            volume_name: "test".into(),
            devices: slots(&others),
        };
        let mut writer = ImageWriter::new(Cursor::new(Vec::new()), options).unwrap();
        let starts: Vec<u32> = own
            .iter()
            .map(|(bytes, piece)| {
                let length = u64::try_from(bytes.len()).unwrap();
                let run = writer
                    .append(&mut bytes.as_slice(), length)
                    .unwrap()
                    .unwrap();
                assert_eq!(run.blocks, piece.blocks);
                run.start_block
            })
            .collect();
        let mut sizes = sizes(&tree).into_iter();
        let tree = planned
            .try_map(|pieces| {
                let extent = |(index, piece, start): &(usize, Piece, u32)| Extent {
                    file_block: piece.file_block,
                    blocks: piece.blocks,
                    device: piece.device,
                    start_block: if piece.device == 0 {
                        starts[*index]
                    } else {
                        *start
                    },
                };
                Ok::<_, ()>(FileData {
                    size_bytes: sizes.next().unwrap(),
                    extents: pieces.iter().map(extent).collect(),
                    ..FileData::default()
                })
            })
            .unwrap();
        let (out, summary) = writer.finish(&tree).unwrap();
        Self {
            image: out.into_inner(),
            devices: others,
            tree,
            summary,
        }
    }

    pub(crate) fn open(&self) -> Image<&[u8]> {
        Image::open(self.image.as_slice()).unwrap()
    }

    /// Returns the image and its devices, one after the other.
    pub(crate) fn flat(&self) -> Vec<u8> {
        let devices = self.devices.iter().flatten();
        self.image.iter().chain(devices).copied().collect()
    }
}

/// A device for the data that is not in the image itself.
trait Device {
    /// Appends a run of blocks, and returns the number of its first block.
    fn append(&mut self, bytes: &[u8]) -> u32;

    /// Returns all bytes of the device.
    fn finish(self) -> Vec<u8>;
}

impl Device for Vec<u8> {
    fn append(&mut self, bytes: &[u8]) -> u32 {
        let start = u32::try_from(self.len() / BLOCK).unwrap();
        self.extend(bytes);
        self.resize(self.len().next_multiple_of(BLOCK), 0);
        start
    }

    fn finish(self) -> Vec<u8> {
        self
    }
}

/// An image whose files are the appended runs, named by their numbers.
struct Layer {
    writer: ImageWriter<Cursor<Vec<u8>>>,
    tree: Tree<FileData>,
}

impl Layer {
    fn new() -> Self {
        Self {
            writer: ImageWriter::new(Cursor::new(Vec::new()), Options::default()).unwrap(),
            tree: Tree::new(Metadata::directory(0o755)),
        }
    }
}

impl Device for Layer {
    fn append(&mut self, mut bytes: &[u8]) -> u32 {
        let length_bytes = u64::try_from(bytes.len()).unwrap();
        let run = self.writer.append(&mut bytes, length_bytes);
        let run = run.unwrap().unwrap();
        let name = Name::new(format!("{}", self.tree.len()).as_bytes()).unwrap();
        let id = self.tree.add(Inode {
            metadata: Metadata::with_mode(0o644),
            kind: FileKind::Regular(run.whole_file(length_bytes)),
        });
        self.tree.link(self.tree.root(), name, id);
        run.start_block
    }

    fn finish(self) -> Vec<u8> {
        self.writer.finish(&self.tree).unwrap().0.into_inner()
    }
}

fn slots(devices: &[Vec<u8>]) -> Vec<DeviceSlot> {
    let slot = |(number, device): (usize, &Vec<u8>)| DeviceSlot {
        tag: format!("device {number}"),
        blocks: u32::try_from(device.len() / BLOCK).unwrap(),
    };
    devices.iter().enumerate().map(slot).collect()
}

/// Returns the sizes of the regular files, in the order of the arena.
fn sizes(tree: &Tree<Content>) -> Vec<u64> {
    let mut sizes = Vec::new();
    let _: Tree<()> = tree
        .clone()
        .try_map(|content| {
            sizes.push(content.size_bytes);
            Ok::<_, ()>(())
        })
        .unwrap();
    sizes
}
