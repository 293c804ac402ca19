//! What the JSON parser does not tell: byte offsets, and integers that it would round.

/// The byte offset of a place that `serde_json` gives as a line from 1 and a column in bytes, which
/// counts the byte at fault.
pub(super) fn offset(text: &str, line: usize, column: usize) -> usize {
    let before = line.saturating_sub(1);
    let start = match before {
        0 => 0,
        _ => text
            .bytes()
            .enumerate()
            .filter(|(_, byte)| *byte == b'\n')
            .nth(before - 1)
            .map_or(text.len(), |(at, _)| at + 1),
    };
    (start + column).saturating_sub(1).min(text.len())
}

/// The line and the column in bytes, both from 1, of the byte at `offset`.
pub(super) fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = &text.as_bytes()[..offset.min(text.len())];
    let lines = before.iter().filter(|byte| **byte == b'\n').count();
    let start = before.iter().rposition(|byte| *byte == b'\n');
    (1 + lines, 1 + before.len() - start.map_or(0, |at| at + 1))
}

/// The first integer that fits neither `i64` nor `u64`, with its offset. The parser would turn it
/// into a floating-point number. O(bytes).
pub(super) fn oversized_integer(text: &str) -> Option<(usize, &str)> {
    // The shortest integer that may be too large.
    const DIGITS: usize = 19;
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => at = end_of_string(bytes, at + 1),
            b'-' | b'0'..=b'9' => {
                let is_part = |b: &u8| matches!(b, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
                let length = bytes[at..].iter().take_while(|b| is_part(b)).count();
                if length >= DIGITS {
                    let number = &text[at..at + length];
                    let whole = !number.contains(['.', 'e', 'E']);
                    if whole && number.parse::<i64>().is_err() && number.parse::<u64>().is_err() {
                        return Some((at, number));
                    }
                }
                at += length;
            }
            _ => at += 1,
        }
    }
    None
}

/// The offset behind the quote that ends the string whose text begins at `at`.
fn end_of_string(bytes: &[u8], mut at: usize) -> usize {
    loop {
        match bytes.get(at) {
            None => return at,
            Some(b'"') => return at + 1,
            Some(b'\\') => at += 2,
            Some(_) => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_beyond_64_bits_are_found() {
        let found = |text| oversized_integer(text);
        assert_eq!(found("[18446744073709551615, -9223372036854775808]"), None);
        assert_eq!(
            found("[1, 18446744073709551616]"),
            Some((4, "18446744073709551616"))
        );
        assert_eq!(
            found("[-9223372036854775809]"),
            Some((1, "-9223372036854775809"))
        );
        assert_eq!(
            found(r#"["99999999999999999999", 1e300, 1.0000000000000000000001]"#),
            None
        );
        assert_eq!(
            found(r#"["a\"", 99999999999999999999]"#),
            Some((8, "99999999999999999999"))
        );
        assert_eq!(found(r#"["unfinished\"#), None);
    }

    #[test]
    fn lines_and_columns_become_offsets() {
        let text = "{\n  \"é\": x\n}";
        for at in 0..text.len() {
            let (line, column) = position(text, at);
            assert_eq!(offset(text, line, column), at);
        }
        assert_eq!(position(text, 0), (1, 1));
        // The x, behind the two bytes of é.
        assert_eq!(text.as_bytes()[10], b'x');
        assert_eq!(position(text, 10), (2, 9));
    }
}
