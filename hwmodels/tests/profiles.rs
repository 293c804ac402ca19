//! Profiles: what is read, what is refused and how, what is taken over, what is printed.

use ascsim_hwmodels::{Catalogue, Kind, Model, ParameterId, Profile, Selection};
use expect_test::{Expect, expect};

fn catalogue() -> Catalogue {
    Catalogue::built_in().expect("the built-in profiles are valid")
}

fn model(chip: Option<&str>, machine: &str) -> Model {
    let selection = Selection {
        chip: chip.map(str::to_owned),
        machine: machine.to_owned(),
        ..Selection::default()
    };
    Model::new(&catalogue(), &selection).expect("the built-in profiles are complete")
}

/// What is said about a user's profile: reading it, adding it, resolving it.
fn refusal(text: &str, expected: Expect) {
    let mut catalogue = catalogue();
    let outcome = Profile::read("mine.toml", text).and_then(|profile| {
        let name = profile.name.clone();
        catalogue.add(profile)?;
        catalogue.resolve(&name)
    });
    let error = outcome.expect_err("the profile is refused");
    expected.assert_eq(&error.to_string());
}

const HEAD: &str =
    "name = \"mine\"\nkind = \"chip\"\nabout = \"mine\"\nextends = \"910c-752t\"\n[chip]\n";

fn number(field: &str, fields: &str) -> String {
    format!("{HEAD}{field} = {{ {fields} }}\n")
}

#[test]
fn unknown_fields_are_refused_by_name_and_place() {
    refusal(
        &number("aiz", "value = 1"),
        expect!["mine.toml:6:1: unknown field `chip.aiz`; did you mean `chip.aic`?"],
    );
    refusal(
        "name = \"mine\"\nkind = \"chip\"\nabuot = \"x\"\n",
        expect!["mine.toml:3:1: unknown field `abuot`; did you mean `about`?"],
    );
    refusal(
        &number("aic", "value = 1, unit = \"cores\", low = 1, hihg = 1"),
        expect!["mine.toml:6:45: unknown field `hihg`; did you mean `high`?"],
    );
    refusal(
        "name = \"m\"\nkind = \"machine\"\nabout = \"m\"\n[links]\nmoon = \"ub\"\n",
        expect!["mine.toml:5:1: unknown field `moon`; did you mean `pod`?"],
    );
}

#[test]
fn missing_fields_are_named() {
    refusal(
        "about = \"x\"\n",
        expect![
            "mine.toml: missing `kind`; give them, or name a profile in `extends` that has them"
        ],
    );
    refusal(
        "kind = \"link\"\nabout = \"x\"\n",
        expect![
            "mine.toml: missing `name`; give them, or name a profile in `extends` that has them"
        ],
    );
    refusal(
        "name = \"mine\"\nkind = \"link\"\nabout = \"x\"\n[link]\nlatency_us = { value = 1, unit = \"us\", low = 1, high = 1, confidence = \"assumed\", source = \"me\" }\n",
        expect![
            "mine.toml: missing `link.bytes_per_s`, `link.achieved_bytes_per_s`; give them, or name a profile in `extends` that has them"
        ],
    );
    refusal(
        "name = \"mine\"\nkind = \"machine\"\nabout = \"x\"\n",
        expect![
            "mine.toml: missing `chip`, `links.package`, `links.server`, `links.pod`, `links.cluster`, `links.host`, `machine.dies_per_package`, `machine.packages_per_server`, `machine.servers_per_pod`; give them, or name a profile in `extends` that has them"
        ],
    );
    refusal(
        &number(
            "aic",
            "value = 1, unit = \"cores\", low = 1, high = 1, source = \"me\"",
        ),
        expect![
            "mine.toml:6:7: `chip.aic` has no `confidence`; every number is a table { value, unit, low, high, confidence, source }"
        ],
    );
    refusal(
        &format!("{HEAD}aic = 24\n"),
        expect![
            "mine.toml:6:7: `chip.aic` has no `unit`; every number is a table { value, unit, low, high, confidence, source }"
        ],
    );
}

#[test]
fn numbers_that_cannot_be_are_refused() {
    let rest = "confidence = \"assumed\", source = \"me\"";
    refusal(
        &number(
            "aic",
            &format!("value = 24, unit = \"us\", low = 24, high = 24, {rest}"),
        ),
        expect!["mine.toml:6:28: `chip.aic` is in `us`; give it in `cores`"],
    );
    refusal(
        &number(
            "aic",
            &format!("value = 24, unit = \"GB/s\", low = 24, high = 24, {rest}"),
        ),
        expect![
            "mine.toml:6:28: `unit` cannot be `GB/s`; it is one of cores, count, bytes, bytes/s, ops/s, hz, us, ratio"
        ],
    );
    refusal(
        &number(
            "aic",
            &format!("value = 25, unit = \"cores\", low = 20, high = 24, {rest}"),
        ),
        expect!["mine.toml:6:7: the value 25 of `chip.aic` is outside its range 20 to 24"],
    );
    refusal(
        &number(
            "cube_hz",
            &format!("value = 1e9, unit = \"hz\", low = 1e9, high = inf, {rest}"),
        ),
        expect!["mine.toml:6:57: `chip.cube_hz.high` is not a finite number"],
    );
    refusal(
        &number(
            "cube_hz",
            &format!("value = nan, unit = \"hz\", low = 1e9, high = 1e9, {rest}"),
        ),
        expect!["mine.toml:6:21: `chip.cube_hz.value` is not a finite number"],
    );
    refusal(
        &number(
            "cube_hz",
            &format!("value = 1e9, unit = \"hz\", low = 0, high = 1e9, {rest}"),
        ),
        expect!["mine.toml:6:45: `chip.cube_hz.low` is 0, but a rate is greater than 0"],
    );
    refusal(
        &number(
            "aic",
            &format!("value = 2.5, unit = \"cores\", low = 2, high = 3, {rest}"),
        ),
        expect![
            "mine.toml:6:17: `chip.aic.value` is 2.5, but cores, counts and bytes are whole numbers from 0"
        ],
    );
    refusal(
        &number(
            "cmo_fixed_us",
            &format!("value = 1, unit = \"us\", low = -1, high = 3, {rest}"),
        ),
        expect!["mine.toml:6:48: `chip.cmo_fixed_us.low` is -1, but a time is not negative"],
    );
    refusal(
        &number(
            "aic",
            "value = \"24\", unit = \"cores\", low = 2, high = 30, confidence = \"assumed\", source = \"me\"",
        ),
        expect!["mine.toml:6:17: `chip.aic.value` must be a decimal number"],
    );
    refusal(
        &number(
            "aic",
            "value = 24, unit = \"cores\", low = 24, high = 24, confidence = \"sure\", source = \"me\"",
        ),
        expect![
            "mine.toml:6:71: `confidence` cannot be `sure`; it is one of official, pull_request, paper, measured, blog, inferred, assumed"
        ],
    );
    refusal(
        &number(
            "aic",
            "value = 24, unit = \"cores\", low = 24, high = 24, confidence = \"official\", source = \" \"",
        ),
        expect!["mine.toml:6:7: `chip.aic` has an empty source; say where the number comes from"],
    );
}

#[test]
fn broken_files_and_references_are_refused() {
    refusal(
        "name = \n",
        expect!["mine.toml:1:8: string values must be quoted, expected literal string"],
    );
    refusal(
        "name = \"mine\"\nkind = \"plane\"\n",
        expect!["mine.toml:2:8: `kind` cannot be `plane`; it is one of chip, link, machine, stack"],
    );
    refusal(
        "name = \"mine\"\nkind = \"chip\"\nabout = \"x\"\nextends = \"910x\"\n",
        expect![
            "mine.toml names the chip profile `910x`, which does not exist; there are 910b1, 910b2, 910b3, 910b4, 910c-560t, 910c-752t"
        ],
    );
    refusal(
        "name = \"mine\"\nkind = \"chip\"\nabout = \"x\"\nextends = \"mine\"\n",
        expect!["mine.toml: `mine` extends itself: mine -> mine"],
    );
    refusal(
        "name = \"sio\"\nkind = \"link\"\nabout = \"x\"\n",
        expect![
            "mine.toml: there is a profile `sio` already; choose another name (it may extend that one)"
        ],
    );
}

#[test]
fn a_user_profile_overrides_single_numbers() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("mine.toml");
    let text = number(
        "hbm_read_bytes_per_s",
        "value = 1.2e12, unit = \"bytes/s\", low = 1.1e12, high = 1.3e12, confidence = \"measured\", source = \"my bench\"",
    );
    std::fs::write(&path, text).expect("the file can be written");
    let mut catalogue = catalogue();
    let name = catalogue.add_file(&path).expect("the profile is valid");
    let selection = Selection {
        chip: Some(name),
        ..Selection::default()
    };
    let mine = Model::new(&catalogue, &selection).expect("the profile is complete");
    let base = model(None, "a3-server");
    let differing: Vec<_> = mine
        .parameters()
        .filter(|&(id, parameter)| parameter != base.parameter(id))
        .map(|(id, _)| id)
        .collect();
    assert_eq!(differing, [ParameterId::ChipHbmRead]);
    assert_eq!(mine.parameter(ParameterId::ChipHbmRead).source, "my bench");

    let error = catalogue
        .add_file(&folder.path().join("none.toml"))
        .expect_err("there is no such file");
    assert!(error.to_string().starts_with("cannot read "), "{error}");
}

#[test]
fn every_built_in_profile_resolves_and_every_number_has_a_source() {
    let catalogue = catalogue();
    let mut kinds = std::collections::BTreeSet::new();
    for profile in catalogue.profiles() {
        let resolved = catalogue.resolve(&profile.name).expect("it is complete");
        kinds.insert(resolved.kind);
        for (name, number) in &resolved.parameters {
            assert!(number.source.len() > 5, "{name}: {}", number.source);
            assert!(
                number.measured || number.low < number.high,
                "{}: {name} is a guess without a range",
                profile.name
            );
        }
    }
    assert_eq!(kinds.len(), Kind::ALL.len());
}

#[test]
fn parameter_names_are_unique_and_found() {
    for &id in ParameterId::ALL {
        assert_eq!(ParameterId::parse(id.name()), Some(id));
        assert!(id.about().ends_with('.'), "{id}");
    }
}

#[test]
fn limits_come_from_chip_and_runtime() {
    let limits = model(None, "a3-server").limits();
    let expected = ascsim_schedules::Limits {
        l2_bytes: 192 << 20,
        ..ascsim_schedules::Limits::default()
    };
    assert_eq!(limits, expected);
    let small = model(Some("910c-560t"), "a3-server").limits();
    assert_eq!((small.aic, small.aiv), (20, 40));
    assert_eq!(model(None, "a2-server").limits().aiv, 40);
}

#[test]
fn machines_bring_their_links() {
    let a3 = model(None, "cloudmatrix384");
    let value = |name: &str| a3.parameter_by_name(name).expect("it exists").value;
    let dies = value("machine.dies_per_package")
        * value("machine.packages_per_server")
        * value("machine.servers_per_pod");
    assert_eq!(dies, 768.0);
    assert_eq!(value("link.package.achieved_bytes_per_s"), 110.7e9);
    assert_eq!(value("link.server.achieved_bytes_per_s"), 98.6e9);
    assert_eq!(value("link.cluster.bytes_per_s"), 24.5e9);
}

#[test]
fn samples_are_reproducible_and_inside_the_ranges() {
    let model = model(None, "a3-server");
    let draw = |id: ParameterId| (id.index() * 37 % 101) as f64 / 100.0;
    let sample = model.sample(draw);
    assert_eq!(sample, model.sample(draw));
    assert_ne!(sample, model.values());
    for (id, parameter) in model.parameters() {
        let value = sample.get(id);
        assert!(
            (parameter.low..=parameter.high).contains(&value),
            "{id}: {value}"
        );
    }
}

#[test]
fn the_list_shows_every_profile() {
    expect![[r#"
        chip
          910b1                      910B1: one die, 24 AIC and 48 AIV (Atlas A2). (extends 910c-752t)
          910b2                      910B2: one die, 24 AIC and 48 AIV (Atlas A2). (extends 910b1)
          910b3                      910B3: one die, 20 AIC and 40 AIV (Atlas A2). (extends 910b1)
          910b4                      910B4: one die, 20 AIC and 40 AIV, 32 GiB (Atlas A2). (extends 910b3)
          910c-560t                  One die of the 910C package, 20 AIC and 40 AIV, 560 INT8 TOPS. (extends 910c-752t)
          910c-752t                  One die of the 910C package, 24 AIC and 48 AIV, 752 INT8 TOPS (Atlas A3).
        link
          hccs-a2                    HCCS full mesh between the eight dies of an A2 server, one link to each peer.
          pcie                       PCIe between an x86 host and a die.
          roce                       RoCE, 200 Gb/s for each die.
          sio                        SIO between the two dies of a 910C package.
          ub                         UB (HCCS) between the packages of an A3 server.
          ub-host                    UB between a Kunpeng host and a die.
          ub-pod                     UB between the servers of a super-pod.
        machine
          910c-package               One 910C package: two dies joined by SIO, each one ACL device with its own HBM.
          a2-server                  Atlas A2 server: 8 dies of 910B in an HCCS full mesh.
          a3-server                  Atlas A3 server: 8 packages, 16 dies. (extends 910c-package)
          cloudmatrix384             CloudMatrix384 super-pod: 48 servers, 384 packages, 768 dies over UB. (extends a3-server)
        stack
          cann-8.5-vllm-ascend-0.15  CANN 8.5 with vllm-ascend 0.15, from which the kernel durations of facts/hardware.md 1.5 come. (extends cann-9.0-vllm-ascend-0.23)
          cann-9.0-vllm-ascend-0.22  CANN 9.0 with vllm-ascend 0.22. (extends cann-9.0-vllm-ascend-0.23)
          cann-9.0-vllm-ascend-0.23  CANN 9.0 with vllm-ascend 0.23: the reference generation.
          cann-9.1-vllm-ascend-0.23  CANN 9.1 with vllm-ascend 0.23. (extends cann-9.0-vllm-ascend-0.23)
    "#]].assert_eq(&catalogue().list().to_string());
}

#[test]
fn a_profile_is_shown_with_its_sources() {
    expect![[r#"
        sio (link): SIO between the two dies of a 910C package.
        link.bytes_per_s = 2.24e11 bytes/s [2.1e11 .. 2.7e11]
            official, facts/hardware.md 1.2: msmodeling 224; 270 per direction in papers; measured 210
        link.achieved_bytes_per_s = 1.107e11 bytes/s [1.1e11 .. 2.1e11]
            measured, facts/collectives.md 5.2: single-link SDMA, 3 points; high end loads by cores, facts/hardware.md 1.2
        link.latency_us = 0.2 us [0.2 .. 0.22]
            paper, facts/hardware.md 1.2: 0.2 us, cross-die load 218 ns
    "#]].assert_eq(&catalogue().show("sio").expect("it exists").to_string());
}

#[test]
fn differences_are_shown_with_their_ratio() {
    let catalogue = catalogue();
    let text = |a, b| catalogue.diff(a, b).map(|d| d.to_string());
    expect![[r#"
        910c-752t -> 910c-560t
        chip.aic: 24 cores -> 20 cores (x0.833)
        chip.aiv: 48 cores -> 40 cores (x0.833)
        chip.cube_hz: 1.8e9 hz [1.8e9 .. 1.85e9] -> 1.5e9 hz [1.5e9 .. 1.8e9] (x0.833)
        chip.cube_bf16_ops_per_s: 3.539e14 ops/s [3.539e14 .. 3.76e14] -> 2.458e14 ops/s [2.458e14 .. 2.8e14] (x0.695)
        chip.cube_fp16_ops_per_s: 3.76e14 ops/s -> 2.8e14 ops/s (x0.745)
        chip.cube_int8_ops_per_s: 7.52e14 ops/s -> 5.6e14 ops/s (x0.745)
        chip.cube_fp32_ops_per_s: 9.95e13 ops/s -> 7.5e13 ops/s (x0.754)
        chip.vector_fp16_ops_per_s: 2.2e13 ops/s -> 1.6e13 ops/s (x0.727)
        chip.l2_bytes: 201326592 bytes -> 201326592 bytes [176160768 .. 201326592] (x1.000)
        chip.aic_hbm_bytes_per_s: 5.9e10 bytes/s [5e10 .. 7.5e10] -> 5.9e10 bytes/s [4.8e10 .. 7.5e10] uncalibrated (x1.000)
    "#]].assert_eq(&text("910c-752t", "910c-560t").expect("both are chips"));
    expect![[r#"
        a3-server -> cloudmatrix384
        machine.servers_per_pod: 1 count -> 48 count (x48.000)
    "#]]
    .assert_eq(&text("a3-server", "cloudmatrix384").expect("both are machines"));
    expect![[r#"
        ub and ub have the same numbers
    "#]]
    .assert_eq(&text("ub", "ub").expect("both are links"));
    expect!["the comparison with `ub` names the link profile `910b1`, which does not exist; there are hccs-a2, pcie, roce, sio, ub, ub-host, ub-pod"].assert_eq(
        &text("ub", "910b1")
            .expect_err("different kinds")
            .to_string(),
    );
}
