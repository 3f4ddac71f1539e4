use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fs_err as fs;
use sha2::{Digest as _, Sha256};

use crate::{Home, boot};

/// Age after which an unfinished file counts as a leftover.
const WRITING_TIMEOUT: Duration = Duration::from_secs(600);

/// The files of machines besides images: wrapped kernels and boot disks, and what killed processes left of images
/// of staged directories.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MachineParts {
    /// Number of files that were verified.
    pub files: usize,
    /// Length of all files, in bytes.
    pub bytes: u64,
    /// The damaged files. A start makes them anew before it uses them.
    pub damaged: Vec<PathBuf>,
    /// Unfinished files of killed processes.
    pub left_overs: Vec<PathBuf>,
}

/// Verifies every wrapped kernel and this build's boot disk, byte by byte.
///
/// # Errors
/// If a directory cannot be listed.
pub fn machine_parts(home: &Home) -> io::Result<MachineParts> {
    let mut parts = MachineParts::default();
    let own_disk = format!("{}.erofs", boot_disk::identity());
    for path in list(&home.kernels())?
        .into_iter()
        .chain(list(&home.boot_disks())?)
    {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if name.starts_with(durable_files::UNFINISHED) {
            if is_old(&path) {
                parts.left_overs.push(path);
            }
            continue;
        }
        let is_whole = match name.strip_suffix(".elf") {
            Some(hex) if hex.len() == 64 => Some(is_digest(&path, hex)),
            _ if name == own_disk => Some(durable_files::holds(&path, &boot::content()?)),
            // A kernel that the user stored here, or a boot disk of another build.
            _ => None,
        };
        parts.files += usize::from(is_whole.is_some());
        parts.bytes += fs::metadata(&path).map_or(0, |file| file.len());
        if is_whole == Some(false) {
            parts.damaged.push(path);
        }
    }
    parts.left_overs.extend(home.staged_images().left_overs()?);
    Ok(parts)
}

fn list(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let mut paths = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

fn is_digest(path: &Path, hex: &str) -> bool {
    fs::read(path).is_ok_and(|bytes| hex::encode(Sha256::digest(bytes)) == hex)
}

fn is_old(path: &Path) -> bool {
    fs::metadata(path)
        .and_then(|file| file.modified())
        .is_ok_and(|time| time.elapsed().is_ok_and(|age| age > WRITING_TIMEOUT))
}

#[cfg(test)]
mod tests {
    use image_store::VerifyMode;

    use super::*;

    #[test]
    fn a_changed_kernel_and_a_changed_boot_disk_are_found() {
        let root = tempfile::tempdir().expect("a directory");
        let home = Home::new(root.path());
        let disk = boot::boot_disk(&home, VerifyMode::Stamp).expect("written");
        let name = hex::encode(Sha256::digest(b"kernel"));
        let kernel = home.kernels().join(format!("{name}.elf"));
        durable_files::publish_bytes(&kernel, b"kernel").expect("written");
        let good = machine_parts(&home).expect("listed");
        assert_eq!((good.files, good.damaged.len()), (2, 0));
        for path in [&disk, &kernel] {
            let mut bytes = fs::read(path).expect("read");
            bytes[3] ^= 1;
            fs::write(path, bytes).expect("written");
        }
        let bad = machine_parts(&home).expect("listed");
        assert_eq!(bad.damaged, [kernel, disk]);
        boot::boot_disk(&home, VerifyMode::Stamp).expect("made anew");
        assert_eq!(machine_parts(&home).expect("listed").damaged.len(), 1);
    }
}
