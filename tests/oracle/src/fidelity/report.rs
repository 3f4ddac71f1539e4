use super::after_boot;
use super::row::{Answer, Row};

const HEAD: &str = "\
# Fidelity

Written by `cargo xtask fidelity --record`, from a run in which every row passed; the tests compare.

A row passes when the right tree, the host kernel's mount of msb's artifacts and the guest's own root
(libkrunfw's kernel, overlayfs on EROFS) are equal in every line: path, type, mode, owner, size, time to
the nanosecond, device, link target, hard links, xattrs, SHA-256 of the content (of a file of more than
1 GiB, of its first and its last MiB). The right tree is what
`umoci unpack` makes of the row's layers (*umoci*), or of one plain archive without anything special in
it, that spells the answer out (*spelled out*). A *refused* row ends with an error that names the cause,
and leaves nothing in the store but whole layers.
";

const AFTER_BOOT: &str = "
## After boot

In the guest, by programs that say what they find there.

| what happens | what comes of it |
|---|---|
";

/// Known differences from the kernel's documentation or a suite's run, which are not judged.
const OVERLAY: &str = include_str!("overlay.md");

/// Returns the table as Markdown.
pub(super) fn text(parts: &[(&str, &[Row])]) -> String {
    let mut text = HEAD.to_owned();
    for (heading, rows) in parts {
        text += &format!("\n## {heading}\n\n| case | msb | judged by |\n|---|---|---|\n");
        for row in *rows {
            let judge = match row.answer {
                Answer::Umoci => "umoci".to_owned(),
                Answer::Plain(_) => "spelled out".to_owned(),
                Answer::Refused(words) => format!("refused: \"{words}\""),
            };
            let judge = if row.is_large {
                format!("{judge}, when the table is recorded")
            } else {
                judge
            };
            text += &format!("| {} | {} | {judge} |\n", row.case, row.right);
        }
    }
    text += AFTER_BOOT;
    for check in after_boot::CHECKS.iter().chain(after_boot::PROGRAMS) {
        text += &format!("| {} | {} |\n", check.case, check.right);
    }
    text += "\n";
    text += OVERLAY;
    text
}
