//! The staged directories of an archive: their images are parts of it, and nothing of them leads to a host.

use std::fs::File;
use std::io::BufRead;
use std::path::PathBuf;

use fs_err as fs;
use msb_runtime::{RuleState, SandboxPaths, Source, Spec, Staged, staged};
use msb_secrets::SecretSource;
use snapshot_file::{ArchiveReader, Part};
use staged_image::{LetInImages, check_foreign};

use super::ImportError;
use super::left_out::LeftOut;
use super::sparse_file::SparseFile;

/// The most images of an archive: that of the staged directories, and those of files that were let in.
const IMAGES_MAX: usize = LetInImages::MAX + 1;

/// Takes from a description that is exported the paths of the host that its staged directories have, and the sources
/// of its secrets: names of variables, paths and commands of the host.
pub(super) fn without_hosts(mut spec: Spec) -> Spec {
    let secrets = spec.network.iter_mut();
    for secret in secrets.flat_map(|network| &mut network.secrets) {
        secret.from = SecretSource::Given;
        secret.every_s = None;
        secret.value = None;
    }
    for mount in &mut spec.mounts {
        if let Source::Staged(staged) = &mut mount.source {
            staged.directory = None;
        }
    }
    spec
}

/// Leaves to a staged directory of an archive the rules that keep its changes in the sandbox, and the default ones.
pub(super) fn close(staged: &mut Staged, target: &str, left_out: &mut Vec<LeftOut>) {
    staged.directory = None;
    let (given, had_defaults) = (staged.rules.len(), staged.default_rules);
    staged.rules.retain(|rule| keeps_back(rule.state()));
    staged.default_rules = true;
    if !had_defaults || staged.rules.len() < given {
        left_out.push(LeftOut::rules(target));
    }
}

const fn keeps_back(state: RuleState) -> bool {
    matches!(
        state,
        RuleState::ReadOnly | RuleState::Deny | RuleState::Hide
    )
}

/// Checks the sizes of the images in the record of an archive.
pub(super) fn check_sizes(spec: &Spec, sizes: &[u64]) -> Result<(), String> {
    if !sizes.is_empty() && staged(&spec.mounts).next().is_none() {
        return Err("it lists images, and its sandbox has no staged directory".to_owned());
    }
    if sizes.len() > IMAGES_MAX {
        let count = sizes.len();
        return Err(format!(
            "it lists {count} images, the limit is {IMAGES_MAX}"
        ));
    }
    Ok(())
}

/// The images of an archive, which were written and are not proven yet.
#[derive(Debug)]
pub(super) struct WrittenImages {
    /// The paths: that of the image of the staged directories first.
    paths: Vec<PathBuf>,
}

impl WrittenImages {
    /// Reads images of these sizes from an archive, into the directory of a new sandbox.
    pub(super) fn write<R: BufRead>(
        reader: &mut ArchiveReader<R>,
        sizes: &[u64],
        files: &SandboxPaths,
    ) -> Result<Self, ImportError> {
        if sizes.len() > 1 {
            durable_files::create_directory(&files.let_in())?;
        }
        let mut paths = Vec::new();
        for (number, &size_bytes) in sizes.iter().enumerate() {
            let path = match number {
                0 => files.staged(),
                number => files.let_in().join(number.to_string()),
            };
            let file = SparseFile::create(&path, size_bytes)?;
            reader.image(size_bytes, &mut |offset_bytes, bytes| {
                file.write(offset_bytes, bytes)
            })?;
            file.sync()?;
            paths.push(path);
        }
        Ok(Self { paths })
    }

    /// Checks that the images, which are what was exported, are of the sandbox's staged directories, and gives those
    /// of files that were let in their names.
    pub(super) fn settle(
        &self,
        spec: &Spec,
        files: &SandboxPaths,
        metadata_bytes: u64,
    ) -> Result<(), ImportError> {
        let directories = staged(&spec.mounts).count();
        for (number, path) in self.paths.iter().enumerate() {
            let image: File = fs::File::open(path)?.into_parts().0;
            let checked = check_foreign(&image, directories, metadata_bytes);
            checked.map_err(|source| ImportError::Staged {
                part: Part::Image(number),
                source,
            })?;
        }
        let images = LetInImages::new(files.let_in());
        let mut paths = self.paths.iter();
        let Some(image) = paths.next() else {
            return Ok(());
        };
        for (number, path) in (1..).zip(paths) {
            fs::rename(path, images.path(image, number)?)?;
        }
        if self.paths.len() > 1 {
            durable_files::sync_directory(&files.let_in())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use fstree::ReadAt;
    use msb_runtime::{Home, Mount, Sandbox};
    use path_rules::Rules;
    use snapshot_file::DiskRuns;

    use super::*;
    use testkit::sandboxes;

    /// A sandbox with one staged directory, into which an archive is read.
    struct Fixture {
        root: tempfile::TempDir,
        sandbox: Sandbox,
    }

    impl Fixture {
        fn new() -> Self {
            let root = tempfile::tempdir().expect("a directory");
            let mut spec = sandboxes::spec("a");
            spec.mounts = vec![Mount {
                target: "/work".parse().expect("a target"),
                read_only: false,
                source: Source::Staged(Staged {
                    directory: None,
                    rules: Vec::new(),
                    default_rules: true,
                }),
            }];
            let sandbox = sandboxes::sandbox(&Home::new(root.path()), spec);
            Self { root, sandbox }
        }

        /// Reads an archive with these images.
        fn read(&self, images: &[&dyn ReadAt]) -> Result<(), ImportError> {
            let disk = vec![1_u8; 4096];
            let runs = DiskRuns::find(&disk, [std::io::Result::Ok((0, 4096))]).expect("read");
            let archive = snapshot_file::write(Vec::new(), b"{}", &disk, &runs, images);
            let archive = archive.expect("written");
            let mut reader = ArchiveReader::open(&archive[..]).expect("opened");
            reader.record().expect("a record");
            reader.disk().expect("a disk");
            reader.content(&mut |_, _| Ok(())).expect("its content");
            let sizes = images
                .iter()
                .map(|image| image.size_bytes().expect("known"));
            let sizes: Vec<u64> = sizes.collect();
            let files = &self.sandbox.files;
            let written = WrittenImages::write(&mut reader, &sizes, files)?;
            reader.finish().expect("what was written");
            written.settle(&self.sandbox.spec, files, 1 << 20)
        }
    }

    /// Returns an image of a directory with one file.
    fn image(directory: &Path, content: &str) -> Vec<u8> {
        let source = directory.join(content);
        fs::create_dir(&source).expect("made");
        fs::write(source.join("file"), content).expect("written");
        let source = staged_image::Source {
            directory: &source,
            rules: &Rules::new(),
        };
        let path = directory.join(format!("{content}.erofs"));
        let output = fs::File::create_new(&path).expect("made").into_parts().0;
        let mut listing = staged_image::list(&[source]).expect("listed");
        listing.write_to(output).expect("written");
        fs::read(path).expect("read")
    }

    #[test]
    fn images_of_an_archive_become_those_of_the_sandbox() {
        let fixture = Fixture::new();
        let (one, two) = (
            image(fixture.root.path(), "one"),
            image(fixture.root.path(), "two"),
        );
        fixture.read(&[&one, &two, &one]).expect("images");
        let files = &fixture.sandbox.files;
        assert!(fs::read(files.staged()).expect("there") == one);
        let let_in = LetInImages::new(files.let_in());
        let let_in = let_in.belonging_to(&files.staged()).expect("listed");
        let numbers: Vec<u64> = let_in.iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, [1, 2]);
        assert!(fs::read(&let_in[0].1).expect("there") == two);
        assert_eq!(fs::read_dir(files.let_in()).expect("there").count(), 2);
    }

    #[test]
    fn a_part_that_is_no_image_is_refused_by_its_name() {
        let hostile = vec![7_u8; 4096];
        for number in 0..2 {
            let fixture = Fixture::new();
            let whole = image(fixture.root.path(), "whole");
            let mut images: [&dyn ReadAt; 2] = [&whole, &whole];
            images[number] = &hostile;
            let error = fixture.read(&images).expect_err("hostile");
            let is_named = matches!(error, ImportError::Staged { part: Part::Image(found), .. } if found == number);
            assert!(is_named, "{error}");
        }
    }
}
