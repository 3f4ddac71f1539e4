use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use fs_err::File;
use tar::{Builder, EntryType, Header};

use super::Job;

/// The disk is sparse: only written blocks take space on the host.
const SCRATCH_BYTES: u64 = 8 << 30;
const OUTPUT_BYTES: u64 = 8 << 30;

/// The unit of virtio-blk.
const SECTOR_BYTES: u64 = 512;

/// The outer guest's disks. All except the root are removed when dropped.
pub(super) struct Disks {
    pub(super) root: PathBuf,
    pub(super) scratch: PathBuf,
    pub(super) input: PathBuf,
    pub(super) output: PathBuf,
}

impl Disks {
    /// Makes new disks for one start, in `run`.
    pub(super) fn create(run: &Path, root: &Path, job: &Job) -> Result<Self> {
        let disks = Self {
            root: root.to_path_buf(),
            scratch: run.join("scratch.ext4"),
            input: run.join("input.tar"),
            output: run.join("output.tar"),
        };
        File::create(&disks.output)?.set_len(OUTPUT_BYTES)?;
        make_scratch(&disks.scratch)?;
        write_input(&disks.input, job)?;
        Ok(disks)
    }

    /// Returns the size of the input in bytes, which bounds the time for unpacking.
    pub(super) fn input_bytes(&self) -> Result<u64> {
        Ok(fs_err::metadata(&self.input)?.len())
    }
}

impl Drop for Disks {
    fn drop(&mut self) {
        for disk in [&self.scratch, &self.input, &self.output] {
            // The error is ignored, because an earlier error matters more.
            let _ = fs_err::remove_file(disk);
        }
    }
}

/// Makes an ext4 without a journal: the disk is not read after the guest's end.
fn make_scratch(path: &Path) -> Result<()> {
    File::create(path)?.set_len(SCRATCH_BYTES)?;
    let output = Command::new("mkfs.ext4")
        .args([
            "-q",
            "-F",
            "-O",
            "^has_journal",
            "-E",
            "lazy_itable_init=1,nodiscard",
        ])
        .arg(path)
        .output()
        .context("cannot run mkfs.ext4")?;
    ensure!(
        output.status.success(),
        "mkfs.ext4 {}: {}",
        path.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}

fn write_input(path: &Path, job: &Job) -> Result<()> {
    let mut archive = Builder::new(BufWriter::new(File::create(path)?));
    archive.follow_symlinks(false);
    add_directory(&mut archive, "job")?;
    for (source, name) in &job.inputs {
        let name = Path::new("job").join(name);
        // The named path is followed; symlinks inside of it are not.
        let source = fs_err::canonicalize(source)?;
        if source.is_dir() {
            archive.append_dir_all(&name, &source)
        } else {
            archive.append_path_with_name(&source, &name)
        }
        .with_context(|| format!("cannot add {} to the job", source.display()))?;
    }
    add_directory(&mut archive, "lab")?;
    add_text(&mut archive, "lab/command", &script(&job.command))?;
    let timeout_s = job.timeout.as_secs().max(1);
    add_text(&mut archive, "lab/timeout", &format!("{timeout_s}\n"))?;

    let file = archive
        .into_inner()?
        .into_inner()
        .map_err(|error| error.into_error())?;
    let length = file.metadata()?.len();
    file.set_len(length.next_multiple_of(SECTOR_BYTES))?;
    Ok(())
}

fn add_directory<W: std::io::Write>(archive: &mut Builder<W>, name: &str) -> Result<()> {
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::Directory);
    header.set_mode(0o755);
    header.set_size(0);
    archive.append_data(&mut header, name, std::io::empty())?;
    Ok(())
}

fn add_text<W: std::io::Write>(archive: &mut Builder<W>, name: &str, text: &str) -> Result<()> {
    let mut header = Header::new_gnu();
    header.set_mode(0o644);
    header.set_size(u64::try_from(text.len())?);
    archive.append_data(&mut header, name, text.as_bytes())?;
    Ok(())
}

/// Returns a shell script that becomes `command`.
fn script(command: &[String]) -> String {
    let quoted = command
        .iter()
        .map(|word| format!(" '{}'", word.replace('\'', r"'\''")));
    format!("exec{}\n", quoted.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_keeps_words_whole() {
        let command = ["sh", "-c", "echo 'a b' $1"].map(String::from);
        assert_eq!(script(&command), "exec 'sh' '-c' 'echo '\\''a b'\\'' $1'\n");
    }
}
