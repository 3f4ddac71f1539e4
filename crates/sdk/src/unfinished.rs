//! Changes of sandboxes whose caller has gone, and removals that go on without one.

pub(crate) use msb_cancellation::{Abandonment, Cleanup, Cleanups, Effect, Unfinished};
