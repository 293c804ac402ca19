//! Device memory and pinned host memory, at real addresses.

use std::collections::BTreeMap;

use crate::fault::{Fault, Outcome, code};
use crate::raw::{self, Allocation, CallerSpan};

/// Where an allocation lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    Device(u32),
    Pinned,
}

#[derive(Debug)]
struct Block {
    allocation: Allocation,
    bytes: usize,
    home: Home,
}

/// All allocations by address.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    blocks: BTreeMap<usize, Block>,
}

/// One end of a copy task.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    /// Memory of ours, by address. Looked up again when the task runs: it may be gone by then.
    Address(usize),
    /// Pageable memory of a caller, who waits until the copy is done.
    Caller(CallerSpan),
}

impl Memory {
    /// Allocates `bytes` and returns the address; the device's first 64 bits may be used as words.
    pub(crate) fn allocate(&mut self, bytes: usize, home: Home) -> Outcome<usize> {
        if bytes == 0 {
            return Fault::err(code::PARAM_INVALID, "EH0001: size 0 cannot be allocated");
        }
        // A multiple of 32 and 32 more, as on the device (facts/acl.md section 6).
        let room = bytes
            .checked_next_multiple_of(32)
            .and_then(|room| room.checked_add(32));
        let allocation = room.and_then(Allocation::new).ok_or_else(|| {
            Fault::new(
                code::MEMORY_ALLOCATION,
                format!("EL0004: no memory for {bytes} bytes"),
            )
        })?;
        let address = allocation.address();
        self.blocks.insert(
            address,
            Block {
                allocation,
                bytes,
                home,
            },
        );
        Ok(address)
    }

    /// Bytes allocated in `home`.
    pub(crate) fn used(&self, home: Home) -> u64 {
        self.blocks
            .values()
            .filter(|block| block.home == home)
            .map(|block| block.bytes as u64)
            .sum()
    }

    /// Gives the allocation back that begins at `address` and lives on a device or not.
    pub(crate) fn free(&mut self, address: usize, device: bool) -> Outcome {
        match self.blocks.get(&address) {
            Some(block) if matches!(block.home, Home::Device(_)) == device => {
                self.blocks.remove(&address);
                Ok(())
            }
            _ => Fault::err(
                code::PARAM_INVALID,
                format!("EH0001: {address:#x} is not the start of such an allocation"),
            ),
        }
    }

    /// Drops what lives on the device.
    pub(crate) fn free_device(&mut self, device: u32) {
        self.blocks
            .retain(|_, block| block.home != Home::Device(device));
    }

    /// Where the `bytes` at `address` live, if they lie within one allocation.
    pub(crate) fn home(&self, address: usize, bytes: usize) -> Option<Home> {
        self.find(address, bytes).map(|(block, _)| block.home)
    }

    fn find(&self, address: usize, bytes: usize) -> Option<(&Block, usize)> {
        let (start, block) = self.blocks.range(..=address).next_back()?;
        let offset = address - start;
        (offset.checked_add(bytes)? <= block.bytes).then_some((block, offset))
    }

    fn end(&self, place: Place, bytes: usize) -> Outcome<raw::End<'_>> {
        match place {
            Place::Caller(span) => Ok(raw::End::Caller(span)),
            Place::Address(address) => self
                .find(address, bytes)
                .map(|(block, offset)| raw::End::Ours(&block.allocation, offset))
                .ok_or_else(|| gone(address, bytes)),
        }
    }

    pub(crate) fn copy(&self, to: Place, from: Place, bytes: usize) -> Outcome {
        let (to_end, from_end) = (self.end(to, bytes)?, self.end(from, bytes)?);
        if raw::copy(to_end, from_end, bytes) {
            return Ok(());
        }
        Fault::err(
            code::DEVICE_MEM_ERROR,
            "a copy runs over the end of its memory",
        )
    }

    pub(crate) fn fill(&self, address: usize, value: u8, bytes: usize) -> Outcome {
        self.write(address, &vec![value; bytes])
    }

    pub(crate) fn read(&self, address: usize, bytes: usize) -> Outcome<Vec<u8>> {
        self.find(address, bytes)
            .and_then(|(block, offset)| raw::read(&block.allocation, offset, bytes))
            .ok_or_else(|| gone(address, bytes))
    }

    pub(crate) fn write(&self, address: usize, bytes: &[u8]) -> Outcome {
        let done = self
            .find(address, bytes.len())
            .is_some_and(|(block, offset)| raw::write(&block.allocation, offset, bytes));
        if done {
            Ok(())
        } else {
            Err(gone(address, bytes.len()))
        }
    }

    /// The 64-bit word at `address`.
    pub(crate) fn word(&self, address: usize) -> Outcome<u64> {
        let bytes = self.read(address, 8)?;
        let word = bytes.try_into().map_err(|_| gone(address, 8))?;
        Ok(u64::from_ne_bytes(word))
    }
}

fn gone(address: usize, bytes: usize) -> Fault {
    Fault::new(
        code::DEVICE_MEM_ERROR,
        format!("{bytes} bytes at {address:#x} are not within one live allocation"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_move_bytes_and_never_leave_an_allocation() {
        let mut memory = Memory::default();
        let device = memory.allocate(16, Home::Device(0)).unwrap();
        let pinned = memory.allocate(16, Home::Pinned).unwrap();
        memory.write(pinned, &[7; 16]).unwrap();
        memory
            .copy(Place::Address(device), Place::Address(pinned + 8), 8)
            .unwrap();
        assert_eq!(memory.read(device, 16).unwrap(), [[7; 8], [0; 8]].concat());
        let over = memory.copy(Place::Address(device), Place::Address(pinned + 9), 8);
        assert_eq!(over.unwrap_err().code, code::DEVICE_MEM_ERROR);
        assert!(memory.free(device, false).is_err());
        memory.free(device, true).unwrap();
        assert!(memory.read(device, 1).is_err());
    }
}
