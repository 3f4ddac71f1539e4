//! Notices about the directories that a new sandbox has staged.

use msb_runtime::StagingNotices;

use crate::Notice;

/// Returns the notices about staged directories.
pub(super) fn notices(found: &StagingNotices) -> impl Iterator<Item = Notice> {
    let messages = found.messages().into_iter();
    messages.map(|(code, message)| Notice::new(code, message))
}
