use crate::Size;

/// The most virtual processors that a sandbox has by default.
pub const CPUS_DEFAULT_MAX: usize = 4;
/// The default size of a guest's memory.
pub const MEMORY_DEFAULT: Size = Size::new(1 << 30);
/// [`MEMORY_DEFAULT`] as users write it.
pub const MEMORY_DEFAULT_TEXT: &str = "1G";
/// The default size of the writable disk.
pub const DISK_DEFAULT: Size = Size::new(8 << 30);
/// [`DISK_DEFAULT`] as users write it.
pub const DISK_DEFAULT_TEXT: &str = "8G";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_texts_are_those_of_the_defaults() {
        assert_eq!(MEMORY_DEFAULT_TEXT.parse(), Ok(MEMORY_DEFAULT));
        assert_eq!(DISK_DEFAULT_TEXT.parse(), Ok(DISK_DEFAULT));
    }
}
