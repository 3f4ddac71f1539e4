use msb_bench_runner::{BenchTarget, Extent, Facts, Lowers, Mounted, Overlay, Part, Suite};

use super::{Against, Arguments};

/// The image's own files.
pub(super) const IMAGE: &str = "image";
/// The image's own files on a native root, in a sandbox of its own.
pub(super) const NATIVE_ROOT: &str = "native root";
/// A copy on the writable disk.
pub(super) const UPPER: &str = "upper";
/// A copy in the guest's memory.
pub(super) const TMPFS: &str = "tmpfs";
/// A copy in a host directory.
pub(super) const VIRTIOFS: &str = "virtio-fs";
/// Plain directories on a volume, stacked by an overlay, as a container engine does.
pub(super) const OVERLAY: &str = "overlay";
/// The image's layers, mounted one by one and stacked by an overlay.
pub(super) const LAYERS: &str = "n-layer";
/// The image's disk without an overlay. The difference to the image is the overlay's cost.
pub(super) const EROFS: &str = "erofs";
/// A copy on a volume, the baseline of the others.
pub(super) const EXT4: &str = "ext4";

/// The mount points in the guest.
pub(super) const TMPFS_PATH: &str = "/bench/tmpfs";
pub(super) const VIRTIOFS_PATH: &str = "/bench/virtiofs";
pub(super) const EXT4_PATH: &str = "/bench/ext4";
const UPPER_PATH: &str = "/var/tmp/msb-bench";
/// The mount point of the overlay, its directory, and the number of its lower layers.
const OVERLAY_PATH: &str = "/bench/overlay";
const OVERLAY_BASE: &str = "/bench/ext4/overlay";
const OVERLAY_LAYERS: u32 = 10;
const LAYERS_PATH: &str = "/bench/layers";
const LAYERS_BASE: &str = "/bench/ext4/layers";
const EROFS_PATH: &str = "/bench/erofs";
/// The image's disk in a guest.
const IMAGE_DISK: &str = "/dev/vda";
/// The mount options of the root's overlay.
pub(super) const ROOT_OPTIONS: &str = ",redirect_dir=on,index=on,metacopy=on,xino=on";

/// Returns the places of a guest whose image has these layers on its disk.
pub(super) fn of_guest(
    arguments: &Arguments,
    facts: &Facts,
    layers: &[Extent],
) -> Vec<BenchTarget> {
    let copy = |name: &str, work: &str| BenchTarget {
        name: name.to_owned(),
        lower: None,
        work: work.into(),
        mounted: None,
    };
    let mut places = vec![
        BenchTarget {
            name: IMAGE.to_owned(),
            lower: Some(facts.lower.clone()),
            work: facts.work.clone(),
            mounted: None,
        },
        copy(UPPER, UPPER_PATH),
        copy(TMPFS, TMPFS_PATH),
    ];
    if arguments.has(Against::Virtiofs) {
        places.push(copy(VIRTIOFS, VIRTIOFS_PATH));
    }
    if arguments.has(Against::Overlay) {
        places.push(BenchTarget {
            mounted: Some(Mounted::Overlay(Overlay {
                base: OVERLAY_BASE.into(),
                lowers: Lowers::Directories(OVERLAY_LAYERS),
                options: String::new(),
            })),
            ..copy(OVERLAY, OVERLAY_PATH)
        });
    }
    if arguments.has(Against::Layers) {
        places.push(BenchTarget {
            mounted: Some(Mounted::Overlay(Overlay {
                base: LAYERS_BASE.into(),
                lowers: Lowers::Images {
                    disk: IMAGE_DISK.into(),
                    extents: layers.to_vec(),
                },
                options: ROOT_OPTIONS.to_owned(),
            })),
            ..copy(LAYERS, LAYERS_PATH)
        });
    }
    if arguments.has(Against::Erofs) {
        places.push(BenchTarget {
            mounted: Some(Mounted::Disk(IMAGE_DISK.into())),
            ..copy(EROFS, EROFS_PATH)
        });
    }
    if arguments.has(Against::Ext4) {
        places.push(copy(EXT4, EXT4_PATH));
    }
    places
}

/// Returns the only place of a guest with a native root.
pub(super) fn of_native_root(facts: &Facts) -> BenchTarget {
    BenchTarget {
        name: NATIVE_ROOT.to_owned(),
        lower: Some(facts.lower.clone()),
        work: facts.work.clone(),
        mounted: None,
    }
}

/// Puts the place beside the image in each suite that runs there.
pub(super) fn add_native_root(parts: &mut [Part]) {
    for part in parts {
        if let Some(image) = part.places.iter().position(|name| name == IMAGE) {
            part.places.insert(image + 1, NATIVE_ROOT.to_owned());
        }
    }
}

/// Returns the suites that run beside the image, at the place alone.
pub(super) fn native_root_parts(parts: &[Part]) -> Vec<Part> {
    let beside = parts
        .iter()
        .filter(|part| part.places.iter().any(|name| name == IMAGE));
    beside
        .map(|part| Part {
            places: vec![NATIVE_ROOT.to_owned()],
            ..part.clone()
        })
        .collect()
}

/// Returns the suites, each with its places. The suite of first changes is the last, because it
/// uses up the image's files.
pub(super) fn parts(places: &[BenchTarget]) -> Vec<Part> {
    let all = |_: &str| true;
    let disks = |name: &str| name == UPPER || name == EXT4;
    // A directory on the upper alone uses no lower layers, and a bare image cannot be written to.
    let own = |name: &str| name != LAYERS && name != EROFS;
    let changing = |name: &str| name != TMPFS && name != VIRTIOFS && name != EROFS;
    // Each file that a guest knows of in virtio-fs is open on the host, which limits their number.
    let many = |name: &str| own(name) && name != VIRTIOFS;
    let new = |name: &str| many(name) && name != IMAGE;
    let part = |suite, cold, chosen: &dyn Fn(&str) -> bool| Part {
        suite,
        places: places
            .iter()
            .map(|place| place.name.clone())
            .filter(|name| chosen(name))
            .collect(),
        cold,
    };
    vec![
        part(Suite::Metadata, true, &all),
        part(Suite::Mixed, true, &all),
        part(Suite::ReadHeavy, true, &all),
        part(Suite::ManyFiles, false, &new),
        part(Suite::SingleFile, true, &disks),
        part(Suite::Git, false, &many),
        part(Suite::Database, false, &own),
        part(Suite::Package, false, &own),
        part(Suite::Snapshots, false, &own),
        part(Suite::CopyUp, false, &changing),
    ]
}
