//! Memory, copies and prefetches: sections 6 and 7.

use ascsim_exec::acl::{Capability, CmoKind, Code};

use crate::Case;
use crate::lab::assert_code;

pub(crate) const CASES: &[Case] = &[
    ("copies_move_the_bytes_in_stream_order", "6", &[], |lab| {
        let (acl, stream) = (lab.acl, lab.stream());
        let (a, b) = (acl.malloc(256).unwrap(), acl.malloc(256).unwrap());
        let (input, output) = (acl.malloc_host(256).unwrap(), acl.malloc_host(256).unwrap());
        let bytes: Vec<u8> = (0..=255).collect();
        input.write(0, &bytes).unwrap();
        acl.copy_in_async((&a, 0), (&input, 0), 256, stream)
            .unwrap();
        acl.copy_device_async((&b, 128), (&a, 0), 128, stream)
            .unwrap();
        acl.fill_async(&b, 0, 128, 9, stream).unwrap();
        acl.copy_out_async((&output, 0), (&b, 0), 256, stream)
            .unwrap();
        lab.assert_done(stream);
        let mut result = vec![0; 256];
        output.read(0, &mut result).unwrap();
        assert_eq!(result, [&[9; 128][..], &bytes[..128]].concat());
        acl.free(a).unwrap();
        acl.free(b).unwrap();
        acl.free_host(input).unwrap();
        acl.free_host(output).unwrap();
    }),
    ("pinned_copies_are_asynchronous", "6", &[], |lab| {
        let (acl, stream) = (lab.acl, lab.stream());
        let (memory, pinned) = (acl.malloc(64).unwrap(), acl.malloc_host(64).unwrap());
        let gate = lab.gate(stream);
        acl.copy_in_async((&memory, 0), (&pinned, 0), 64, stream)
            .unwrap();
        // The bytes are read when the stream gets there.
        pinned.write(0, &[5; 64]).unwrap();
        gate.open();
        lab.assert_done(stream);
        let mut result = [0; 64];
        acl.copy_out(&mut result, &memory, 0).unwrap();
        assert_eq!(result, [5; 64]);
        acl.free(memory).unwrap();
        acl.free_host(pinned).unwrap();
    }),
    (
        "pageable_copies_return_when_they_are_done",
        "6",
        &[],
        |lab| {
            let (acl, stream) = (lab.acl, lab.stream());
            let memory = acl.malloc(64).unwrap();
            acl.copy_pageable(&memory, 0, &[3; 64], stream).unwrap();
            let mut result = [0; 64];
            acl.copy_out(&mut result, &memory, 0).unwrap();
            assert_eq!(result, [3; 64]);
            acl.free(memory).unwrap();
        },
    ),
    (
        "asynchronous_host_copies_are_not_supported",
        "6",
        &[],
        |lab| {
            let (acl, stream) = (lab.acl, lab.stream());
            let pinned = acl.malloc_host(64).unwrap();
            let copied = acl.copy_host_async((&pinned, 0), (&pinned, 32), 32, stream);
            assert_code(copied, Code::FEATURE_NOT_SUPPORT);
            acl.free_host(pinned).unwrap();
        },
    ),
    ("memory_is_aligned_to_64_bytes", "6", &[], |lab| {
        let memory: Vec<_> = (1..40)
            .map(|bytes| lab.acl.malloc(bytes).unwrap())
            .collect();
        assert!(memory.iter().all(|memory| memory.address() % 64 == 0));
        memory
            .into_iter()
            .for_each(|memory| lab.acl.free(memory).unwrap());
    }),
    (
        "only_prefetches_are_supported",
        "7",
        &[Capability::Prefetch],
        |lab| {
            let (acl, stream) = (lab.acl, lab.stream());
            let memory = acl.malloc(4096).unwrap();
            acl.cmo(&memory, 0, 4096, CmoKind::Prefetch, stream)
                .unwrap();
            lab.assert_done(stream);
            for kind in [CmoKind::WriteBack, CmoKind::Invalidate, CmoKind::Flush] {
                assert_code(
                    acl.cmo(&memory, 0, 4096, kind, stream),
                    Code::FEATURE_NOT_SUPPORT,
                );
            }
            acl.free(memory).unwrap();
        },
    ),
];
