use std::ffi::CStr;
use std::io;
use std::time::Duration;

use fuse_backend_rs::abi::fuse_abi::CreateIn;
use fuse_backend_rs::api::filesystem::{
    Context, DirEntry, Entry, FileSystem, FsOptions, GetxattrReply, ListxattrReply, OpenOptions,
    SetattrValid, ZeroCopyReader, ZeroCopyWriter,
};
use libc::{stat64, statvfs64};

use crate::Access;
use crate::gate::{Gate, Pass};
use crate::listing::Listing;

/// The flags that mean an open for anything but reading. `O_RDONLY` is 0.
const WRITING: i32 = libc::O_ACCMODE | libc::O_TRUNC | libc::O_CREAT | libc::O_APPEND;

/// Files whose paths have permissions; without permissions, every request is passed on.
pub(crate) struct Ruled<F> {
    files: F,
    gate: Option<Gate>,
}

impl<F: FileSystem<Inode = u64, Handle = u64>> Ruled<F> {
    /// Returns files behind a gate; without one, everything is permitted.
    pub(crate) const fn new(files: F, gate: Option<Gate>) -> Self {
        Self { files, gate }
    }

    fn check(&self, permits: impl FnOnce(&Gate) -> io::Result<()>) -> io::Result<()> {
        self.gate.as_ref().map_or(Ok(()), permits)
    }

    /// Checks an access that may need an answer of the user.
    fn pass(&self, permits: impl FnOnce(&Gate) -> io::Result<Pass>) -> io::Result<Pass> {
        self.gate.as_ref().map_or(Ok(Pass::Permission), permits)
    }

    #[expect(
        clippy::unnecessary_wraps,
        clippy::unused_self,
        reason = "the other side of `reads`"
    )]
    const fn passes(&self, _: u64) -> io::Result<()> {
        Ok(())
    }

    fn reads(&self, inode: u64) -> io::Result<()> {
        self.check(|gate| gate.permits(inode, Access::Read).map(drop))
    }

    fn changes(&self, inode: u64) -> io::Result<()> {
        self.check(|gate| gate.permits(inode, Access::Change).map(drop))
    }

    fn sets(&self, inode: u64) -> io::Result<()> {
        self.check(|gate| gate.permits_attributes(inode))
    }

    fn lists(&self, inode: u64) -> io::Result<()> {
        self.check(|gate| gate.permits_listing(inode))
    }

    fn reads_open(&self, inode: u64, handle: u64) -> io::Result<()> {
        self.check(|gate| gate.permits_open(inode, handle, Access::Read))
    }

    fn changes_open(&self, inode: u64, handle: u64) -> io::Result<()> {
        self.check(|gate| gate.permits_open(inode, handle, Access::Change))
    }

    fn changes_name(&self, parent: u64, name: &CStr) -> io::Result<Pass> {
        self.pass(|gate| gate.permits_name(parent, name))
    }

    fn shows_xattrs(&self, inode: u64) -> io::Result<bool> {
        let gate = self.gate.as_ref();
        gate.map_or(Ok(true), |gate| gate.shows_xattrs(inode))
    }

    /// Notes a file that the guest has got, which has a number unless the name is free.
    fn given(&self, parent: u64, name: &CStr, entry: Entry) -> Entry {
        if let Some(gate) = &self.gate
            && entry.inode != 0
        {
            gate.found(entry.inode, parent, name.to_bytes());
        }
        entry
    }

    fn removed(&self, parent: u64, name: &CStr) {
        if let Some(gate) = &self.gate {
            gate.removed(parent, name);
        }
    }

    fn opened(&self, pass: Pass, handle: Option<u64>, inode: u64, access: Access) {
        if let Some((gate, handle)) = self.gate.as_ref().zip(handle) {
            gate.opened(pass, handle, inode, access);
        }
    }
}

/// Passes calls on, once what is said before each holds for its first argument.
macro_rules! pass_on {
    ($($kind:ident $call:ident($inode:ident $(, $argument:ident: $type:ty)*) -> $answer:ty;)*) => {$(
        fn $call(&self, context: &Context, $inode: u64 $(, $argument: $type)*) -> io::Result<$answer> {
            self.$kind($inode)?;
            self.files.$call(context, $inode $(, $argument)*)
        }
    )*};
}

/// Passes calls on that use an open file, once what is said before each holds for it.
macro_rules! pass_on_open {
    ($($kind:ident $call:ident($inode:ident, $handle:ident $(, $argument:ident: $type:ty)*) -> $answer:ty;)*) => {$(
        fn $call(
            &self, context: &Context, $inode: u64, $handle: u64 $(, $argument: $type)*
        ) -> io::Result<$answer> {
            self.$kind($inode, $handle)?;
            self.files.$call(context, $inode, $handle $(, $argument)*)
        }
    )*};
}

/// Passes calls on that make a name.
macro_rules! change_name {
    ($($call:ident($($before:ident: $before_type:ty,)* | $parent:ident, $name:ident
        $(, $argument:ident: $type:ty)*);)*) => {$(
        fn $call(
            &self, context: &Context, $($before: $before_type,)* $parent: u64, $name: &CStr
            $(, $argument: $type)*
        ) -> io::Result<Entry> {
            self.changes_name($parent, $name)?;
            let made = self.files.$call(context, $($before,)* $parent, $name $(, $argument)*)?;
            Ok(self.given($parent, $name, made))
        }
    )*};
}

impl<F: FileSystem<Inode = u64, Handle = u64>> FileSystem for Ruled<F> {
    type Inode = u64;
    type Handle = u64;

    pass_on! {
        passes getattr(inode, handle: Option<u64>) -> (stat64, Duration);
        passes flush(inode, handle: u64, lock_owner: u64) -> ();
        passes fsync(inode, data_only: bool, handle: u64) -> ();
        passes fsyncdir(inode, data_only: bool, handle: u64) -> ();
        passes releasedir(inode, flags: u32, handle: u64) -> ();
        passes statfs(inode) -> statvfs64;
        passes access(inode, mask: u32) -> ();
        passes lseek(inode, handle: u64, offset: u64, whence: u32) -> u64;
        reads readlink(inode) -> Vec<u8>;
        lists opendir(inode, flags: u32) -> (Option<u64>, OpenOptions);
        sets setattr(
            inode, attributes: stat64, handle: Option<u64>, valid: SetattrValid
        ) -> (stat64, Duration);
        changes setxattr(inode, attribute: &CStr, value: &[u8], flags: u32) -> ();
        changes removexattr(inode, attribute: &CStr) -> ();
    }

    pass_on_open! {
        reads_open read(
            inode, handle, out: &mut dyn ZeroCopyWriter, size: u32, offset: u64,
            lock_owner: Option<u64>, flags: u32
        ) -> usize;
        changes_open write(
            inode, handle, bytes: &mut dyn ZeroCopyReader, size: u32, offset: u64,
            lock_owner: Option<u64>, delayed: bool, flags: u32, fuse_flags: u32
        ) -> usize;
        changes_open fallocate(inode, handle, mode: u32, offset: u64, length: u64) -> ();
    }

    change_name! {
        symlink(target: &CStr, | parent, name);
        mknod(| parent, name, mode: u32, device: u32, umask: u32);
        mkdir(| parent, name, mode: u32, umask: u32);
    }

    fn init(&self, options: FsOptions) -> io::Result<FsOptions> {
        self.files.init(options)
    }

    fn id_remap(&self, context: &mut Context) -> io::Result<()> {
        self.files.id_remap(context)
    }

    fn lookup(&self, context: &Context, parent: u64, name: &CStr) -> io::Result<Entry> {
        self.check(|gate| gate.permits_lookup(parent, name))?;
        let found = self.files.lookup(context, parent, name)?;
        Ok(self.given(parent, name, found))
    }

    fn forget(&self, context: &Context, inode: u64, count: u64) {
        if let Some(gate) = &self.gate {
            gate.forgotten(&[(inode, count)]);
        }
        self.files.forget(context, inode, count);
    }

    fn batch_forget(&self, context: &Context, requests: Vec<(u64, u64)>) {
        if let Some(gate) = &self.gate {
            gate.forgotten(&requests);
        }
        self.files.batch_forget(context, requests);
    }

    fn getxattr(
        &self,
        context: &Context,
        inode: u64,
        attribute: &CStr,
        size: u32,
    ) -> io::Result<GetxattrReply> {
        if !self.shows_xattrs(inode)? {
            return Err(io::Error::from_raw_os_error(libc::ENODATA));
        }
        self.files.getxattr(context, inode, attribute, size)
    }

    fn listxattr(&self, context: &Context, inode: u64, size: u32) -> io::Result<ListxattrReply> {
        match (self.shows_xattrs(inode)?, size) {
            (true, size) => self.files.listxattr(context, inode, size),
            (false, 0) => Ok(ListxattrReply::Count(0)),
            (false, _) => Ok(ListxattrReply::Names(Vec::new())),
        }
    }

    fn unlink(&self, context: &Context, parent: u64, name: &CStr) -> io::Result<()> {
        self.changes_name(parent, name)?;
        self.files.unlink(context, parent, name)?;
        self.removed(parent, name);
        Ok(())
    }

    fn rmdir(&self, context: &Context, parent: u64, name: &CStr) -> io::Result<()> {
        self.changes_name(parent, name)?;
        self.files.rmdir(context, parent, name)?;
        self.removed(parent, name);
        Ok(())
    }

    fn rename(
        &self,
        context: &Context,
        parent: u64,
        name: &CStr,
        new_parent: u64,
        new_name: &CStr,
        flags: u32,
    ) -> io::Result<()> {
        self.check(|gate| gate.permits_move(parent, name))?;
        self.check(|gate| gate.permits_move(new_parent, new_name))?;
        self.files
            .rename(context, parent, name, new_parent, new_name, flags)?;
        if let Some(gate) = &self.gate {
            gate.renamed((parent, name), (new_parent, new_name), flags);
        }
        Ok(())
    }

    /// A file that cannot be changed gets no other name, under which it could be.
    fn link(&self, context: &Context, inode: u64, parent: u64, name: &CStr) -> io::Result<Entry> {
        self.changes(inode)?;
        self.changes_name(parent, name)?;
        let linked = self.files.link(context, inode, parent, name)?;
        Ok(self.given(parent, name, linked))
    }

    fn create(
        &self,
        context: &Context,
        parent: u64,
        name: &CStr,
        arguments: CreateIn,
    ) -> io::Result<(Entry, Option<u64>, OpenOptions, Option<u32>)> {
        let pass = self.changes_name(parent, name)?;
        let (made, handle, options, passthrough) =
            self.files.create(context, parent, name, arguments)?;
        let made = self.given(parent, name, made);
        self.opened(pass, handle, made.inode, Access::Change);
        Ok((made, handle, options, passthrough))
    }

    fn open(
        &self,
        context: &Context,
        inode: u64,
        flags: u32,
        fuse_flags: u32,
    ) -> io::Result<(Option<u64>, OpenOptions, Option<u32>)> {
        let access = match flags & WRITING.unsigned_abs() {
            0 => Access::Read,
            _ => Access::Change,
        };
        let pass = self.pass(|gate| gate.permits(inode, access))?;
        let opened = self.files.open(context, inode, flags, fuse_flags)?;
        self.opened(pass, opened.0, inode, access);
        Ok(opened)
    }

    fn release(
        &self,
        context: &Context,
        inode: u64,
        flags: u32,
        handle: u64,
        flush: bool,
        unlock: bool,
        lock_owner: Option<u64>,
    ) -> io::Result<()> {
        if let Some(gate) = &self.gate {
            gate.released(handle);
        }
        self.files
            .release(context, inode, flags, handle, flush, unlock, lock_owner)
    }

    fn readdir(
        &self,
        context: &Context,
        inode: u64,
        handle: u64,
        size: u32,
        offset: u64,
        add_entry: &mut dyn FnMut(DirEntry<'_>) -> io::Result<usize>,
    ) -> io::Result<()> {
        let Some(gate) = &self.gate else {
            return self
                .files
                .readdir(context, inode, handle, size, offset, add_entry);
        };
        self.lists(inode)?;
        let mut listing = Listing::from(offset);
        while listing.continues() {
            let from = listing.offset;
            let mut add_shown = |entry: DirEntry<'_>| {
                if !gate.lists_name(inode, entry.name) {
                    return Ok(listing.pass_over(entry.offset));
                }
                listing.add();
                add_entry(entry)
            };
            self.files
                .readdir(context, inode, handle, size, from, &mut add_shown)?;
        }
        Ok(())
    }

    fn readdirplus(
        &self,
        context: &Context,
        inode: u64,
        handle: u64,
        size: u32,
        offset: u64,
        add_entry: &mut dyn FnMut(DirEntry<'_>, Entry) -> io::Result<usize>,
    ) -> io::Result<()> {
        let Some(gate) = &self.gate else {
            return self
                .files
                .readdirplus(context, inode, handle, size, offset, add_entry);
        };
        self.lists(inode)?;
        let mut listing = Listing::from(offset);
        while listing.continues() {
            let from = listing.offset;
            let mut add_shown = |listed: DirEntry<'_>, found: Entry| {
                let name = listed.name.to_vec();
                let number = found.inode;
                if !gate.lists_name(inode, &name) {
                    // The guest does not get the file, so it forgets no lookup.
                    self.files.forget(context, number, 1);
                    return Ok(listing.pass_over(listed.offset));
                }
                listing.add();
                let added = add_entry(listed, found)?;
                if added > 0 && number != 0 {
                    gate.found(number, inode, &name);
                }
                Ok(added)
            };
            self.files
                .readdirplus(context, inode, handle, size, from, &mut add_shown)?;
        }
        Ok(())
    }
}
