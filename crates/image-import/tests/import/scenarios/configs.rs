//! Configs that do not match their layers.

use serde_json::{Value, json};

use super::{is_config, play, pulled_content, refused, refused_content, sample};
use crate::images::TestImage;
use crate::server::{Answer, Content};

/// Returns the sample with one change to its config, and a manifest that matches the config.
fn changed(change: impl FnOnce(&mut Value)) -> Content {
    let mut config = serde_json::from_slice(&sample().config).expect("a config");
    change(&mut config);
    Content::from_image(&TestImage::with_config(sample().layers.clone(), &config))
}

fn diff_ids(change: impl FnOnce(&mut Vec<Value>)) -> Content {
    changed(|config| {
        change(config["rootfs"]["diff_ids"].as_array_mut().expect("a list"));
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn configs_are_checked_against_manifest_and_layers() {
    let other = format!("sha256:{}", "0".repeat(64));
    play(vec![
        refused("an endless config", "more than", |request, honest, _| {
            if is_config(request) {
                honest.endless()
            } else {
                honest
            }
        }),
        refused(
            "another config",
            "the config has digest",
            |request, mut honest, _| {
                if is_config(request) {
                    honest.body[10] ^= 1;
                }
                honest
            },
        ),
        refused("no config", "has no config", |request, honest, _| {
            if is_config(request) {
                Answer::new(404, "")
            } else {
                honest
            }
        }),
        refused_content(
            "too few diff IDs",
            "1 diff IDs for 2 layers",
            diff_ids(|ids| drop(ids.pop())),
        ),
        refused_content(
            "too many diff IDs",
            "3 diff IDs for 2 layers",
            diff_ids(|ids| ids.push(ids[0].clone())),
        ),
        refused_content(
            "swapped diff IDs",
            "diff ID is",
            diff_ids(|ids| ids.swap(0, 1)),
        ),
        refused_content(
            "a wrong diff ID",
            "diff ID is sha256:000",
            diff_ids(|ids| ids[0] = json!(other)),
        ),
        refused_content(
            "the same diff ID twice",
            "diff ID is",
            diff_ids(|ids| ids[1] = ids[0].clone()),
        ),
        refused_content(
            "a diff ID in capitals",
            "is not sha256:",
            diff_ids(|ids| {
                ids[0] = json!(
                    ids[0]
                        .as_str()
                        .expect("text")
                        .to_uppercase()
                        .replace("SHA", "sha")
                );
            }),
        ),
        refused_content(
            "a diff ID that climbs",
            "is not sha256:",
            diff_ids(|ids| ids[0] = json!("sha256:../../x")),
        ),
        refused_content(
            "no rootfs",
            "0 diff IDs for 2 layers",
            changed(|config| config["rootfs"] = json!(null)),
        ),
        refused_content(
            "another platform",
            "no image for platform",
            changed(|config| config["architecture"] = json!("s390x")),
        ),
        pulled_content(
            "no platform",
            changed(|config| {
                config["architecture"] = json!("");
                config["os"] = json!("");
            }),
        ),
        refused_content(
            "a platform with escapes",
            "\\u{1b}[2J",
            changed(|config| config["architecture"] = json!("\u{1b}[2J")),
        ),
        pulled_content(
            "nothing to run",
            changed(|config| config["config"] = json!(null)),
        ),
        refused_content(
            "an environment that is a number",
            "cannot parse",
            changed(|config| config["config"]["Env"] = json!(5)),
        ),
        pulled_content(
            "labels in the thousands",
            changed(|config| {
                let labels = (0..5000).map(|n| (format!("label-{n}"), json!("x".repeat(100))));
                config["config"]["Labels"] = Value::Object(labels.collect());
            }),
        ),
    ])
    .await;
}
