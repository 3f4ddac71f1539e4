//! The comparison of what was observed with the list of differences.

use std::collections::BTreeSet;

use super::Observed;
use super::differences::{ABSENT, LIST, Value};

/// Returns the differences that the list does not have, and the entries of the list that match no
/// difference.
pub(super) fn faults(docker: &Observed, msb: &Observed) -> Vec<String> {
    let values: Vec<(&str, &Value)> = LIST
        .iter()
        .flat_map(|each| each.values.iter().map(|value| (each.msb, value)))
        .collect();
    judge(docker, msb, &values)
}

fn judge(docker: &Observed, msb: &Observed, list: &[(&str, &Value)]) -> Vec<String> {
    let mut unlisted: Vec<String> = Vec::new();
    let mut met: BTreeSet<usize> = BTreeSet::new();
    for (case, of_docker) in docker {
        let Some(of_msb) = msb.get(case) else {
            unlisted.push(format!("{case}: not observed under msb"));
            continue;
        };
        let paths: BTreeSet<&String> = of_docker.keys().chain(of_msb.keys()).collect();
        for path in paths {
            let value =
                |values: &super::Values| values.get(path).map_or(ABSENT.to_owned(), String::clone);
            let (left, right) = (value(of_docker), value(of_msb));
            let rows = list.iter().enumerate();
            let covering = rows.filter(|(_, (_, row))| row.covers(case, path, &left, &right));
            let covering: Vec<usize> = covering.map(|(number, _)| number).collect();
            met.extend(&covering);
            if left != right && covering.is_empty() {
                unlisted.push(format!("{case}: {path}: docker {left:?}, msb {right:?}"));
            }
        }
    }
    let gone = list
        .iter()
        .enumerate()
        .filter(|(row, _)| !met.contains(row));
    unlisted.extend(
        gone.map(|(_, (reason, row))| format!("listed and not seen: {row:?}, because {reason}")),
    );
    unlisted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observed(values: &[(&str, &str)]) -> Observed {
        let values = values
            .iter()
            .map(|(path, value)| (String::from(*path), String::from(*value)));
        [("run", values.collect())].into()
    }

    const ROW: Value = Value {
        case: "*",
        path: "file./*",
        docker: "a*",
        msb: "b",
    };

    #[test]
    fn an_unlisted_difference_is_a_fault() {
        let [docker, msb] = ["1", "2"].map(|value| observed(&[("umask", value)]));
        assert_eq!(judge(&docker, &docker, &[]), [""; 0]);
        let expected = "run: umask: docker \"1\", msb \"2\"";
        assert_eq!(judge(&docker, &msb, &[]), [expected]);
        let expected = "run: umask: docker \"1\", msb \"(absent)\"";
        assert_eq!(judge(&docker, &observed(&[]), &[]), [expected]);
    }

    #[test]
    fn a_listed_difference_has_to_exist() {
        let [docker, msb] = ["ax", "b"].map(|value| observed(&[("file./etc", value)]));
        assert_eq!(judge(&docker, &msb, &[("", &ROW)]), [""; 0]);
        let faults = judge(&msb, &msb, &[("", &ROW)]);
        assert!(faults[0].starts_with("listed and not seen"), "{faults:?}");
        assert_eq!(faults.len(), 1);
    }

    #[test]
    fn a_listed_difference_has_the_values_that_are_listed() {
        let [docker, msb] = ["ax", "c"].map(|value| observed(&[("file./etc", value)]));
        assert_eq!(judge(&docker, &msb, &[("", &ROW)]).len(), 2);
    }
}
