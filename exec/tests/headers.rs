//! Our declarations agree with the headers of CANN that `ASCSIM_ACL_INCLUDE` or `ASCEND_HOME_PATH`
//! names: signatures, numbers, layouts.
//! Without such a folder the tests fail; they are built all the same.

use std::collections::BTreeMap;

use ascsim_exec::acl::headers::{self, Callable, Signature};
use ascsim_exec::acl::raw;
use ascsim_exec::acl::{Code, value};

/// Functions that CANN 9.1 has (facts/acl.md section 3) and the headers of torch-npu 2.14.0 lack.
const NEWER: &[&str] = &["aclrtRecordEventWithFlag", "aclrtStreamWaitEventWithFlag"];

/// What the headers say.
fn known() -> BTreeMap<&'static str, Signature> {
    assert!(
        headers::FOLDER.is_some(),
        "name the include folder of CANN in ASCSIM_ACL_INCLUDE, and build again"
    );
    headers::functions().into_iter().collect()
}

#[test]
fn every_function_is_declared_as_in_the_headers() {
    let known = known();
    let mut differ = Vec::new();
    let mut compared = 0;
    for (name, ours) in raw::signatures() {
        // Only our emulator has these.
        if name.starts_with("ascsimEmulator") {
            continue;
        }
        compared += 1;
        match known.get(name) {
            Some(theirs) if *theirs == ours => {}
            None if NEWER.contains(&name) => println!("not in these headers: {name}"),
            theirs => differ.push(format!("{name}: ours {ours:?}, theirs {theirs:?}")),
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
    assert!(compared > 100, "only {compared} functions were compared");
}

#[test]
fn every_number_is_that_of_the_headers() {
    known();
    let known: BTreeMap<&str, i64> = headers::CONSTANTS.iter().copied().collect();
    let mut differ = Vec::new();
    let mut compare = |name: &str, ours: i64, theirs: Option<&i64>| {
        if theirs != Some(&ours) {
            differ.push(format!("{name}: ours {ours}, theirs {theirs:?}"));
        }
    };
    for (name, ours) in value::ALL {
        compare(name, i64::from(*ours), known.get(name));
    }
    for (name, Code(ours)) in Code::ALL {
        let full = match *name {
            "INVALID_DEVICE" => "ACL_ERROR_RT_INVALID_DEVICEID".to_owned(),
            "SUCCESS" => "ACL_SUCCESS".to_owned(),
            "UNINITIALIZED" => "ACL_ERROR_UNINITIALIZE".to_owned(),
            "CAPTURE_CONFLICT" | "TASK_GROUP_STATUS" => format!("ACL_ERROR_STREAM_{name}"),
            "TASK_GROUP_INTERRUPTED" => "ACL_ERROR_STREAM_TASK_GROUP_INTR".to_owned(),
            "CAPTURE_UNMATCHED" | "CAPTURE_WRONG_THREAD" | "CAPTURE_INVALIDATED" => {
                format!("ACL_ERROR_RT_STREAM_{name}")
            }
            "INTERNAL" => "ACL_ERROR_RT_INTERNAL_ERROR".to_owned(),
            name => format!("ACL_ERROR_RT_{name}"),
        };
        let short = format!("ACL_ERROR_{name}");
        let theirs = known.get(full.as_str()).or(known.get(short.as_str()));
        compare(name, i64::from(*ours), theirs);
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

#[cfg(ascsim_headers)]
#[test]
fn every_structure_is_laid_out_as_in_the_headers() {
    use ascsim_exec::acl::raw::{LaunchAttribute, LaunchConfig, RootInfo};
    use std::mem::{align_of, offset_of, size_of};

    use headers::acl::{aclrtLaunchKernelAttr, aclrtLaunchKernelCfg};
    use headers::hccl::HcclRootInfo;
    let layouts = [
        (
            "LaunchAttribute",
            [
                size_of::<LaunchAttribute>(),
                align_of::<LaunchAttribute>(),
                offset_of!(LaunchAttribute, id),
                offset_of!(LaunchAttribute, value),
            ],
            [
                size_of::<aclrtLaunchKernelAttr>(),
                align_of::<aclrtLaunchKernelAttr>(),
                offset_of!(aclrtLaunchKernelAttr, id),
                offset_of!(aclrtLaunchKernelAttr, value),
            ],
        ),
        (
            "LaunchConfig",
            [
                size_of::<LaunchConfig>(),
                align_of::<LaunchConfig>(),
                offset_of!(LaunchConfig, attributes),
                offset_of!(LaunchConfig, count),
            ],
            [
                size_of::<aclrtLaunchKernelCfg>(),
                align_of::<aclrtLaunchKernelCfg>(),
                offset_of!(aclrtLaunchKernelCfg, attrs),
                offset_of!(aclrtLaunchKernelCfg, numAttrs),
            ],
        ),
        (
            "RootInfo",
            [size_of::<RootInfo>(), align_of::<RootInfo>(), 0, 0],
            [size_of::<HcclRootInfo>(), align_of::<HcclRootInfo>(), 0, 0],
        ),
    ];
    for (name, ours, theirs) in layouts {
        assert_eq!(ours, theirs, "{name}: size, alignment, offsets");
    }
}

/// A wrong declaration is noticed.
#[test]
fn signatures_tell_types_apart() {
    type Ours = unsafe extern "C" fn(usize, u32) -> i32;
    type Signed = unsafe extern "C" fn(usize, i32) -> i32;
    type Pointer = unsafe extern "C" fn(*mut u8, u32) -> i32;
    type Longer = unsafe extern "C" fn(usize, u32, u32) -> i32;
    assert_ne!(Ours::signature(), Signed::signature());
    assert_ne!(Ours::signature(), Longer::signature());
    assert_eq!(Ours::signature(), Pointer::signature());
}
