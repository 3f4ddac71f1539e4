//! The work of `msb bench staged` in a directory: a program, and a cycle of editing, building and testing.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};

/// The directory of the objects, in the directory that is worked on.
const OBJECTS: &str = "objects";
/// The number of files that a cycle edits.
const EDITS: usize = 20;

/// The times of the steps of a cycle, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct CycleTimes {
    /// Time to append a line to twenty files.
    pub edit_s: f64,
    /// Time to read the attributes of all files, and to read and write anew what is older than its source.
    pub build_s: f64,
    /// Time to read everything that was built.
    pub test_s: f64,
}

/// Runs a program of the image in a directory, with the environment of this process. Returns its time in
/// seconds, and its output.
///
/// # Errors
/// If the caches cannot be dropped, or the program cannot be run or fails.
pub fn time_program(
    directory: &Path,
    has_cold_caches: bool,
    words: &[&str],
) -> Result<(f64, String)> {
    let (program, arguments) = words.split_first().context("no program is named")?;
    if has_cold_caches {
        rustix::fs::sync();
        fs::write("/proc/sys/vm/drop_caches", "3").context("cannot drop the caches")?;
    }
    let begun = Instant::now();
    let output = Command::new(program)
        .args(arguments)
        .current_dir(directory)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot run {program}"))?;
    let seconds = begun.elapsed().as_secs_f64();
    ensure!(
        output.status.success(),
        "{program} ended with {}",
        output.status
    );
    Ok((
        seconds,
        String::from_utf8_lossy(&output.stdout).into_owned(),
    ))
}

/// Edits some files of a directory, builds what is out of date, and reads what was built. Each round edits
/// other files.
///
/// # Errors
/// If a file cannot be read or written.
pub fn cycle(directory: &Path, round: usize) -> Result<CycleTimes> {
    let objects = directory.join(OBJECTS);
    let mut sources = Vec::new();
    collect(directory, &mut sources)?;
    let step = (sources.len() / EDITS).max(1);
    let edited = sources.iter().skip(round % step).step_by(step).take(EDITS);
    let begun = Instant::now();
    for source in edited {
        let mut file = File::options().append(true).open(source)?;
        writeln!(file, "/* round {round} */")?;
    }
    let edit_s = begun.elapsed().as_secs_f64();
    let begun = Instant::now();
    build(directory, &objects)?;
    let build_s = begun.elapsed().as_secs_f64();
    let begun = Instant::now();
    let mut built = Vec::new();
    collect(&objects, &mut built)?;
    for object in &built {
        std::hint::black_box(fs::read(object)?);
    }
    Ok(CycleTimes {
        edit_s,
        build_s,
        test_s: begun.elapsed().as_secs_f64(),
    })
}

/// Writes the object of each file that has none, or an older one.
fn build(directory: &Path, objects: &Path) -> Result<()> {
    let mut sources = Vec::new();
    collect(directory, &mut sources)?;
    for source in &sources {
        let object = objects.join(source.strip_prefix(directory)?);
        let changed = |path: &Path| -> Option<(i64, i64)> {
            let metadata = fs::metadata(path).ok()?;
            Some((metadata.mtime(), metadata.mtime_nsec()))
        };
        if changed(&object).is_some_and(|object| Some(object) >= changed(source)) {
            continue;
        }
        if let Some(above) = object.parent() {
            fs::create_dir_all(above)?;
        }
        let mut content = fs::read(source)?;
        content.reverse();
        fs::write(object, content)?;
    }
    Ok(())
}

/// Collects the files below a directory in the order of their names, without hidden ones and objects.
fn collect(directory: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let mut entries = fs::read_dir(directory)?.collect::<std::io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name();
        if name == OBJECTS || name.as_encoded_bytes().starts_with(b".") {
            continue;
        }
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), files)?;
        } else {
            files.push(entry.path());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_older_than_its_source_is_built_again() {
        let directory = tempfile::tempdir().expect("a directory");
        let source = |number: usize| directory.path().join(format!("d/f{number}"));
        fs::create_dir(directory.path().join("d")).expect("made");
        for number in 0..3 * EDITS {
            fs::write(source(number), "ab").expect("written");
        }
        cycle(directory.path(), 0).expect("a full build");
        let objects = directory.path().join(OBJECTS).join("d");
        assert_eq!(fs::read_dir(&objects).expect("listed").count(), 3 * EDITS);
        let (kept, removed) = (objects.join("f1"), objects.join("f10"));
        fs::write(&kept, "kept").expect("written");
        fs::remove_file(&removed).expect("removed");
        // The second round edits neither of the two.
        cycle(directory.path(), 1 + 3).expect("built");
        let edited = fs::read(source(1)).expect("read");
        assert!(edited.ends_with(b"/* round 4 */\n"), "{edited:?}");
        assert_eq!(fs::read(&removed).expect("built again"), b"ba");
    }

    #[test]
    fn the_output_of_a_program_is_returned() {
        let (seconds, output) =
            time_program(Path::new("/"), false, &["sh", "-c", "pwd"]).expect("the program ends");
        assert!(seconds > 0.0);
        assert_eq!(output, "/\n");
        time_program(Path::new("/"), false, &["sh", "-c", "exit 3"]).expect_err("it fails");
    }
}
