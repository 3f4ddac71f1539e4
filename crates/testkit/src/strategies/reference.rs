//! The image that layers make, computed as simply as possible: from maps of full paths, with a test
//! for each path of the lower layers whether anything hides it.

use std::collections::{BTreeMap, BTreeSet};

use fstree::{FileKind, Inode, InodeId, Metadata, Name, Timestamp, Tree};

use super::{Action, Step};

type Path = Vec<String>;

#[derive(Debug, Clone, PartialEq)]
enum Node {
    Directory {
        metadata: Metadata,
        is_implied: bool,
    },
    File(usize),
}

#[derive(Debug, Clone)]
enum Body {
    Regular(Vec<u8>),
    Symlink(String),
    Fifo,
    /// A hard link to a path that does not exist yet.
    Absent(Path),
}

#[derive(Debug, Default)]
struct ReferenceModel {
    /// Every file that was created, including files that no path leads to.
    files: Vec<(Body, Metadata)>,
}

#[derive(Debug, Default)]
struct OneLayer {
    nodes: BTreeMap<Path, Node>,
    whiteouts: BTreeSet<Path>,
    opaque: BTreeSet<Path>,
    links: Vec<(Path, usize, Metadata)>,
}

/// Returns the image that these layers make; `None` if the layers must be refused.
pub fn reference(layers: &[Vec<Step>]) -> Option<Tree<Vec<u8>>> {
    let mut world = ReferenceModel::default();
    let mut image = BTreeMap::new();
    for steps in layers {
        let layer = world.read(steps)?;
        image = world.put_on(&image, layer)?;
    }
    Some(world.tree(&image))
}

impl ReferenceModel {
    fn read(&mut self, steps: &[Step]) -> Option<OneLayer> {
        let mut layer = OneLayer::default();
        for step in steps {
            let (last, parents) = match step.path.split_last() {
                Some((last, parents)) if !matches!(step.action, Action::Opaque) => {
                    (std::slice::from_ref(last), parents)
                }
                _ => (&[][..], &step.path[..]),
            };
            let directory = self.real(&layer.nodes, parents)?;
            layer.make(&directory);
            let path = [&directory[..], last].concat();
            match &step.action {
                Action::Opaque => drop(layer.opaque.insert(directory)),
                Action::Whiteout => drop(layer.whiteouts.insert(path)),
                Action::Directory => layer.put_directory(path, metadata(step)),
                Action::File(content) => {
                    self.put(&mut layer, path, Body::Regular(content.clone()), step);
                }
                Action::Symlink(target) => {
                    self.put(&mut layer, path, Body::Symlink(target.clone()), step);
                }
                Action::Fifo => self.put(&mut layer, path, Body::Fifo, step),
                Action::Hardlink(target) => self.hardlink(&mut layer, path, target, step)?,
            }
        }
        self.settle(&mut layer)?;
        layer.forget_marker_only();
        Some(layer)
    }

    fn put(&mut self, layer: &mut OneLayer, path: Path, body: Body, step: &Step) {
        let mut metadata = metadata(step);
        if matches!(body, Body::Symlink(_)) {
            metadata.mode = 0o777;
        }
        if !matches!(body, Body::Regular(_)) {
            metadata
                .xattrs
                .retain(|name, _| !name.starts_with(b"user."));
        }
        self.files.push((body, metadata));
        layer.put_file(path, self.files.len() - 1);
    }

    fn hardlink(
        &mut self,
        layer: &mut OneLayer,
        path: Path,
        target: &[String],
        step: &Step,
    ) -> Option<()> {
        let target = self.real_last(&layer.nodes, target)?;
        if target == path {
            return None;
        }
        let file = match layer.nodes.get(&target) {
            Some(Node::Directory { .. }) => return None,
            Some(&Node::File(file)) => {
                self.describe(file, &metadata(step));
                file
            }
            None => {
                // The path is resolved again at the end, because later entries may add symlinks.
                let Action::Hardlink(way) = &step.action else {
                    return None;
                };
                self.files.push((Body::Absent(way.clone()), metadata(step)));
                self.files.len() - 1
            }
        };
        layer.put_file(path.clone(), file);
        if matches!(self.files[file].0, Body::Absent(_)) {
            layer.links.push((path, file, metadata(step)));
        }
        Some(())
    }

    /// Applies a link's attributes to the file. Its xattrs are added, but not to symlinks and
    /// pipes.
    fn describe(&mut self, file: usize, link: &Metadata) {
        let (body, metadata) = &mut self.files[file];
        (metadata.uid, metadata.mtime) = (link.uid, link.mtime);
        if !matches!(body, Body::Symlink(_)) {
            metadata.mode = link.mode;
        }
        if matches!(body, Body::Regular(_) | Body::Absent(_)) {
            metadata.xattrs.extend(&link.xattrs);
        }
    }

    fn settle(&mut self, layer: &mut OneLayer) -> Option<()> {
        for (path, stand_in, metadata) in std::mem::take(&mut layer.links) {
            if layer.nodes.get(&path) != Some(&Node::File(stand_in)) {
                continue;
            }
            let mut file = stand_in;
            let mut seen = BTreeSet::new();
            while let Body::Absent(way) = self.files[file].0.clone() {
                if !seen.insert(file) {
                    return None;
                }
                let target = self.real_last(&layer.nodes, &way)?;
                match layer.nodes.get(&target) {
                    Some(Node::Directory { .. }) => return None,
                    Some(&Node::File(next)) => file = next,
                    None => {
                        layer.links.push((target, stand_in, metadata.clone()));
                        break;
                    }
                }
            }
            if !matches!(self.files[file].0, Body::Absent(_)) {
                self.describe(file, &metadata);
                layer.nodes.insert(path, Node::File(file));
            }
        }
        Some(())
    }

    fn put_on(
        &mut self,
        lower: &BTreeMap<Path, Node>,
        mut layer: OneLayer,
    ) -> Option<BTreeMap<Path, Node>> {
        self.place_markers(lower, &mut layer);
        let mut image: BTreeMap<_, _> = lower
            .iter()
            .filter(|(path, node)| layer.shows(path, node))
            .map(|(path, node)| (path.clone(), node.clone()))
            .collect();
        let lower_links: BTreeMap<usize, Path> = layer
            .links
            .into_iter()
            .map(|(path, file, _)| (file, path))
            .collect();
        let mut linked = BTreeMap::new();
        for (path, node) in layer.nodes {
            let node = match node {
                Node::File(file) => match lower_links.get(&file) {
                    None => Node::File(file),
                    Some(target) => self.lower_link(lower, &mut linked, file, target)?,
                },
                Node::Directory {
                    is_implied: true, ..
                } if image.contains_key(&path) => continue,
                directory => directory,
            };
            image.insert(path, node);
        }
        Some(image)
    }

    /// Moves markers to the lower names that they remove, and drops those that remove nothing.
    fn place_markers(&self, lower: &BTreeMap<Path, Node>, layer: &mut OneLayer) {
        let way = |path: &[String]| self.marked(lower, layer, path);
        let whiteouts = layer.whiteouts.iter().filter_map(|path| {
            let (last, parents) = path.split_last()?;
            let mut path = way(parents)?;
            path.push(last.clone());
            Some(path)
        });
        let whiteouts = whiteouts.collect();
        let opaque = layer.opaque.iter().filter_map(|path| way(path)).collect();
        (layer.whiteouts, layer.opaque) = (whiteouts, opaque);
    }

    /// Returns the lower directory that a marker in the layer's directory `path` applies to; `None`
    /// if it applies to nothing.
    fn marked(
        &self,
        lower: &BTreeMap<Path, Node>,
        layer: &OneLayer,
        path: &[String],
    ) -> Option<Path> {
        for length in 1..=path.len() {
            let (above, parent) = (&path[..length], &path[..length - 1]);
            if layer.opaque.contains(parent) || layer.whiteouts.contains(above) {
                return None;
            }
            match layer.nodes.get(above) {
                Some(Node::File(_)) => return None,
                Some(Node::Directory { .. })
                    if !matches!(lower.get(above), Some(Node::Directory { .. })) =>
                {
                    return None;
                }
                _ => {}
            }
        }
        let real = self.real(lower, path)?;
        let is_there = real.is_empty() || matches!(lower.get(&real), Some(Node::Directory { .. }));
        is_there.then_some(real)
    }

    fn lower_link(
        &mut self,
        lower: &BTreeMap<Path, Node>,
        linked: &mut BTreeMap<usize, usize>,
        stand_in: usize,
        target: &[String],
    ) -> Option<Node> {
        if let Some(&file) = linked.get(&stand_in) {
            return Some(Node::File(file));
        }
        let target = self.real_last(lower, target)?;
        let Some(&Node::File(file)) = lower.get(&target) else {
            return None;
        };
        let metadata = self.files[stand_in].1.clone();
        self.describe(file, &metadata);
        linked.insert(stand_in, file);
        Some(Node::File(file))
    }

    /// Returns the path with its symlinks resolved, except in the last component; `None` as for a
    /// directory.
    fn real_last(&self, nodes: &BTreeMap<Path, Node>, path: &[String]) -> Option<Path> {
        let (last, parents) = path.split_last()?;
        let mut real = self.real(nodes, parents)?;
        real.push(last.clone());
        Some(real)
    }

    /// Returns the path of a directory with its symlinks resolved; `None` if it leads through a
    /// file, or if the symlinks do not end.
    fn real(&self, nodes: &BTreeMap<Path, Node>, path: &[String]) -> Option<Path> {
        let mut real = Path::new();
        let mut ahead: Path = path.to_vec();
        for _ in 0..200 {
            if ahead.is_empty() {
                return Some(real);
            }
            let component = ahead.remove(0);
            if component == ".." {
                real.pop();
                continue;
            }
            real.push(component);
            let Some(&Node::File(file)) = nodes.get(&real) else {
                continue;
            };
            let Body::Symlink(target) = &self.files[file].0 else {
                return None;
            };
            real.pop();
            if target.starts_with('/') {
                real.clear();
            }
            let steps = target.split('/').filter(|step| !step.is_empty());
            ahead.splice(0..0, steps.map(str::to_owned));
        }
        None
    }

    fn tree(&self, image: &BTreeMap<Path, Node>) -> Tree<Vec<u8>> {
        let root = match image.get(&Path::new()) {
            Some(Node::Directory { metadata, .. }) => metadata.clone(),
            _ => Metadata::directory(0o755),
        };
        let mut tree = Tree::new(root);
        let mut directories = BTreeMap::from([(Path::new(), tree.root())]);
        let mut files: BTreeMap<usize, InodeId> = BTreeMap::new();
        for (path, node) in image {
            let Some((last, parents)) = path.split_last() else {
                continue;
            };
            let id = match node {
                Node::Directory { metadata, .. } => {
                    let id = tree.add(Inode::directory(metadata.clone()));
                    directories.insert(path.clone(), id);
                    id
                }
                Node::File(file) => *files
                    .entry(*file)
                    .or_insert_with(|| tree.add(self.inode(*file))),
            };
            let name = Name::new(last.as_bytes()).expect("names are letters");
            tree.link(directories[parents], name, id);
        }
        tree
    }

    fn inode(&self, file: usize) -> Inode<Vec<u8>> {
        let (body, metadata) = self.files[file].clone();
        let kind = match body {
            Body::Regular(content) => FileKind::Regular(content),
            Body::Symlink(target) => FileKind::Symlink(target.into_bytes().into()),
            Body::Fifo => FileKind::Fifo,
            Body::Absent(path) => panic!("{path:?} was linked and is not there"),
        };
        Inode { metadata, kind }
    }
}

impl OneLayer {
    fn make(&mut self, directory: &[String]) {
        for length in 1..=directory.len() {
            let node = Node::Directory {
                metadata: Metadata::directory(0o755),
                is_implied: true,
            };
            self.nodes
                .entry(directory[..length].to_vec())
                .or_insert(node);
        }
    }

    /// Removes directories that exist only because of markers.
    fn forget_marker_only(&mut self) {
        let is_entry = |node: &Node| {
            !matches!(
                node,
                Node::Directory {
                    is_implied: true,
                    ..
                }
            )
        };
        let entries = self.nodes.iter().filter(|(_, node)| is_entry(node));
        let needed: BTreeSet<Path> = entries
            .flat_map(|(path, _)| (1..=path.len()).map(|length| path[..length].to_vec()))
            .collect();
        self.nodes
            .retain(|path, _| path.is_empty() || needed.contains(path));
    }

    fn put_directory(&mut self, path: Path, metadata: Metadata) {
        if let Some(Node::File(_)) = self.nodes.get(&path) {
            self.opaque.insert(path.clone());
        }
        let node = Node::Directory {
            metadata,
            is_implied: false,
        };
        self.nodes.insert(path, node);
    }

    fn put_file(&mut self, path: Path, file: usize) {
        self.nodes.retain(|other, _| !other.starts_with(&path));
        self.nodes.insert(path, Node::File(file));
    }

    /// Returns true if nothing in this layer hides a file of the lower layers.
    fn shows(&self, path: &[String], node: &Node) -> bool {
        let is_directory = matches!(node, Node::Directory { .. });
        (0..=path.len()).all(|length| {
            let above = &path[..length];
            let is_above = length < path.len();
            let is_replaced = match self.nodes.get(above) {
                Some(Node::File(_)) => true,
                Some(Node::Directory { .. }) => !is_above && !is_directory,
                None => false,
            };
            let is_hidden = is_above && self.opaque.contains(above);
            !is_replaced && !is_hidden && !self.whiteouts.contains(above)
        })
    }
}

fn metadata(step: &Step) -> Metadata {
    let xattrs = step.xattr().into_iter();
    Metadata {
        mode: step.mode(),
        uid: step.uid(),
        gid: 0,
        mtime: Timestamp {
            seconds: step.seconds(),
            nanoseconds: 0,
        },
        xattrs: xattrs
            .map(|(name, value)| (name.as_bytes(), value))
            .collect(),
    }
}
