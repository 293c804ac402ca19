//! Vector clocks that share what they have in common.

/// Entries per chunk; chunks are shared between rows.
const CHUNK: usize = 32;

/// A row: one count per chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row(u32);

/// A store of rows. Rows never change once [`Clocks::seal`] has been called after making them.
///
/// A row costs 4 bytes per 32 chains plus 128 bytes per chunk that differs from what it was made of.
#[derive(Debug)]
pub(super) struct Clocks {
    width: usize,
    rows: Vec<u32>,
    chunks: Vec<[u32; CHUNK]>,
    sealed_rows: usize,
    sealed_chunks: usize,
}

impl Clocks {
    pub(super) const ZERO: Row = Row(0);

    pub(super) fn new(chains: usize) -> Self {
        let width = chains.div_ceil(CHUNK).max(1);
        Self {
            width,
            rows: vec![0; width],
            chunks: vec![[0; CHUNK]],
            sealed_rows: 1,
            sealed_chunks: 1,
        }
    }

    pub(super) fn get(&self, row: Row, chain: usize) -> u32 {
        self.chunks[self.chunk(row, chain / CHUNK)][chain % CHUNK]
    }

    /// From now on, the rows made so far do not change.
    pub(super) fn seal(&mut self) {
        self.sealed_rows = self.rows.len() / self.width;
        self.sealed_chunks = self.chunks.len();
    }

    /// A row with the greater of both at each chain but `own`, where it is that of `a`.
    pub(super) fn join(&mut self, a: Row, b: Row, own: usize) -> Row {
        let mut row = a;
        if a == b {
            return row;
        }
        for at in 0..self.width {
            let (mine, other) = (self.chunk(row, at), self.chunk(b, at));
            if mine == other {
                continue;
            }
            let other = self.chunks[other];
            let skip = own.wrapping_sub(at * CHUNK);
            let raises =
                |(entry, (mine, other)): (usize, (&u32, &u32))| other > mine && entry != skip;
            if self.chunks[mine].iter().zip(&other).enumerate().any(raises) {
                row = self.own_row(row);
                let chunk = self.own_chunk(row, at);
                for (entry, (mine, other)) in self.chunks[chunk].iter_mut().zip(&other).enumerate()
                {
                    if entry != skip {
                        *mine = (*mine).max(*other);
                    }
                }
            }
        }
        row
    }

    /// A row with at least `count` at `chain`.
    pub(super) fn raise(&mut self, row: Row, chain: usize, count: u32) -> Row {
        if self.get(row, chain) >= count {
            return row;
        }
        self.set(row, chain, count)
    }

    /// A row with `count` at `chain`.
    pub(super) fn set(&mut self, row: Row, chain: usize, count: u32) -> Row {
        let row = self.own_row(row);
        let chunk = self.own_chunk(row, chain / CHUNK);
        self.chunks[chunk][chain % CHUNK] = count;
        row
    }

    fn chunk(&self, row: Row, at: usize) -> usize {
        self.rows[row.0 as usize * self.width + at] as usize
    }

    /// `row` if it may still change, or else a copy.
    fn own_row(&mut self, row: Row) -> Row {
        if row.0 as usize >= self.sealed_rows {
            return row;
        }
        let start = row.0 as usize * self.width;
        self.rows.extend_from_within(start..start + self.width);
        Row((self.rows.len() / self.width - 1) as u32)
    }

    /// The chunk of a row that may still change, copied if it may not.
    fn own_chunk(&mut self, row: Row, at: usize) -> usize {
        let chunk = self.chunk(row, at);
        if chunk >= self.sealed_chunks {
            return chunk;
        }
        self.chunks.push(self.chunks[chunk]);
        let copy = self.chunks.len() - 1;
        self.rows[row.0 as usize * self.width + at] = copy as u32;
        copy
    }
}
