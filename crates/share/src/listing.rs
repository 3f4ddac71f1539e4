/// An answer with names of a directory. One without any name means the end of the directory to a guest, so the
/// names after those that are left out are asked for until there is one.
pub(crate) struct Listing {
    /// The place in the directory after the last name that was left out.
    pub(crate) offset: u64,
    passed_over: bool,
    has_names: bool,
}

impl Listing {
    /// Returns an answer without names, whose first one is at `offset`.
    pub(crate) const fn from(offset: u64) -> Self {
        Self {
            offset,
            passed_over: true,
            has_names: false,
        }
    }

    /// Returns true if more names have to be asked for.
    pub(crate) const fn continues(&mut self) -> bool {
        let continues = self.passed_over && !self.has_names;
        self.passed_over = false;
        continues
    }

    /// Notes a name.
    pub(crate) const fn add(&mut self) {
        self.has_names = true;
    }

    /// Returns the answer for a name that is left out. 0 would end the listing.
    pub(crate) const fn pass_over(&mut self, next: u64) -> usize {
        self.offset = next;
        self.passed_over = true;
        1
    }
}
