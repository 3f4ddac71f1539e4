//! Recipes in the text of a document.

/// Words that stand for others: a line with one of them is a form, not a recipe.
const FORMS: [&str; 10] = [
    "NAME",
    "CRATE",
    "RECIPE",
    "COMMAND",
    "CMD...",
    "WORDS",
    "IMAGE",
    "DIRECTORY",
    "DESCRIPTOR",
    "DIR",
];

/// Returns the lines of a document's code, in spans and in blocks, that are recipes of cargo: tests and xtask.
pub(super) fn of(text: &str) -> Vec<String> {
    let mut recipes = Vec::new();
    let mut in_block = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        } else if in_block {
            recipes.extend(recipe(line.trim_start().trim_start_matches("$ ")));
        } else {
            recipes.extend(line.split('`').skip(1).step_by(2).filter_map(recipe));
        }
    }
    recipes
}

/// Returns the recipe of a line of code, if it is one.
fn recipe(code: &str) -> Option<String> {
    let code = code.split(" # ").next().unwrap_or(code);
    let words: Vec<_> = code.split_whitespace().collect();
    let is_recipe = match words.as_slice() {
        ["cargo", "xtask", recipe, ..] => {
            recipe.starts_with(|first: char| first.is_ascii_lowercase())
        }
        ["cargo", "test", "-p", ..] => true,
        _ => false,
    };
    let is_form = words.iter().any(|word| FORMS.contains(word));
    let is_shell = code.contains(['|', '$', '(', ')', '&', '<', '>', ';']);
    (is_recipe && !is_form && !is_shell).then(|| words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recipes_are_found_in_spans_and_blocks() {
        let text = "Run `cargo test -p vmdk` or `cargo xtask flips --count N`.\n\
                    ```sh\n$ cargo xtask demo      # build\ncargo build\n```\n`cargo xtask` runs recipes.\n";
        let found = of(text);
        assert_eq!(
            found,
            [
                "cargo test -p vmdk",
                "cargo xtask flips --count N",
                "cargo xtask demo"
            ]
        );
    }

    #[test]
    fn forms_and_lines_of_a_shell_are_no_recipes() {
        let text = "`cargo test -p CRATE`, `cargo xtask RECIPE --help`, `cargo xtask engines --archives DIR`, \
                    `cargo xtask kernel | cat`, `cargo xtask lab -- COMMAND`";
        assert_eq!(of(text), [""; 0]);
    }
}
