use msb_sandbox_model::Size;

use crate::Error;

/// A size as callers give it: bytes, or text.
pub trait IntoSize {
    /// Returns the size.
    ///
    /// # Errors
    /// Text that is not a size.
    fn into_size(self) -> Result<Size, Error>;
}

impl IntoSize for Size {
    fn into_size(self) -> Result<Size, Error> {
        Ok(self)
    }
}

impl IntoSize for u64 {
    fn into_size(self) -> Result<Size, Error> {
        Ok(Size::new(self))
    }
}

impl IntoSize for &str {
    fn into_size(self) -> Result<Size, Error> {
        Ok(self.parse()?)
    }
}

impl IntoSize for &String {
    fn into_size(self) -> Result<Size, Error> {
        Ok(self.parse()?)
    }
}

impl IntoSize for String {
    fn into_size(self) -> Result<Size, Error> {
        Ok(self.parse()?)
    }
}
