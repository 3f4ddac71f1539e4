//! The line of a file as `ls -l` prints it, which clients show to their users.

use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{FileType, Stat};

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];
const DAY_S: i64 = 24 * 60 * 60;
/// The age at which a file's time of day gives way to the year, as in `ls`.
const HALF_A_YEAR_S: i64 = 365 * DAY_S / 2;

/// Returns the line of a file. User and group are numbers, and the time is UTC.
pub(crate) fn long_name(name: &[u8], stat: &Stat) -> Vec<u8> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now_s = now.map_or(0, |now| i64::try_from(now.as_secs()).unwrap_or(i64::MAX));
    let (mode, date) = (mode(stat), date(stat.st_mtime, now_s));
    let (links, user, group, size) = (stat.st_nlink, stat.st_uid, stat.st_gid, stat.st_size);
    let mut line = format!("{mode} {links:>4} {user:<8} {group:<8} {size:>8} {date} ").into_bytes();
    line.extend(name);
    line
}

/// Returns the type and the permissions as ten letters.
fn mode(stat: &Stat) -> String {
    let bit = |bit: u32| stat.st_mode & bit != 0;
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => '-',
        FileType::Directory => 'd',
        FileType::Symlink => 'l',
        FileType::Fifo => 'p',
        FileType::Socket => 's',
        FileType::CharacterDevice => 'c',
        FileType::BlockDevice => 'b',
        FileType::Unknown => '?',
    };
    let mut letters = String::from(kind);
    // The bits of the owner, the group and others, with the bit that the execute letter shows too.
    for (shift, special, letter) in [(6, 0o4000, 's'), (3, 0o2000, 's'), (0, 0o1000, 't')] {
        letters.push(if bit(4 << shift) { 'r' } else { '-' });
        letters.push(if bit(2 << shift) { 'w' } else { '-' });
        letters.push(match (bit(special), bit(1 << shift)) {
            (false, false) => '-',
            (false, true) => 'x',
            (true, true) => letter,
            (true, false) => letter.to_ascii_uppercase(),
        });
    }
    letters
}

fn date(time_s: i64, now_s: i64) -> String {
    let (year, month, day) = civil(time_s.div_euclid(DAY_S));
    let month = MONTHS.get(month).copied().unwrap_or("???");
    let age_s = now_s.saturating_sub(time_s);
    if (0..HALF_A_YEAR_S).contains(&age_s) {
        let minutes = time_s.rem_euclid(DAY_S) / 60;
        return format!("{month} {day:>2} {:02}:{:02}", minutes / 60, minutes % 60);
    }
    format!("{month} {day:>2} {year:>5}")
}

/// Returns the year, the month from 0 and the day from 1 of a day since the epoch, in the Gregorian calendar.
fn civil(day: i64) -> (i64, usize, i64) {
    // Years begin in March here, so that the leap day is the last one.
    let day = day.saturating_add(719_468);
    let era = day.div_euclid(146_097);
    let of_era = day.rem_euclid(146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let march_month = (5 * of_year + 2) / 153;
    let day_of_month = of_year - (153 * march_month + 2) / 5 + 1;
    let month = usize::try_from((march_month + 2) % 12).unwrap_or_default();
    let year = year + era * 400 + i64::from(month < 2);
    (year, month, day_of_month)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_date() {
        // Each was printed by `date -u -d @SECONDS`.
        let now_s = 1_750_000_000;
        for (time_s, expected) in [
            (1_749_999_999, "Jun 15 15:06"),
            (1_740_000_000, "Feb 19 21:20"),
            (0, "Jan  1  1970"),
            (951_782_400, "Feb 29  2000"),
            (4_102_444_800, "Jan  1  2100"),
            (-1, "Dec 31  1969"),
        ] {
            assert_eq!(date(time_s, now_s), expected, "{time_s}");
        }
        date(i64::MAX, i64::MIN);
        date(i64::MIN, i64::MAX);
    }

    #[test]
    fn a_line_has_the_letters_of_ls() {
        let mut stat = rustix::fs::stat("/").expect("the root");
        for (bits, letters) in [
            (0o040_755, "drwxr-xr-x"),
            (0o100_644, "-rw-r--r--"),
            (0o041_777, "drwxrwxrwt"),
            (0o104_655, "-rwSr-xr-x"),
            (0o120_777, "lrwxrwxrwx"),
        ] {
            stat.st_mode = bits;
            assert_eq!(mode(&stat), letters);
        }
        let line = long_name(b"a b", &stat);
        assert!(line.starts_with(b"lrwxrwxrwx ") && line.ends_with(b" a b"));
    }
}
