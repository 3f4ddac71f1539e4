//! New files that take their places.

use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, unlinkat};
use rustix::io::Errno;

use super::exchange::{Exchange, Seen};
use super::{Ended, Finisher, Now, stat};
use crate::ApplyError;
use crate::host_directory::split;
use crate::host_file::HostState;
use crate::pending::Place;
use crate::unfinished::FileIdentity;

impl Finisher<'_> {
    /// Returns true if the new file of a step is neither under its other name nor in its place.
    pub(super) fn is_lost(&self, path: &[u8], place: &Place) -> Result<bool, ApplyError> {
        let failed = self.directory.failed("find", path);
        let Some(from) = self.open(&place.waiting.above)? else {
            // The host had a directory there.
            return Ok(true);
        };
        let Some(to) = self.open(split(path).0)? else {
            // The directories of its place are not made yet.
            let waiting = stat(&from, &place.waiting.name).map_err(failed)?;
            return Ok(waiting.is_none());
        };
        let exchange = exchange((&from, &to), path, place);
        let seen = exchange.look().map_err(failed)?;
        Ok(matches!(seen, Seen::Lost | Seen::Replaced))
    }

    /// Puts a new file in its place.
    pub(super) fn place(&mut self, path: &[u8], place: &Place) -> Result<Ended, ApplyError> {
        let Some(to) = self.parent(path)? else {
            if let Some(from) = self.open(&place.waiting.above)? {
                self.remove_waiting(&from, place);
            }
            return Ok(Ended::Left(None));
        };
        // Mostly it waits beside its place.
        let from = if place.waiting.above == split(path).0 {
            None
        } else {
            let from = self.open(&place.waiting.above)?;
            if from.is_none() {
                return Ok(Ended::Left(None));
            }
            from
        };
        let exchange = exchange((from.as_ref().unwrap_or(&to), &to), path, place);
        let ended = if self.is_resumed {
            self.resume_place(&exchange, path, place)?
        } else {
            None
        };
        let ended = match ended {
            Some(ended) => ended,
            None => self.put(&exchange, path, place)?,
        };
        self.unfinished.forget(path);
        Ok(ended)
    }

    /// Ends what a process that was killed began; `None` if the file waits for its place.
    fn resume_place(
        &self,
        exchange: &Exchange<'_>,
        path: &[u8],
        place: &Place,
    ) -> Result<Option<Ended>, ApplyError> {
        let seen = exchange
            .look()
            .map_err(self.directory.failed("find", path))?;
        let ended = match (seen, &place.host) {
            (Seen::Waiting, _) => return Ok(None),
            (Seen::Done, _) => Ended::Done,
            (Seen::Lost, _) => Ended::Left(None),
            (Seen::Exchanged, Some(planned)) => exchange
                .settle(planned)
                .map_err(self.directory.failed("replace", path))?,
            (Seen::Exchanged | Seen::Replaced, planned) => {
                let old = stat(exchange.from, exchange.other).ok().flatten();
                let is_planned =
                    old.is_some_and(|old| Some(&HostState::new(&old)) == planned.as_ref());
                // The host has a newer file in the place of the new one.
                if is_planned {
                    exchange.leave()
                } else {
                    exchange.keep()
                }
            }
        };
        Ok(Some(ended))
    }

    fn put(
        &mut self,
        exchange: &Exchange<'_>,
        path: &[u8],
        place: &Place,
    ) -> Result<Ended, ApplyError> {
        let host = match (
            self.now(exchange.to, path, place.host.as_ref())?,
            &place.host,
        ) {
            (Now::Missing, None) => None,
            (Now::Planned(stat), _) => Some(stat),
            (Now::Missing | Now::Other, _) => return Ok(exchange.leave()),
        };
        let keeps = host.as_ref().filter(|_| place.keeps_attributes);
        self.set_attributes(exchange, path, (&place.attributes, keeps, host.as_ref()))?;
        let ended = match &place.host {
            Some(planned) => exchange.replace(planned),
            None => exchange.add(),
        };
        ended.map_err(self.directory.failed("replace", path))
    }

    /// Removes a new file that has no place.
    fn remove_waiting(&self, from: &OwnedFd, place: &Place) {
        let waiting = stat(from, &place.waiting.name).ok().flatten();
        if waiting.is_some_and(|stat| FileIdentity::new(&stat) == place.waiting.identity) {
            let _ = unlinkat(from, &place.waiting.name[..], AtFlags::empty());
        }
    }

    /// Opens a directory. `None` if it does not exist, or is finished and keeps its owner out.
    fn open(&self, path: &[u8]) -> Result<Option<OwnedFd>, ApplyError> {
        match self.directory.open_directory(path) {
            Ok(open) => Ok(Some(open)),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
            Err(Errno::ACCESS) if self.is_resumed => Ok(None),
            Err(error) => Err(self.directory.failed("open", path)(error)),
        }
    }
}

fn exchange<'a>(
    (from, to): (&'a OwnedFd, &'a OwnedFd),
    path: &'a [u8],
    place: &'a Place,
) -> Exchange<'a> {
    Exchange {
        from,
        other: &place.waiting.name,
        to,
        name: split(path).1,
        identity: place.waiting.identity,
    }
}
