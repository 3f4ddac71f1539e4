use std::time::Duration;

use super::*;

fn settings(network: Network) -> Settings {
    let mut template = SandboxOptions::default();
    template.network = network;
    template.memory = Some(Size::new(2 << 30));
    template.cpus = Some(2);
    Settings {
        template,
        ..Settings::default()
    }
}

fn wanted(image: &str) -> Wanted {
    Wanted {
        image: Some(image.to_owned()),
        ..Wanted::default()
    }
}

#[test]
fn a_client_chooses_among_the_images_of_its_user() {
    let mut settings = settings(Network::outbound());
    let image = |settings: &Settings, wanted: &Wanted| {
        of(settings, wanted, &[]).map(|options| options.image)
    };
    let any = image(&settings, &wanted("evil.example/x")).expect("any image");
    assert_eq!(any, "evil.example/x");
    assert!(image(&settings, &Wanted::default()).is_err());
    settings.images = vec!["debian".to_owned(), "alpine".to_owned()];
    let first = image(&settings, &Wanted::default()).expect("the default");
    assert_eq!(first, "debian");
    let second = image(&settings, &wanted("alpine")).expect("one of them");
    assert_eq!(second, "alpine");
    let refused = image(&settings, &wanted("alpine:edge\n")).expect_err("another one");
    assert_eq!(
        refused.text(),
        "'alpine:edge\\n' is not one of the images of this session\nkind: invalid-argument\n\
         hint: use one of: debian, alpine"
    );
}

#[test]
fn no_client_widens_the_network() {
    let modes = [Reach::None, Reach::Listed, Reach::Outbound];
    let sets = [
        Network::none(),
        Network::listed().allow("a.example"),
        Network::outbound().deny("b.example"),
    ];
    for (most, set) in modes.iter().zip(&sets) {
        let settings = settings(set.clone());
        for reach in modes {
            let mut wanted = wanted("debian");
            wanted.network = Some(reach);
            let options = of(&settings, &wanted, &[]);
            if reach > *most {
                assert!(options.is_err(), "{reach:?} of {most:?}");
                continue;
            }
            let network = options.expect("narrower").network;
            let mode = match reach {
                Reach::None => NetworkMode::None,
                Reach::Listed => NetworkMode::Listed,
                Reach::Outbound => NetworkMode::Outbound,
            };
            assert_eq!(network.mode, mode, "{reach:?} of {most:?}");
            if reach == Reach::None {
                assert!(network.allow.is_empty() && network.deny.is_empty());
            } else {
                assert_eq!((&network.allow, &network.deny), (&set.allow, &set.deny));
            }
        }
    }
}

#[test]
fn a_sandbox_without_a_network_publishes_nothing() {
    let mut settings = settings(Network::outbound());
    settings.template.publish_all = true;
    let mut wanted = wanted("debian");
    wanted.network = Some(Reach::None);
    let options = of(&settings, &wanted, &[]).expect("narrower");
    assert!(!options.publish_all && options.ports.is_empty());
}

#[test]
fn a_client_lowers_memory_and_processors_only() {
    let settings = settings(Network::outbound());
    let with = |memory_mib, cpus| {
        let mut wanted = wanted("debian");
        (wanted.memory_mib, wanted.cpus) = (memory_mib, cpus);
        of(&settings, &wanted, &[]).map(|options| (options.memory, options.cpus))
    };
    let whole = (Some(Size::new(2 << 30)), Some(2));
    assert_eq!(with(None, None), Ok(whole));
    let lower = (Some(Size::new(512 << 20)), Some(1));
    assert_eq!(with(Some(512), Some(1)), Ok(lower));
    assert!(with(Some(2049), None).is_err());
    assert!(with(Some(u64::MAX), None).is_err());
    assert!(with(None, Some(3)).is_err());
}

#[test]
fn staged_directories_are_at_work() {
    let settings = settings(Network::outbound());
    let staged = |directories: &[&str]| {
        let directories: Vec<PathBuf> = directories.iter().map(PathBuf::from).collect();
        let options = of(&settings, &wanted("debian"), &directories).expect("good");
        let targets = options.mounts.iter().map(|mount| mount.target.clone());
        (options.cwd.clone(), targets.collect::<Vec<_>>())
    };
    assert_eq!(staged(&[]), (None, Vec::new()));
    let work = Some(WORK.to_owned());
    assert_eq!(staged(&["/srv/a"]), (work.clone(), vec![WORK.to_owned()]));
    let (_, targets) = staged(&["/srv/a", "/opt/a", "/opt/b c", "/x/.."]);
    let expected = ["/work/a", "/work/a-2", "/work/bc", "/work/root"];
    assert_eq!(targets, expected);
}

#[test]
fn a_sandbox_that_is_left_stops_after_a_time_without_use() {
    let mut settings = settings(Network::outbound());
    settings.idle_timeout = Duration::from_secs(90);
    let idle = |settings: &Settings| {
        let options = of(settings, &wanted("debian"), &[]).expect("good");
        assert!(options.command.is_none());
        options.idle_timeout_ms
    };
    assert_eq!(idle(&settings), Some(90_000));
    settings.removes = true;
    assert_eq!(idle(&settings), None);
}
