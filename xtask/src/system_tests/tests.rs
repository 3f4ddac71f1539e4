use super::*;

fn call(line: &[&str]) -> Call {
    let tests = TESTS.iter().find(|tests| tests.recipe == line[0]).unwrap();
    let matches = command(tests).try_get_matches_from(line).unwrap();
    Call::new(tests, &matches)
}

#[test]
fn an_option_is_a_variable_or_a_part_of_a_name() {
    let flips = call(&["flips"]);
    assert_eq!(flips.filter, "flips::");
    assert_eq!(flips.variables, [("MSB_TEST_COUNT", "1000".into())]);
    let checks = call(&["checks", "--vmm", "krun", "--part", "machine"]);
    assert_eq!(checks.filter, "checks::machine::");
    assert_eq!(checks.variables, [("MSB_TEST_VMM", "krun".into())]);
    let words = call(&["checks", "--only", "one writer's at a time"]);
    assert_eq!(words.filter, "one_writers_at_a_time");
    let row = call(&["fidelity", "--row", "uid-33"]);
    assert_eq!(
        (row.filter.as_str(), row.with_long),
        ("fidelity::uid-33", true)
    );
    let sequences = call(&["engines", "--sequences", "7"]);
    assert_eq!(sequences.filter, "engines::random");
    let fleet = call(&["fleet", "ctr", "--vmm", "krun"]);
    assert_eq!(fleet.filter, "ctr::");
    assert_eq!(fleet.variables, [("MSB_TEST_VMM", "krun".into())]);
}

#[test]
fn every_recipe_can_be_asked_for_its_help() {
    for command in commands() {
        command.debug_assert();
    }
}
