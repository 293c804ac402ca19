//! With the feature `bindgen`: declarations from CANN's headers, for `acl::headers`.
//!
//! The headers are those of the folders in `ASCSIM_ACL_INCLUDE` (separated by colons), else of
//! `$ASCEND_HOME_PATH/include`. A folder is one that holds `acl/acl.h`, or the `include` folder of
//! the `torch-npu` wheel. Without any, what is generated says so.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(ascsim_headers)");
    #[cfg(feature = "bindgen")]
    headers::generate();
}

#[cfg(feature = "bindgen")]
mod headers {
    use std::fmt::Write as _;
    use std::path::{Path, PathBuf};
    use std::{env, fs};

    /// Where below a given folder headers may lie, the wheel's places last.
    const PLACES: &[&str] = &["", "third_party/acl/inc", "third_party/hccl/inc"];

    /// Where the functions are declared that are called.
    const OURS: &str = "src/acl/raw.rs";

    pub(crate) fn generate() {
        for variable in ["ASCSIM_ACL_INCLUDE", "ASCEND_HOME_PATH"] {
            println!("cargo::rerun-if-env-changed={variable}");
        }
        let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
        let text = match folders() {
            Some(folders) => {
                println!("cargo::rustc-cfg=ascsim_headers");
                all(&folders)
            }
            None => all_of("None", "", ""),
        };
        fs::write(out.join("headers.rs"), text).expect("the folder of the build can be written");
    }

    fn folders() -> Option<Vec<PathBuf>> {
        let given = match env::var_os("ASCSIM_ACL_INCLUDE") {
            Some(given) => env::split_paths(&given).collect(),
            None => vec![PathBuf::from(env::var_os("ASCEND_HOME_PATH")?).join("include")],
        };
        let places = given
            .iter()
            .flat_map(|folder| PLACES.iter().map(|place| folder.join(place)));
        Some(places.filter(|place| place.is_dir()).collect())
    }

    fn find(folders: &[PathBuf], header: &str) -> PathBuf {
        let found = folders.iter().map(|folder| folder.join(header));
        found
            .into_iter()
            .find(|path| path.is_file())
            .unwrap_or_else(|| panic!("there is no {header} in {folders:?}"))
    }

    fn all(folders: &[PathBuf]) -> String {
        let acl = find(folders, "acl/acl.h");
        // C++, as its headers have default arguments.
        let hccl = find(folders, "hccl/hccl.h");
        let acl = bindings(&acl, folders, "Acl", "acl.*", &["-x", "c"]);
        let hccl = bindings(
            &hccl,
            folders,
            "Hccl",
            "Hccl.*",
            &["-x", "c++", "-std=c++17"],
        );
        all_of(&format!("Some({:?})", folders[0]), &acl, &hccl)
    }

    fn bindings(
        header: &Path,
        folders: &[PathBuf],
        library: &str,
        names: &str,
        language: &[&str],
    ) -> String {
        let header = header.to_str().expect("a path of ASCII");
        bindgen::Builder::default()
            .header(header)
            .clang_args(language)
            .clang_args(
                folders
                    .iter()
                    .map(|folder| format!("-I{}", folder.display())),
            )
            .dynamic_library_name(library)
            .dynamic_link_require_all(false)
            .default_enum_style(bindgen::EnumVariation::Consts)
            .prepend_enum_name(false)
            .allowlist_function(names)
            .allowlist_type(names)
            .allowlist_var("(ACL|HCCL).*")
            .layout_tests(false)
            .derive_debug(false)
            .generate_comments(false)
            .parse_callbacks(Box::new(bindgen::CargoCallbacks::new()))
            .generate()
            .unwrap_or_else(|error| panic!("{header}: {error}"))
            .to_string()
    }

    /// The generated file: both modules, and tables of what is in them.
    fn all_of(folder: &str, acl: &str, hccl: &str) -> String {
        let mut text =
            format!("/// The folder of the headers.\npub const FOLDER: Option<&str> = {folder};\n");
        println!("cargo::rerun-if-changed={OURS}");
        let ours = fs::read_to_string(OURS).expect("a part of this crate");
        let mut functions = String::new();
        let mut constants = String::new();
        let modules = [("acl", "Acl", acl), ("hccl", "Hccl", hccl)];
        for (module, library, code) in modules {
            if code.is_empty() {
                continue;
            }
            write!(
                text,
                "/// Generated from the headers.\n#[expect(missing_docs, non_camel_case_types, \
                 non_snake_case, unsafe_code, reason = \"generated\")]\n\
                 pub mod {module} {{\n{code}\n}}\n"
            )
            .expect("a string takes all");
            // Long types are broken into lines.
            let code = code.split_whitespace().collect::<Vec<_>>().join(" ");
            for item in code.split("pub ") {
                let Some((name, rest)) = item.split_once(": ") else {
                    continue;
                };
                if rest
                    .trim_start_matches("::std::result::")
                    .starts_with("Result<")
                {
                    // Those that nobody calls may pass what needs no description here.
                    if ours.contains(&format!("    fn {name}(")) {
                        writeln!(
                            functions,
                            "    (\"{name}\", signature(|it: &{module}::{library}| &it.{name})),"
                        )
                        .expect("a string takes all");
                    }
                } else if let Some(name) = name.strip_prefix("const ")
                    && let Some((_, value)) = rest.split_once(" = ")
                    && let Some((value, _)) = value.split_once(';')
                    && let Ok(value) = value.parse::<i64>()
                {
                    writeln!(constants, "    (\"{name}\", {value}),").expect("it does");
                }
            }
        }
        write!(
            text,
            "/// The functions that are called, by name.\npub fn functions() -> Vec<(&'static str, Signature)> {{\n\
             vec![\n{functions}]\n}}\n\
             /// Constants and enumerators by name.\n\
             pub const CONSTANTS: &[(&str, i64)] = &[\n{constants}];\n"
        )
        .expect("it does");
        text
    }
}
