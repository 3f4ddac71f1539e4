use std::path::Path;

use anyhow::{Result, ensure};
use fs_err as fs;

use super::guest::{Filesystem, Guest};
use super::{InGuest, Outcome};

/// Does random work in a repository, checked by git itself: every object is read again.
const SCRIPT: &str = r#"
import os, random, subprocess, sys
where, seed = sys.argv[1], int(sys.argv[2])
random.seed(seed)
def git(*words):
    return subprocess.run(['git', '-C', where, '-c', 'gc.auto=0', *words], check=True,
                          capture_output=True, text=True).stdout
os.makedirs(where)
git('init', '-q', '-b', 'main')
git('config', 'user.name', 'suite'); git('config', 'user.email', 'suite@localhost')
def change():
    for _ in range(random.randint(1, 30)):
        name = os.path.join(where, 'd%d' % random.randint(0, 9), 'f%d' % random.randint(0, 50))
        os.makedirs(os.path.dirname(name), exist_ok=True)
        if os.path.exists(name) and random.random() < 0.2:
            os.unlink(name)
        elif os.path.exists(name) and random.random() < 0.2:
            os.rename(name, name + '-renamed')
        else:
            with open(name, 'ab') as file:
                file.write(random.randbytes(random.randint(0, 20000)))
            os.chmod(name, random.choice([0o644, 0o755]))
def commit():
    change()
    git('add', '-A'); git('commit', '-q', '--allow-empty', '-m', 'change')
commit()
for number in range(40):
    operation = random.choice(['commit', 'commit', 'branch', 'back', 'repack', 'stash'])
    if operation == 'commit': commit()
    elif operation == 'branch': git('checkout', '-q', '-b', 'b%d' % number); commit()
    elif operation == 'back': git('checkout', '-q', random.choice(git('branch', '--format', '%(refname:short)').split()))
    elif operation == 'repack': git('repack', '-a', '-d', '-q')
    elif operation == 'stash':
        change(); git('add', '-A')
        if git('status', '--porcelain'): git('stash'); git('stash', 'pop', '--index'); commit()
git('fsck', '--full', '--strict')
assert git('status', '--porcelain') == '', 'the work tree differs'
clone = where + '-clone'
subprocess.run(['git', 'clone', '-q', '--no-local', where, clone], check=True)
subprocess.run(['git', '-C', clone, 'fsck', '--full', '--strict'], check=True, capture_output=True)
tree = lambda at: subprocess.run(['git', '-C', at, 'rev-parse', 'HEAD^{tree}'], check=True,
                                 capture_output=True, text=True).stdout
assert tree(where) == tree(clone), 'the clone differs'
print(git('rev-list', '--all', '--count').strip())
"#;
const SEEDS: std::ops::RangeInclusive<u32> = 1..=3;

/// Forty random git operations and a clone.
pub(super) struct Git;

impl InGuest for Git {
    fn prepare(directory: &Path) -> Result<()> {
        Ok(fs::write(directory.join("git.py"), SCRIPT)?)
    }

    fn run(guest: &Guest<'_>) -> Result<Outcome> {
        let mut commits = 0;
        for filesystem in Filesystem::ALL {
            for seed in SEEDS {
                let repository = format!("{}/git-{seed}", filesystem.directory());
                let said = guest.sh(&format!("python3 /suites/git.py {repository} {seed}"))?;
                let count: u32 = said.trim().parse()?;
                ensure!(count > 0, "git made no commits");
                commits += count;
            }
        }
        Ok(Outcome::good(format!(
            "{} repositories, {commits} commits, fsck --full --strict of each and its clone",
            2 * SEEDS.count()
        )))
    }
}
