use fstree::{Device, Timestamp};

const BLOCK_BYTES: usize = 512;

/// A tar archive that is written entry by entry. Nothing is checked, so a test can create malformed
/// archives.
#[derive(Debug, Clone, Default)]
pub struct TarBuilder {
    bytes: Vec<u8>,
}

/// A tar entry. [`TarEntry::file`] and its like set common values; a test can change any field.
#[derive(Debug, Clone)]
pub struct TarEntry {
    /// Path of the entry; if it is longer than 100 bytes, a PAX record holds it.
    pub path: Vec<u8>,
    /// `typeflag` of the header.
    pub type_flag: u8,
    /// `mode` of the header.
    pub mode: u32,
    /// `uid` of the header; a PAX record holds it if it is 2^21 or more.
    pub uid: u64,
    /// `gid` of the header; a PAX record holds it if it is 2^21 or more.
    pub gid: u64,
    /// `mtime` of the header; a PAX record holds it if it has a fraction or is negative.
    pub mtime: Timestamp,
    /// Target of a link; if it is longer than 100 bytes, a PAX record holds it.
    pub link: Vec<u8>,
    /// `devmajor` and `devminor` of the header.
    pub device: Device,
    /// Further PAX records, as keys and values.
    pub pax: Vec<(Vec<u8>, Vec<u8>)>,
    /// Bytes that follow the header.
    pub content: Vec<u8>,
}

impl TarEntry {
    /// Creates an entry of any type with mode 0644, owner root and the time 0.
    pub fn new(type_flag: u8, path: impl AsRef<[u8]>) -> Self {
        Self {
            path: path.as_ref().to_vec(),
            type_flag,
            mode: 0o644,
            uid: 0,
            gid: 0,
            mtime: Timestamp::default(),
            link: Vec::new(),
            device: Device { major: 0, minor: 0 },
            pax: Vec::new(),
            content: Vec::new(),
        }
    }

    /// Creates an entry for a regular file.
    pub fn file(path: impl AsRef<[u8]>, content: impl AsRef<[u8]>) -> Self {
        let mut entry = Self::new(b'0', path);
        entry.content = content.as_ref().to_vec();
        entry
    }

    /// Creates an entry for a directory with mode 0755.
    pub fn directory(path: impl AsRef<[u8]>) -> Self {
        Self::new(b'5', path).mode(0o755)
    }

    /// Creates an entry for a symlink with mode 0777.
    pub fn symlink(path: impl AsRef<[u8]>, target: impl AsRef<[u8]>) -> Self {
        Self::new(b'2', path).mode(0o777).link(target)
    }

    /// Creates an entry for a hard link.
    pub fn hardlink(path: impl AsRef<[u8]>, target: impl AsRef<[u8]>) -> Self {
        Self::new(b'1', path).link(target)
    }

    /// Creates an entry for a character device.
    pub fn char_device(path: impl AsRef<[u8]>, major: u32, minor: u32) -> Self {
        let mut entry = Self::new(b'3', path);
        entry.device = Device { major, minor };
        entry
    }

    /// Sets the permission bits.
    #[must_use]
    pub fn mode(mut self, mode: u32) -> Self {
        self.mode = mode;
        self
    }

    /// Sets the owner and the group.
    #[must_use]
    pub fn owner(mut self, uid: u64, gid: u64) -> Self {
        (self.uid, self.gid) = (uid, gid);
        self
    }

    /// Sets the time. A PAX record holds it if it has a fraction or is negative.
    #[must_use]
    pub fn mtime(mut self, seconds: i64, nanoseconds: u32) -> Self {
        self.mtime = Timestamp {
            seconds,
            nanoseconds,
        };
        self
    }

    /// Adds a PAX record.
    #[must_use]
    pub fn record(mut self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Self {
        self.pax
            .push((key.as_ref().to_vec(), value.as_ref().to_vec()));
        self
    }

    /// Adds an xattr in the form of star (`SCHILY.xattr.NAME`).
    #[must_use]
    pub fn xattr(self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.record(format!("SCHILY.xattr.{name}"), value)
    }

    /// Sets the link's target.
    #[must_use]
    pub fn link(mut self, target: impl AsRef<[u8]>) -> Self {
        self.link = target.as_ref().to_vec();
        self
    }

    /// Returns the header block, with its checksum, for content of `size_bytes`.
    pub fn header(&self, size_bytes: u64) -> [u8; BLOCK_BYTES] {
        let mut block = [0; BLOCK_BYTES];
        put(&mut block, 0..100, &self.path);
        octal(&mut block[100..108], u64::from(self.mode));
        octal(&mut block[108..116], self.uid);
        octal(&mut block[116..124], self.gid);
        octal(&mut block[124..136], size_bytes);
        octal(
            &mut block[136..148],
            u64::try_from(self.mtime.seconds).unwrap_or(0),
        );
        block[156] = self.type_flag;
        put(&mut block, 157..257, &self.link);
        block[257..265].copy_from_slice(b"ustar\x0000");
        octal(&mut block[329..337], u64::from(self.device.major));
        octal(&mut block[337..345], u64::from(self.device.minor));
        seal(&mut block);
        block
    }

    fn records(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut records = Vec::new();
        for (key, value) in [("path", &self.path), ("linkpath", &self.link)] {
            if value.len() > 100 {
                records.push((key.into(), value.clone()));
            }
        }
        if self.mtime.nanoseconds > 0 || self.mtime.seconds < 0 {
            records.push(("mtime".into(), spelled(self.mtime).into_bytes()));
        }
        for (key, number) in [("uid", self.uid), ("gid", self.gid)] {
            if number >= 1 << 21 {
                records.push((key.into(), number.to_string().into_bytes()));
            }
        }
        records.extend(self.pax.iter().cloned());
        records
    }
}

impl TarBuilder {
    /// Returns a complete archive of these entries.
    pub fn archive(entries: impl IntoIterator<Item = TarEntry>) -> Vec<u8> {
        let mut builder = Self::default();
        for entry in entries {
            builder.entry(&entry);
        }
        builder.finish()
    }

    /// Appends an entry, after a PAX header if the entry needs one.
    pub fn entry(&mut self, entry: &TarEntry) -> &mut Self {
        let records = entry.records();
        if !records.is_empty() {
            let mut pax = TarEntry::new(b'x', "pax");
            for (key, value) in &records {
                pax.content.extend(pax_record(key, value));
            }
            self.block(&pax.header(length(&pax.content)));
            self.content(&pax.content);
        }
        self.block(&entry.header(length(&entry.content)));
        self.content(&entry.content)
    }

    /// Appends bytes without padding.
    pub fn block(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(bytes);
        self
    }

    /// Appends bytes, padded to a whole block.
    pub fn content(&mut self, content: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(content);
        let length = self.bytes.len().next_multiple_of(BLOCK_BYTES);
        self.bytes.resize(length, 0);
        self
    }

    /// Returns the archive in its current state, without an end mark.
    pub fn unfinished(&self) -> Vec<u8> {
        self.bytes.clone()
    }

    /// Returns the archive with two zero blocks at its end.
    pub fn finish(mut self) -> Vec<u8> {
        self.block(&[0; 2 * BLOCK_BYTES]);
        self.bytes
    }

    /// Sets the checksum of a header that was changed by hand.
    pub fn seal(block: &mut [u8; BLOCK_BYTES]) {
        seal(block);
    }
}

/// Returns `LENGTH KEY=VALUE\n`, where the length counts itself.
pub(crate) fn pax_record(key: &[u8], value: &[u8]) -> Vec<u8> {
    let rest = key.len() + value.len() + 3;
    let mut length = rest + 1;
    while length != rest + length.to_string().len() {
        length = rest + length.to_string().len();
    }
    [length.to_string().as_bytes(), b" ", key, b"=", value, b"\n"].concat()
}

fn spelled(time: Timestamp) -> String {
    match (time.seconds, time.nanoseconds) {
        (seconds, 0) => format!("{seconds}"),
        (seconds @ 0.., nanoseconds) => format!("{seconds}.{nanoseconds:09}"),
        (seconds, nanoseconds) => {
            format!("-{}.{:09}", -(seconds + 1), 1_000_000_000 - nanoseconds)
        }
    }
}

fn length(content: &[u8]) -> u64 {
    u64::try_from(content.len()).expect("a slice is below 2^64")
}

fn put(block: &mut [u8], field: std::ops::Range<usize>, bytes: &[u8]) {
    let shown = &bytes[..bytes.len().min(field.len())];
    block[field.start..field.start + shown.len()].copy_from_slice(shown);
}

/// Writes octal digits and a NUL. A number that does not fit is left to a PAX record.
fn octal(field: &mut [u8], number: u64) {
    let digits = format!("{number:0width$o}", width = field.len() - 1);
    if digits.len() < field.len() {
        field[..digits.len()].copy_from_slice(digits.as_bytes());
    }
}

fn seal(block: &mut [u8; BLOCK_BYTES]) {
    block[148..156].fill(b' ');
    let sum: u32 = block.iter().map(|&byte| u32::from(byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
}
