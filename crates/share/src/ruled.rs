use std::ffi::CStr;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fuse_backend_rs::abi::fuse_abi::CreateIn;
use fuse_backend_rs::api::filesystem::{
    Context, DirEntry, Entry, FileSystem, FsOptions, GetxattrReply, ListxattrReply, OpenOptions,
    SetattrValid, ZeroCopyReader, ZeroCopyWriter,
};
use libc::{stat64, statvfs64};

use crate::paths::Paths;
use crate::{Permission, Permissions};

/// The flags that mean an open for anything but reading. `O_RDONLY` is 0.
const WRITING: i32 = libc::O_ACCMODE | libc::O_TRUNC | libc::O_CREAT | libc::O_APPEND;

/// Files whose paths have permissions. They are decided at each request, so nothing that a guest's kernel keeps
/// lifts one; without permissions, every request is passed on.
pub(crate) struct Ruled<F> {
    files: F,
    gate: Option<Gate>,
}

struct Gate {
    permissions: Box<dyn Permissions>,
    paths: Mutex<Paths>,
}

impl Gate {
    fn paths(&self) -> MutexGuard<'_, Paths> {
        self.paths.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn of(&self, path: &[u8]) -> Permission {
        self.permissions.of(path)
    }

    /// Returns true if a guest sees a path.
    fn shows(&self, path: &[u8]) -> bool {
        self.of(path) != Permission::Nothing || self.permissions.shows_below(path)
    }

    /// Returns true if a directory lists a name.
    fn lists_name(&self, directory: u64, name: &[u8]) -> bool {
        let path = self.paths().path(directory, name);
        path.is_ok_and(|path| self.shows(&path))
    }

    fn found(&self, inode: u64, parent: u64, name: &[u8]) {
        self.paths()
            .found(inode, parent, name, &|path| self.of(path));
    }
}

impl<F: FileSystem<Inode = u64, Handle = u64>> Ruled<F> {
    /// Returns files with permissions; with none, everything is permitted.
    pub(crate) fn new(files: F, permissions: Option<Box<dyn Permissions>>) -> Self {
        let gate = permissions.map(|permissions| Gate {
            permissions,
            paths: Mutex::default(),
        });
        Self { files, gate }
    }

    /// Checks a file that the guest knows.
    fn check(&self, inode: u64, needs: fn(Permission) -> io::Result<()>) -> io::Result<()> {
        let Some(gate) = &self.gate else {
            return Ok(());
        };
        let permission = gate.paths().permission(inode, &|path| gate.of(path))?;
        needs(permission)
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
        self.check(inode, Permission::reads)
    }

    fn changes(&self, inode: u64) -> io::Result<()> {
        self.check(inode, Permission::changes)
    }

    /// Checks that a name can be made or removed.
    fn changes_name(&self, parent: u64, name: &CStr) -> io::Result<()> {
        let Some(gate) = &self.gate else {
            return Ok(());
        };
        let path = gate.paths().path(parent, name.to_bytes())?;
        gate.of(&path).changes()
    }

    /// Checks that a name can be moved, with what is in it.
    fn moves(&self, parent: u64, name: &CStr) -> io::Result<()> {
        let Some(gate) = &self.gate else {
            return Ok(());
        };
        let path = gate.paths().path(parent, name.to_bytes())?;
        gate.of(&path).changes()?;
        if gate.permissions.depends_below(&path) {
            return Err(io::Error::from_raw_os_error(libc::EACCES));
        }
        Ok(())
    }

    /// Checks that a directory can be listed.
    fn lists(&self, inode: u64) -> io::Result<()> {
        let Some(gate) = &self.gate else {
            return Ok(());
        };
        let paths = gate.paths();
        let permission = paths.permission(inode, &|path| {
            // The directory is there for what is seen in it.
            match gate.of(path) {
                Permission::Nothing if gate.permissions.shows_below(path) => Permission::Read,
                permission => permission,
            }
        })?;
        permission.reads()
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
            let of = |path: &[u8]| gate.of(path);
            gate.paths().removed(parent, name.to_bytes(), &of);
        }
    }

    fn renamed(&self, old: (u64, &CStr), new: (u64, &CStr), flags: u32) {
        let Some(gate) = &self.gate else {
            return;
        };
        let (old, new) = ((old.0, old.1.to_bytes()), (new.0, new.1.to_bytes()));
        let of = |path: &[u8]| gate.of(path);
        let mut paths = gate.paths();
        if flags & libc::RENAME_EXCHANGE == 0 {
            paths.renamed(old, new, &of);
        } else {
            paths.exchanged(old, new, &of);
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

/// Passes calls on that make or remove a name.
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
        passes release(
            inode, flags: u32, handle: u64, flush: bool, unlock: bool, lock_owner: Option<u64>
        ) -> ();
        passes statfs(inode) -> statvfs64;
        passes access(inode, mask: u32) -> ();
        passes lseek(inode, handle: u64, offset: u64, whence: u32) -> u64;
        reads readlink(inode) -> Vec<u8>;
        reads getxattr(inode, attribute: &CStr, size: u32) -> GetxattrReply;
        reads listxattr(inode, size: u32) -> ListxattrReply;
        reads read(
            inode, handle: u64, out: &mut dyn ZeroCopyWriter, size: u32, offset: u64,
            lock_owner: Option<u64>, flags: u32
        ) -> usize;
        lists opendir(inode, flags: u32) -> (Option<u64>, OpenOptions);
        changes setattr(
            inode, attributes: stat64, handle: Option<u64>, valid: SetattrValid
        ) -> (stat64, Duration);
        changes write(
            inode, handle: u64, bytes: &mut dyn ZeroCopyReader, size: u32, offset: u64,
            lock_owner: Option<u64>, delayed: bool, flags: u32, fuse_flags: u32
        ) -> usize;
        changes fallocate(inode, handle: u64, mode: u32, offset: u64, length: u64) -> ();
        changes setxattr(inode, attribute: &CStr, value: &[u8], flags: u32) -> ();
        changes removexattr(inode, attribute: &CStr) -> ();
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
        if let Some(gate) = &self.gate {
            let path = gate.paths().path(parent, name.to_bytes())?;
            if !gate.shows(&path) {
                return Err(io::Error::from_raw_os_error(libc::ENOENT));
            }
        }
        let found = self.files.lookup(context, parent, name)?;
        Ok(self.given(parent, name, found))
    }

    fn forget(&self, context: &Context, inode: u64, count: u64) {
        if let Some(gate) = &self.gate {
            gate.paths().forgotten(inode, count);
        }
        self.files.forget(context, inode, count);
    }

    fn batch_forget(&self, context: &Context, requests: Vec<(u64, u64)>) {
        if let Some(gate) = &self.gate {
            let mut paths = gate.paths();
            for (inode, count) in &requests {
                paths.forgotten(*inode, *count);
            }
        }
        self.files.batch_forget(context, requests);
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
        self.moves(parent, name)?;
        self.moves(new_parent, new_name)?;
        self.files
            .rename(context, parent, name, new_parent, new_name, flags)?;
        self.renamed((parent, name), (new_parent, new_name), flags);
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
        self.changes_name(parent, name)?;
        let (made, handle, options, passthrough) =
            self.files.create(context, parent, name, arguments)?;
        Ok((self.given(parent, name, made), handle, options, passthrough))
    }

    fn open(
        &self,
        context: &Context,
        inode: u64,
        flags: u32,
        fuse_flags: u32,
    ) -> io::Result<(Option<u64>, OpenOptions, Option<u32>)> {
        match flags & WRITING.unsigned_abs() {
            0 => self.reads(inode)?,
            _ => self.changes(inode)?,
        }
        self.files.open(context, inode, flags, fuse_flags)
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

/// An answer with names of a directory. One without any name means the end of the directory to a guest, so the
/// names after those that are left out are asked for until there is one.
struct Listing {
    /// The place in the directory after the last name that was left out.
    offset: u64,
    passed_over: bool,
    has_names: bool,
}

impl Listing {
    const fn from(offset: u64) -> Self {
        Self {
            offset,
            passed_over: true,
            has_names: false,
        }
    }

    /// Returns true if more names have to be asked for.
    const fn continues(&mut self) -> bool {
        let continues = self.passed_over && !self.has_names;
        self.passed_over = false;
        continues
    }

    const fn add(&mut self) {
        self.has_names = true;
    }

    /// Returns the answer for a name that is left out. 0 would end the listing.
    const fn pass_over(&mut self, next: u64) -> usize {
        self.offset = next;
        self.passed_over = true;
        1
    }
}
