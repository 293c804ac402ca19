//! Times, ranges and names as text.

use ascsim_studies::Range;

/// A time in ns with a fitting unit and three digits or more: `604.0 µs`, `1.25 ms`.
pub(crate) fn time(ns: i64) -> String {
    let size = ns.unsigned_abs();
    let (unit, per, digits) = match size {
        0..10_000_000 => ("µs", 1e3, if size < 10_000 { 2 } else { 1 }),
        10_000_000..10_000_000_000 => ("ms", 1e6, 2),
        _ => ("s", 1e9, 2),
    };
    let sign = if ns < 0 { "−" } else { "" };
    format!("{sign}{:.digits$} {unit}", size as f64 / per)
}

/// A time in ns with its sign.
pub(crate) fn signed(ns: i64) -> String {
    if ns > 0 {
        format!("+{}", time(ns))
    } else {
        time(ns)
    }
}

/// A share in percent with its sign: `−9.6 %`.
pub(crate) fn percent(part: i64, whole: i64) -> String {
    let share = 100.0 * part as f64 / whole.max(1) as f64;
    format!("{share:+.1} %").replace('-', "−")
}

/// The low and high end of a range.
pub(crate) fn span(range: Range) -> String {
    format!("{} … {}", time(range.low_ns), time(range.high_ns))
}

/// Text for HTML, in an element or a quoted attribute. Control characters other than white space,
/// which HTML forbids, are shown as the replacement character.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            // A parser would make a line feed of it.
            '\r' => escaped.push_str("&#13;"),
            '\t' | '\n' => escaped.push(c),
            c if c.is_control() => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

/// JSON that may stand in a `script` element: no `<`, so that nothing in it ends the element.
pub(crate) fn script_json(value: &serde_json::Value) -> String {
    // `<` occurs in strings only, where the escape means the same.
    value.to_string().replace('<', "\\u003c")
}

/// Text without control characters, cut to `most` characters with an ellipsis, for formats that draw
/// it on one line.
pub(crate) fn line(text: &str, most: usize) -> String {
    let mut chars = text.chars();
    let mut short: String = chars
        .by_ref()
        .take(most)
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect();
    if chars.next().is_some() {
        short.pop();
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_fitting_units_and_signs() {
        assert_eq!(time(604_000), "604.0 µs");
        assert_eq!(time(141_200_000), "141.20 ms");
        assert_eq!(signed(-58_000), "−58.0 µs");
        assert_eq!(signed(1_000), "+1.00 µs");
        assert_eq!(percent(-58, 604), "−9.6 %");
        assert_eq!(time(i64::MIN), "−9223372036.85 s");
    }

    #[test]
    fn markup_is_text() {
        assert_eq!(
            escape("<img src=x onerror='a(\"b\")'>&\0\r"),
            "&lt;img src=x onerror=&#39;a(&quot;b&quot;)&#39;&gt;&amp;\u{fffd}&#13;"
        );
        let json = script_json(&serde_json::json!({"a": "</script><!--"}));
        assert_eq!(json, "{\"a\":\"\\u003c/script>\\u003c!--\"}");
    }

    #[test]
    fn long_lines_are_cut() {
        assert_eq!(line("abcdef", 4), "abc…");
        assert_eq!(line("ab\ncd", 5), "ab\u{fffd}cd");
    }
}
