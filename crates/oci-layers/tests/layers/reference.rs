use proptest::prelude::*;
use testkit::strategies::{layers, reference};
use testkit::{Content, TarBuilder, TreeDump};

use crate::fixture::image;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn random_images_are_what_the_reference_says(layers in layers()) {
        let tars = layers.iter().map(|steps| TarBuilder::archive(steps.iter().map(|step| step.entry())));
        let ours = image(&tars.collect::<Vec<_>>());
        let expected = reference(&layers);
        match (ours, expected) {
            (Ok(ours), Some(expected)) => {
                let expected = TreeDump::from_tree(&expected, |bytes| Content::read(bytes.as_slice()))
                    .expect("memory does not fail");
                prop_assert_eq!(ours.differences(&expected), Vec::<String>::new());
            }
            (Err(_), None) => {}
            (Ok(ours), None) => prop_assert!(false, "to be refused:\n{ours}"),
            (Err(reason), Some(_)) => prop_assert!(false, "not to be refused: {reason}"),
        }
    }
}
