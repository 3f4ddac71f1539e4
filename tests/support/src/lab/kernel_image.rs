use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use guest_kernel::Architecture;

use crate::file_identity;

/// Returns the kernel in `library` as an ELF that QEMU boots directly.
/// It is kept in `work`, and made again if the library has changed.
pub(super) fn cached(library: &Path, work: &Path) -> Result<PathBuf> {
    let image = work.join(format!("kernel-{:016x}.elf", file_identity::read(library)?));
    if !image.exists() {
        let wrapped = guest_kernel::wrap(&fs_err::read(library)?, Architecture::HOST)
            .with_context(|| format!("cannot wrap {}", library.display()))?;
        let unfinished = image.with_extension(format!("unfinished-{}", std::process::id()));
        fs_err::write(&unfinished, wrapped.image)?;
        fs_err::rename(&unfinished, &image)?;
    }
    Ok(image)
}
