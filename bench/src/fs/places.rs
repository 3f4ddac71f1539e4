use msb_bench_runner::{Extent, Facts, Lowers, Mounted, Overlay, Part, Place, Suite};

use super::{Against, Arguments};

/// The image's own files.
pub(super) const IMAGE: &str = "image";
/// The writable disk.
pub(super) const UPPER: &str = "upper";
/// The guest's memory.
pub(super) const TMPFS: &str = "tmpfs";
/// A directory of the host.
pub(super) const VIRTIOFS: &str = "virtio-fs";
/// Plain directories on a volume, one over the other: what a container engine makes.
pub(super) const OVERLAY: &str = "overlay";
/// The image's layers, mounted one by one, one over the other.
pub(super) const LAYERS: &str = "n-layer";
/// The image's disk with nothing over it: what is left to its overlay is the difference.
pub(super) const EROFS: &str = "erofs";
/// A volume; what the others are compared with.
pub(super) const EXT4: &str = "ext4";

/// Where the guest has its mounts.
pub(super) const TMPFS_PATH: &str = "/bench/tmpfs";
pub(super) const VIRTIOFS_PATH: &str = "/bench/virtiofs";
pub(super) const EXT4_PATH: &str = "/bench/ext4";
const UPPER_PATH: &str = "/var/tmp/msb-bench";
/// Where the overlay is mounted, its directories, and how many of them are lower ones.
const OVERLAY_PATH: &str = "/bench/overlay";
const OVERLAY_BASE: &str = "/bench/ext4/overlay";
const OVERLAY_LAYERS: u32 = 10;
const LAYERS_PATH: &str = "/bench/layers";
const LAYERS_BASE: &str = "/bench/ext4/layers";
const EROFS_PATH: &str = "/bench/erofs";
/// The disk that an image is in a guest.
const IMAGE_DISK: &str = "/dev/vda";
/// What the root's overlay is mounted with.
pub(super) const ROOT_OPTIONS: &str = ",redirect_dir=on,index=on,metacopy=on,xino=on";

/// Places of a guest whose image has these layers on its disk.
pub(super) fn of_guest(arguments: &Arguments, facts: &Facts, layers: &[Extent]) -> Vec<Place> {
    let copy = |name: &str, work: &str| Place {
        name: name.to_owned(),
        lower: None,
        work: work.into(),
        mounted: None,
    };
    let mut places = vec![
        Place {
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
        places.push(Place {
            mounted: Some(Mounted::Overlay(Overlay {
                base: OVERLAY_BASE.into(),
                lowers: Lowers::Directories(OVERLAY_LAYERS),
                options: String::new(),
            })),
            ..copy(OVERLAY, OVERLAY_PATH)
        });
    }
    if arguments.has(Against::Layers) {
        places.push(Place {
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
        places.push(Place {
            mounted: Some(Mounted::Disk(IMAGE_DISK.into())),
            ..copy(EROFS, EROFS_PATH)
        });
    }
    if arguments.has(Against::Ext4) {
        places.push(copy(EXT4, EXT4_PATH));
    }
    places
}

/// What is measured in which of these places. First changes come last: they use the image's files
/// up.
pub(super) fn parts(places: &[Place]) -> Vec<Part> {
    let all = |_: &str| true;
    let disks = |name: &str| name == UPPER || name == EXT4;
    // What lies on the upper alone knows of no lower layers, and a bare image is not written to.
    let own = |name: &str| name != LAYERS && name != EROFS;
    let changing = |name: &str| name != TMPFS && name != VIRTIOFS && name != EROFS;
    // What a guest knows of virtio-fs is open on the host, which allows so many files.
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
