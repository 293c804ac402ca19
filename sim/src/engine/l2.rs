//! What the L2 cache of a die holds (rule 6 of the design): what was prefetched or just written,
//! least recently used out first.

/// Bytes of a buffer that a task touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Touch {
    /// The root buffer.
    pub(crate) buffer: u32,
    /// First byte.
    pub(crate) from: u64,
    /// One past the last byte.
    pub(crate) to: u64,
    /// What it does to them.
    pub(crate) kind: TouchKind,
}

/// What a task does to bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TouchKind {
    /// Reads them, when it starts.
    Read,
    /// Writes them, when it ends.
    Write,
    /// Brings them into L2, when it ends.
    Prefetch,
}

/// Bytes that a cache holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Held {
    buffer: u32,
    from: u64,
    to: u64,
    prefetched: bool,
}

/// The cache of one die. The ranges it holds do not overlap; the least recently used is first.
#[derive(Debug, Default)]
pub(super) struct L2 {
    held: Vec<Held>,
    bytes: u64,
    /// Ranges taken out; kept for its memory.
    taken: Vec<Held>,
}

impl L2 {
    pub(super) fn clear(&mut self) {
        self.held.clear();
        self.bytes = 0;
    }

    /// How many bytes of a read hit; of these, how many because they were prefetched. They become
    /// the most recently used. O(ranges held).
    pub(super) fn read(&mut self, touch: &Touch) -> (u64, u64) {
        self.take(touch);
        let (mut hit, mut prefetched) = (0, 0);
        for held in &self.taken {
            hit += held.to - held.from;
            if held.prefetched {
                prefetched += held.to - held.from;
            }
        }
        self.held.append(&mut self.taken);
        self.bytes += hit;
        (hit, prefetched)
    }

    /// Holds bytes as the most recently used, as far as they fit. O(ranges held).
    pub(super) fn keep(&mut self, touch: &Touch, capacity: u64) {
        self.take(touch);
        let from = touch.from.max(touch.to.saturating_sub(capacity));
        if from < touch.to {
            self.held.push(Held {
                buffer: touch.buffer,
                from,
                to: touch.to,
                prefetched: touch.kind == TouchKind::Prefetch,
            });
            self.bytes += touch.to - from;
        }
        let mut out = 0;
        while self.bytes > capacity {
            let Some(first) = self.held.get_mut(out) else {
                break;
            };
            let less = (self.bytes - capacity).min(first.to - first.from);
            first.from += less;
            self.bytes -= less;
            if first.from == first.to {
                out += 1;
            }
        }
        self.held.drain(..out);
    }

    /// Moves what is held of the touched bytes into `taken`.
    fn take(&mut self, touch: &Touch) {
        self.taken.clear();
        let mut at = 0;
        while at < self.held.len() {
            let held = self.held[at];
            let (from, to) = (held.from.max(touch.from), held.to.min(touch.to));
            if held.buffer != touch.buffer || from >= to {
                at += 1;
                continue;
            }
            self.taken.push(Held { from, to, ..held });
            self.bytes -= to - from;
            let (before, after) = (held.from < from, to < held.to);
            match (before, after) {
                (false, false) => {
                    self.held.remove(at);
                    continue;
                }
                (true, false) => self.held[at].to = from,
                (false, true) => self.held[at].from = to,
                (true, true) => {
                    self.held[at].to = from;
                    self.held.insert(at + 1, Held { from: to, ..held });
                    at += 1;
                }
            }
            at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn touches() -> impl Strategy<Value = Vec<Touch>> {
        let kind = prop_oneof![
            Just(TouchKind::Read),
            Just(TouchKind::Write),
            Just(TouchKind::Prefetch)
        ];
        let touch =
            (0_u32..2, 0_u64..12, 0_u64..12, kind).prop_map(|(buffer, from, length, kind)| {
                let to = from + length;
                Touch {
                    buffer,
                    from,
                    to,
                    kind,
                }
            });
        prop::collection::vec(touch, 0..30)
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 2_000,
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn ranges_hold_what_single_bytes_would(touches in touches(), capacity in 0_u64..20) {
            let mut cache = L2::default();
            // The oracle: single bytes, the least recently used first.
            let mut bytes: Vec<(u32, u64, bool)> = Vec::new();
            for touch in &touches {
                let mut all: Vec<(u32, u64, bool)> = Vec::new();
                let inside = |b: &(u32, u64, bool)| {
                    b.0 == touch.buffer && (touch.from..touch.to).contains(&b.1)
                };
                if touch.kind == TouchKind::Read {
                    all.extend(bytes.iter().copied().filter(inside));
                    let prefetched = all.iter().filter(|b| b.2).count() as u64;
                    prop_assert_eq!(cache.read(touch), (all.len() as u64, prefetched));
                } else {
                    let prefetched = touch.kind == TouchKind::Prefetch;
                    all.extend((touch.from..touch.to).map(|at| (touch.buffer, at, prefetched)));
                    cache.keep(touch, capacity);
                }
                bytes.retain(|b| !inside(b));
                bytes.append(&mut all);
                let most = usize::try_from(capacity).expect("small");
                if bytes.len() > most {
                    bytes.drain(..bytes.len() - most);
                }
                prop_assert_eq!(cache.bytes, bytes.len() as u64);
                let flat = cache.held.iter().flat_map(|held| {
                    (held.from..held.to).map(|at| (held.buffer, at, held.prefetched))
                });
                prop_assert_eq!(flat.collect::<Vec<_>>(), bytes.clone());
            }
        }
    }
}
