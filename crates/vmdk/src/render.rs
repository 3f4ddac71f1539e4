use std::fmt;

use crate::Descriptor;

/// Geometry that readers expect of an IDE disk: sectors per track, and heads.
const SECTORS_PER_TRACK: u64 = 63;
const HEADS: u64 = 16;
/// Most cylinders that this geometry can express.
const CYLINDERS_MAX: u64 = 16_383;

impl Descriptor {
    /// Returns the descriptor's text, which is the same for equal descriptors.
    #[must_use]
    pub fn render(&self) -> String {
        self.to_string()
    }

    fn cylinders(&self) -> u64 {
        self.total_sectors()
            .div_ceil(SECTORS_PER_TRACK * HEADS)
            .min(CYLINDERS_MAX)
    }
}

impl fmt::Display for Descriptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "# Disk DescriptorFile")?;
        writeln!(f, "version=1")?;
        writeln!(f, "CID={:08x}", self.content_id)?;
        writeln!(f, "parentCID=ffffffff")?;
        writeln!(f, "createType=\"twoGbMaxExtentFlat\"")?;
        writeln!(f)?;
        // QEMU counts an extent twice if its line follows an empty one, so the comment must stay.
        writeln!(f, "# Extent description")?;
        for extent in &self.extents {
            writeln!(f, "RW {} FLAT \"{}\" 0", extent.sectors, extent.file_name)?;
        }
        writeln!(f)?;
        writeln!(f, "# The Disk Data Base")?;
        writeln!(f, "#DDB")?;
        writeln!(f)?;
        writeln!(f, "ddb.virtualHWVersion = \"4\"")?;
        writeln!(f, "ddb.geometry.cylinders = \"{}\"", self.cylinders())?;
        writeln!(f, "ddb.geometry.heads = \"{HEADS}\"")?;
        writeln!(f, "ddb.geometry.sectors = \"{SECTORS_PER_TRACK}\"")?;
        writeln!(f, "ddb.adapterType = \"ide\"")
    }
}
