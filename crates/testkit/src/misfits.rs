use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, mknodat};

/// Makes the files at `path`, one after the other, that msb itself never writes, and returns what each is.
///
/// # Panics
/// If a file cannot be made or removed.
pub fn misfits(path: &Path) -> impl Iterator<Item = &'static str> {
    let made = move |kind: &'static str| {
        clear(path);
        match kind {
            "a FIFO" => {
                let mode = Mode::RUSR | Mode::WUSR;
                mknodat(CWD, path, FileType::Fifo, mode, 0).expect("a FIFO");
            }
            "a symlink" => symlink("/etc/passwd", path).expect("made"),
            "a directory" => fs::create_dir(path).expect("made"),
            "an endless file" => fs::File::create(path)
                .and_then(|file| file.set_len(1 << 40))
                .expect("made"),
            _ => fs::write(path, b"{\"code\":").expect("written"),
        }
        kind
    };
    let kinds = [
        "a FIFO",
        "a symlink",
        "a directory",
        "an endless file",
        "half a file",
    ];
    kinds.into_iter().map(made)
}

fn clear(path: &Path) {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path).expect("removed"),
        Ok(_) => fs::remove_file(path).expect("removed"),
        Err(_) => {}
    }
}
