/// Text that matches anything: any lines if it is alone on a line, any characters within a line.
const ANYTHING: &str = "...";

/// Returns true if a command's output matches the output that a guide shows.
pub(crate) fn matches(expected: &[String], output: &str) -> bool {
    let lines: Vec<&str> = output.lines().collect();
    lines_match(expected, &lines)
}

fn lines_match(expected: &[String], lines: &[&str]) -> bool {
    match expected.split_first() {
        None => lines.is_empty(),
        Some((first, rest)) if first.trim() == ANYTHING => {
            (0..=lines.len()).any(|skipped| lines_match(rest, &lines[skipped..]))
        }
        Some((first, rest)) => lines
            .split_first()
            .is_some_and(|(line, more)| line_matches(first, line) && lines_match(rest, more)),
    }
}

/// Returns true if the lines match without trailing blanks, which a reader does not see.
fn line_matches(expected: &str, line: &str) -> bool {
    let line = line.trim_end();
    let mut parts = expected.trim_end().split(ANYTHING);
    let Some(mut rest) = parts.next().and_then(|first| line.strip_prefix(first)) else {
        return false;
    };
    let mut last = None;
    for part in parts {
        if let Some(middle) = last.replace(part) {
            let Some((_, after)) = rest.split_once(middle) else {
                return false;
            };
            rest = after;
        }
    }
    last.map_or(rest.is_empty(), |end| rest.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_compared_but_for_what_stands_for_anything() {
        let cases: [(&[&str], &str, bool); 12] = [
            (&["42"], "42\n", true),
            (&["42"], "43\n", false),
            (&["42"], "42\n43\n", false),
            (&["a  "], "a\n", true),
            (&[], "", true),
            (&["..."], "", true),
            (&["first", "...", "last"], "first\na\nb\nlast\n", true),
            (&["first", "...", "last"], "first\na\nb\n", false),
            (&["6.12... on ...86_64"], "6.12.9 on x86_64\n", true),
            (&["6.12... on ...86_64"], "6.13.9 on x86_64\n", false),
            (&["a...b...c"], "abxc\n", true),
            (&["a...b"], "ab b\n", true),
        ];
        for (expected, output, same) in cases {
            let expected: Vec<String> = expected.iter().map(|&line| line.to_owned()).collect();
            assert_eq!(matches(&expected, output), same, "{expected:?} {output:?}");
        }
    }
}
