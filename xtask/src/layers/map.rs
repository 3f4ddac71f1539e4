//! The map of ARCHITECTURE.md: the one table of which crate may use which.

use super::workspace::Package;

/// Crates of one height. They use only crates of rows below, not each other.
pub(super) struct Row {
    /// The row's name in the drawing.
    pub(super) name: &'static str,
    /// The crates, in the order of the drawing, with spaces between them.
    crates: &'static str,
    /// True if they know bytes only: no sockets, no host paths, no clocks.
    pub(super) is_pure: bool,
}

impl Row {
    /// Returns the crates, in the order of the drawing.
    pub(super) fn crates(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.crates.split_whitespace()
    }
}

/// The rows, the highest first.
pub(super) const MAP: [Row; 32] = [
    row("tests", "boot oracle store fleet guides fuzz-targets"),
    row(
        "recipes",
        "xtask test-support kernel-build msb-dist msb-arm64",
    ),
    row("support", "testkit test-fixtures guest-program"),
    row(
        "faces",
        "msb msb-containerd-machine msb-bench msb-python msb-node",
    ),
    row("binding", "msb-sdk-binding"),
    row("doors", "msb-mcp msb-ssh"),
    row("terminal", "msb-terminal"),
    row("sdk", "msb-sdk"),
    row("handles", "msb-images msb-sandbox-handle"),
    row("client", "msb-client"),
    row("machine", "msb-machine"),
    row(
        "files",
        "msb-sandbox-files msb-sandbox-secrets msb-sandbox-network msb-sandbox-sockets",
    ),
    row("forks", "msb-sandbox-snapshots"),
    row("clients", "msb-runtime image-export image-import"),
    row("trust", "msb-guest-trust"),
    row("patches", "msb-patches staged-image msb-host-changes"),
    row("guest", "msb-agent msb-bench-runner boot-disk"),
    row(
        "effects",
        "image-store oci-registry command-journal tree-archive guest-container msb-machine-records \
         msb-containerd-shim msb-vmm-krun msb-vmm-qemu",
    ),
    row("vmm", "msb-vmm generations imago"),
    row("forms", "artifact-file"),
    pure_row("archives", "snapshot-file"),
    pure_row("names", "oci-image oci-spec-plan"),
    pure_row("disks", "disk-image artifact-cache range-disk"),
    pure_row("meaning", "oci-layers rootfs-view tree-diff verified-file"),
    pure_row(
        "formats",
        "tar-stream erofs-writer ext4-writer vmdk block-tree packed-file",
    ),
    pure_row("tree", "filesystem-tree"),
    row(
        "alone",
        "msb-sandbox-model msb-agent-protocol guest-kernel msb-network msb-share msb-jail \
         durable-files sealed-records vhost-block path-rules questions docker-words host-setup \
         msb-cancellation sftp-server ttrpc containerd-protocol container-plan",
    ),
    row("devices", "vhost-device served-disk"),
    row("edge", "msb-tls-edge"),
    row("secrets", "msb-secrets"),
    row("text", "terminal-text"),
    row("errors", "diagnosis"),
];

/// The index in [`MAP`] of the row whose crates only tests, build scripts and higher rows link.
pub(super) const SUPPORT: usize = 2;

/// A crate, and those of the workspace that it may be built from, directly or through others, with spaces between.
pub(super) const CLOSURES: [(&str, &str); 2] = [
    // Every guest's PID 1.
    (
        "msb-agent",
        "container-plan diagnosis filesystem-tree guest-container msb-agent-protocol \
         msb-sandbox-model sftp-server tar-stream tree-archive",
    ),
    // The libraries of clients, which boot images and reach no registry.
    (
        "msb-sandbox-files",
        "artifact-cache artifact-file block-tree boot-disk diagnosis disk-image durable-files \
         erofs-writer ext4-writer filesystem-tree generations guest-kernel image-store \
         msb-agent-protocol msb-guest-trust msb-host-changes msb-jail msb-machine-records \
         msb-network msb-patches msb-runtime msb-sandbox-model msb-sandbox-snapshots \
         msb-secrets msb-tls-edge msb-vmm oci-image oci-layers packed-file path-rules \
         questions rootfs-view sealed-records served-disk snapshot-file staged-image \
         tar-stream terminal-text tree-archive tree-diff verified-file vmdk",
    ),
];

const fn row(name: &'static str, crates: &'static str) -> Row {
    Row {
        name,
        crates,
        is_pure: false,
    }
}

const fn pure_row(name: &'static str, crates: &'static str) -> Row {
    Row {
        name,
        crates,
        is_pure: true,
    }
}

/// Returns the row of a crate, counted from the top; `None` if the map does not have it.
pub(super) fn height(name: &str) -> Option<usize> {
    MAP.iter()
        .position(|row| row.crates().any(|on_row| on_row == name))
}

/// Draws the map for ARCHITECTURE.md: a line per crate; rows that the product does not link last.
pub(super) fn drawing(packages: &[Package]) -> String {
    let on_map = |name| packages.iter().find(|package| package.name == name);
    let folder_width = packages.iter().map(|package| package.folder.len()).max();
    let folder_width = folder_width.unwrap_or(0);
    let mut drawing = String::new();
    let (beside, product) = MAP.split_at(SUPPORT + 1);
    for row in product.iter().chain(beside) {
        let mut label = row.name;
        for package in row.crates().filter_map(on_map) {
            let (folder, description) = (&package.folder, &package.description);
            drawing.push_str(&format!(
                "{label:8} {folder:folder_width$}  {description}\n"
            ));
            label = "";
        }
    }
    drawing
}
