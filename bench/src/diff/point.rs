use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};

use crate::growth::image::{Shape, path_of};
use crate::measure::{self, Cost};
use crate::msb::Msb;

/// The image of the sandbox, which has none of its changes.
const IMAGE: &str = "bench/image:latest";

/// The size of a comparison.
#[derive(Debug, Clone, Copy)]
pub(super) struct Point {
    /// The number of files in the image.
    pub(super) files: u32,
    /// The length of each of them, in bytes.
    pub(super) file_bytes: usize,
    /// The number of changed files.
    pub(super) changes: u32,
}

/// The costs of a comparison and of its anchor, round by round.
#[derive(Debug, Default)]
pub(super) struct Costs {
    pub(super) walk: Vec<Cost>,
    pub(super) msb: Vec<Cost>,
}

impl Point {
    /// Makes the image, a sandbox and a tree of the same names below a directory, and compares them
    /// in turn.
    pub(super) fn measure(&self, msb: &Msb, rounds: usize, work: &Path) -> Result<Costs> {
        let work = tempfile::tempdir_in(work)?;
        let msb = msb.in_home(&work.path().join("home"));
        self.make_sandbox(&msb, work.path())?;
        let tree = work.path().join("tree");
        write_tree(&tree, 0..self.files, "content")?;
        self.check(&msb)?;
        let mut costs = Costs::default();
        for round in 0..=rounds {
            let walk = measure::cost(&walk(&tree), work.path())?;
            let mut command = msb.command();
            let compared = measure::cost(command.args(["diff", IMAGE, "diff"]), work.path())?;
            // The first round warms the caches.
            if round > 0 {
                costs.walk.push(walk);
                costs.msb.push(compared);
            }
        }
        Ok(costs)
    }

    fn make_sandbox(&self, msb: &Msb, work: &Path) -> Result<()> {
        let (layout, changed) = (work.join("layout"), work.join("changed"));
        let shape = Shape::spread(1, self.files).with_file_bytes(self.file_bytes);
        shape.write(&layout)?;
        msb.output(["load", "--quiet", "--tag", IMAGE, &layout.to_string_lossy()])?;
        fs::remove_dir_all(&layout)?;
        write_tree(&changed, 0..self.changes, "changed")?;
        let mut words: Vec<String> = ["create", "--no-command", "--name", "diff"]
            .map(str::to_owned)
            .to_vec();
        for directory in fs::read_dir(&changed)? {
            let directory = directory?;
            let name = directory.file_name();
            words.push("--copy".to_owned());
            words.push(format!(
                "{}:/{}",
                directory.path().join(".").display(),
                name.display()
            ));
        }
        words.push(IMAGE.to_owned());
        msb.output(words.iter().map(String::as_str)).map(drop)
    }

    /// Checks that the changed files are what msb lists.
    fn check(&self, msb: &Msb) -> Result<()> {
        let listed = msb.output(["diff", "--name-only", IMAGE, "diff"])?;
        let is_file = |line: &&str| {
            line.rsplit('/')
                .next()
                .is_some_and(|it| it.starts_with('f'))
        };
        let found = listed.lines().filter(is_file).count();
        ensure!(
            found == self.changes as usize,
            "msb diff lists {found} changed files, not {}",
            self.changes
        );
        Ok(())
    }
}

/// Returns a walk that reads all attributes of two trees with the same names.
fn walk(tree: &Path) -> Command {
    let mut command = Command::new("find");
    command
        .args([tree, tree])
        .args(["-printf", "%p %y %m %U %G %s %T@\\n"]);
    command
}

fn write_tree(root: &Path, numbers: std::ops::Range<u32>, text: &str) -> Result<()> {
    for number in numbers {
        let path = root.join(path_of(number));
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)?;
        }
        fs::write(path, format!("{text} {number}"))?;
    }
    Ok(())
}
