use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufRead as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};

/// The user `nobody`, who owns no files.
const OTHER_USER: u32 = 65534;

/// Number of actions that succeed on a directory, a file and a socket that are open to all. A
/// directory is listed, filled, opened and locked; a file opened twice, and locked; a socket
/// called.
const ON_OPEN_PATHS: usize = 8;

/// Another user of the host, who runs a copy of this program.
pub(super) struct Intruder {
    /// The directory, removed with this value.
    directory: PathBuf,
}

impl Intruder {
    /// Makes an intruder that can reach the directory that holds `home`. It must open files that
    /// are open to all: without that, nothing would be proved.
    pub(super) fn new(home: &Path) -> Result<Self> {
        ensure!(
            rustix::process::geteuid().is_root(),
            "only root can become another user"
        );
        let directory = home
            .parent()
            .context("MSB_HOME is the root directory")?
            .join(format!("msb-intruder-{}", std::process::id()));
        fs::create_dir(&directory).with_context(|| directory.display().to_string())?;
        let intruder = Self { directory };
        fs::set_permissions(&intruder.directory, Permissions::from_mode(0o777))?;
        fs::copy(std::env::current_exe()?, intruder.program())?;
        fs::set_permissions(intruder.program(), Permissions::from_mode(0o755))?;
        intruder.prove()?;
        Ok(intruder)
    }

    fn program(&self) -> PathBuf {
        self.directory.join("intruder")
    }

    /// Tries every action on paths that are open to all; each has to succeed.
    fn prove(&self) -> Result<()> {
        let file = self.directory.join("file");
        fs::write(&file, "open to all")?;
        fs::set_permissions(&file, Permissions::from_mode(0o666))?;
        let socket = self.directory.join("socket");
        let _listener = UnixListener::bind(&socket)?;
        fs::set_permissions(&socket, Permissions::from_mode(0o777))?;
        let paths = [self.directory.clone(), file, socket];
        let done = self.intrude(&paths)?;
        ensure!(
            done.len() == ON_OPEN_PATHS,
            "the intruder cannot even use what is open to all in {}, so MSB_HOME has to lie where other users \
             reach it: {done:?}",
            self.directory.display()
        );
        Ok(())
    }

    /// Tries every action on these paths as the other user; returns the actions that succeeded.
    pub(super) fn intrude(&self, paths: &[PathBuf]) -> Result<Vec<String>> {
        let mut child = Command::new(self.program())
            .arg("--intrude")
            .uid(OTHER_USER)
            .gid(OTHER_USER)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot run {} as another user", self.directory.display()))?;
        let mut stdin = child.stdin.take().context("no pipe to standard input")?;
        let mut words = String::new();
        for path in paths {
            words.push_str(path.to_str().context("a path that is not text")?);
            words.push('\n');
        }
        let writer = std::thread::spawn(move || stdin.write_all(words.as_bytes()));
        let output = child.wait_with_output()?;
        writer.join().map_err(|_| io::Error::other("a panic"))??;
        ensure!(output.status.success(), "the intruder: {}", output.status);
        let text = String::from_utf8(output.stdout)?;
        let (done, last) = text
            .trim_end()
            .rsplit_once('\n')
            .unwrap_or(("", text.trim_end()));
        ensure!(
            last == format!("tried {}", paths.len()),
            "the intruder gave up: {last}"
        );
        Ok(done.lines().map(str::to_owned).collect())
    }
}

impl Drop for Intruder {
    fn drop(&mut self) {
        // A directory that remains is seen later.
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// Runs as the other user: reads paths, one a line, from standard input, and tries all actions.
/// Prints the actions that succeeded, then the number of paths.
pub(crate) fn intrude() -> Result<()> {
    if rustix::process::geteuid().is_root() {
        bail!("root may do anything; the attack needs another user");
    }
    let mut count = 0;
    for path in io::stdin().lock().lines() {
        let path = PathBuf::from(path?);
        for what in successes(&path) {
            println!("{what} {}", path.display());
        }
        count += 1;
    }
    println!("tried {count}");
    Ok(())
}

/// Returns the actions that succeed on a path.
fn successes(path: &Path) -> Vec<&'static str> {
    let mut done = Vec::new();
    let mut note = |succeeded: bool, what| done.extend(succeeded.then_some(what));
    note(fs::read_dir(path).is_ok(), "listed");
    let inside = path.join("left-by-intruder");
    let filled = File::create_new(&inside).and_then(|_| fs::remove_file(&inside));
    note(filled.is_ok(), "filled");
    note(UnixStream::connect(path).is_ok(), "called");
    let open = |options: &mut OpenOptions| options.open(path);
    let read = open(File::options().read(true));
    note(
        read.as_ref().is_ok_and(|file| file.try_lock().is_ok()),
        "locked",
    );
    note(read.is_ok(), "opened to read");
    note(open(File::options().write(true)).is_ok(), "opened to write");
    done
}
