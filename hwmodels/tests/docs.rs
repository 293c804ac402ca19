//! `docs/hardware.md` is generated from the profiles and must be current.

use std::path::Path;

use ascsim_hwmodels::{Catalogue, markdown};

#[test]
fn the_page_is_current() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/hardware.md");
    let catalogue = Catalogue::built_in().expect("the built-in profiles are valid");
    let expected = markdown(&catalogue).expect("the built-in profiles are complete");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        let folder = page.parent().expect("the page is in a folder");
        std::fs::create_dir_all(folder).expect("the folder can be made");
        std::fs::write(&page, &expected).expect("the page can be written");
    }
    let found = std::fs::read_to_string(&page).unwrap_or_default();
    assert!(
        found == expected,
        "docs/hardware.md is out of date: run UPDATE_DOCS=1 cargo test -p ascsim-hwmodels --test docs"
    );
}
