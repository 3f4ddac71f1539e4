use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::Architecture;

/// The file names that a kernel may have in the store's kernel directory.
const STORE_NAMES: [&str; 2] = [Architecture::HOST.kernel_file(), "libkrunfw.so.5"];

/// The directory of the kernel of an installed msb, from the directory that holds `bin/msb`.
const INSTALLED: &str = "lib/msb";

/// The paths of libkrunfw as installed by distributions and by `make install`, in search order.
const SYSTEM_LIBRARIES: [&str; 5] = [
    MULTIARCH_LIBRARY,
    "/usr/lib64/libkrunfw.so.5",
    "/usr/lib/libkrunfw.so.5",
    "/usr/local/lib64/libkrunfw.so.5",
    "/usr/local/lib/libkrunfw.so.5",
];

/// The path of libkrunfw on Debian.
const MULTIARCH_LIBRARY: &str = if cfg!(target_arch = "aarch64") {
    "/usr/lib/aarch64-linux-gnu/libkrunfw.so.5"
} else {
    "/usr/lib/x86_64-linux-gnu/libkrunfw.so.5"
};

/// The filesystems of guests' roots that a kernel has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RootFilesystems {
    /// EROFS and ext4, which every usable kernel has.
    #[default]
    Usual,
    /// XFS and Btrfs, too.
    More,
}

/// Returns the paths to search for a kernel, the preferred ones first.
///
/// If `MSB_KERNEL` is set, its path is the only one. Otherwise the store's own directory comes
/// first, then the kernel that was installed with the program `PREFIX/bin/msb`, which is
/// `PREFIX/lib/msb/vmlinux` (on arm64 `Image`), and then the system's libraries. For a guest that needs
/// XFS or Btrfs, `vmlinux-filesystems` in both directories comes before all of them.
pub fn candidates(
    msb_kernel: Option<&OsStr>,
    store_directory: &Path,
    program: Option<&Path>,
    needed: RootFilesystems,
) -> Vec<PathBuf> {
    if let Some(path) = msb_kernel.filter(|path| !path.is_empty()) {
        return vec![PathBuf::from(path)];
    }
    let installed = program.and_then(installed);
    let directories = [Some(store_directory), installed.as_deref()];
    let name = Architecture::HOST.filesystems_kernel_file();
    let larger = directories
        .into_iter()
        .flatten()
        .map(|each| each.join(name));
    let larger = larger.filter(|_| needed == RootFilesystems::More);
    let own = STORE_NAMES.iter().map(|name| store_directory.join(name));
    let name = Architecture::HOST.kernel_file();
    let usual = own.chain(installed.as_ref().map(|directory| directory.join(name)));
    let system = SYSTEM_LIBRARIES.iter().map(PathBuf::from);
    larger.chain(usual).chain(system).collect()
}

/// Returns the directory of the kernels that are installed with a program. `None` if the program is not
/// in a directory of a directory.
fn installed(program: &Path) -> Option<PathBuf> {
    Some(program.parent()?.parent()?.join(INSTALLED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_kernel_is_the_only_place() {
        let named = candidates(
            Some(OsStr::new("/k/vmlinux")),
            Path::new("/home/kernels"),
            Some(Path::new("/opt/msb/bin/msb")),
            RootFilesystems::More,
        );
        assert_eq!(named, [PathBuf::from("/k/vmlinux")]);
    }

    #[test]
    fn the_store_comes_before_the_system() {
        let places = candidates(
            Some(OsStr::new("")),
            Path::new("/home/kernels"),
            None,
            RootFilesystems::Usual,
        );
        let kernel = Path::new("/home/kernels").join(Architecture::HOST.kernel_file());
        assert_eq!(places[0], kernel);
        assert_eq!(places[1], PathBuf::from("/home/kernels/libkrunfw.so.5"));
        assert!(places[2..].iter().all(|place| place.starts_with("/usr")));
    }

    #[test]
    fn the_kernel_of_an_installed_program_comes_before_the_system() {
        let beside = |program: &str| {
            let home = Path::new("/home/kernels");
            let places = candidates(None, home, Some(Path::new(program)), RootFilesystems::Usual);
            places[2].clone()
        };
        let installed = Path::new("/opt/msb/lib/msb").join(Architecture::HOST.kernel_file());
        assert_eq!(beside("/opt/msb/bin/msb"), installed);
        assert_eq!(beside("msb"), PathBuf::from(SYSTEM_LIBRARIES[0]));
    }

    #[test]
    fn a_kernel_with_more_filesystems_comes_first_where_it_is_needed() {
        let (home, program) = (Path::new("/home/kernels"), Path::new("/opt/msb/bin/msb"));
        let places = candidates(None, home, Some(program), RootFilesystems::More);
        let name = Architecture::HOST.filesystems_kernel_file();
        let larger = [home, Path::new("/opt/msb/lib/msb")].map(|each| each.join(name));
        assert_eq!(places[..2], larger);
        assert_eq!(
            places[2..],
            candidates(None, home, Some(program), RootFilesystems::Usual)
        );
    }
}
