//! A picture of timelines on one time axis, one above the other.

use std::fmt::Write as _;
use std::io::{self, Write};

use ascsim_studies::{LaneKind, LinkKind, Row, StepTimeline};

use super::Named;
use crate::text::{escape, line, time};

const WIDTH: f64 = 1200.0;
const LEFT: f64 = 130.0;
const LANE: f64 = 24.0;
const BAR: f64 = 18.0;
/// Lanes of one timeline; a picture of more is not looked at.
const MOST_LANES: usize = 40;

/// A class of rows with its colour: Okabe and Ito's, which people who see red and green alike can
/// tell apart, and the colour of text on it.
struct Class {
    name: &'static str,
    fill: &'static str,
    on: &'static str,
}

const CLASSES: [Class; 7] = [
    class("cube kernel", "#0072b2", "#fff"),
    class("vector kernel", "#56b4e9", "#000"),
    class("mixed or other kernel", "#332288", "#fff"),
    class("communication", "#d55e00", "#fff"),
    class("copy", "#009e73", "#000"),
    class("wait", "#c8c8c8", "#333"),
    class("host and other", "#cc79a7", "#000"),
];

const fn class(name: &'static str, fill: &'static str, on: &'static str) -> Class {
    Class { name, fill, on }
}

fn class_of(step: &StepTimeline, row: &Row) -> usize {
    match step.text(row.kind) {
        "kernel" | "super_kernel" | "group" if row.engines & Row::LINK != 0 => 3,
        "kernel" | "super_kernel" | "group" => match row.engines & (Row::AIC | Row::AIV) {
            Row::AIC => 0,
            Row::AIV => 1,
            _ => 2,
        },
        "collective" => 3,
        "copy" | "prefetch" => 4,
        "wait" | "notify_wait" | "value_wait" => 5,
        _ => 6,
    }
}

/// Writes the picture.
pub(super) fn write(steps: &[Named<'_>], out: &mut dyn Write) -> io::Result<()> {
    let end = steps
        .iter()
        .filter_map(|named| named.step.span())
        .map(|(_, end)| end)
        .max()
        .unwrap_or(1)
        .max(1);
    let mut picture = Picture {
        end,
        y: 8.0,
        body: String::new(),
        used: [false; CLASSES.len()],
    };
    for named in steps {
        picture.step(named);
    }
    picture.axis();
    picture.legend();
    let height = picture.y;
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
         height=\"{height}\" font-family=\"system-ui, sans-serif\" font-size=\"12\" role=\"img\" \
         aria-label=\"timeline\">"
    )?;
    writeln!(out, "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>")?;
    out.write_all(picture.body.as_bytes())?;
    writeln!(out, "</svg>")
}

struct Picture {
    end: i64,
    y: f64,
    body: String,
    used: [bool; CLASSES.len()],
}

impl Picture {
    fn x(&self, ns: i64) -> f64 {
        LEFT + (WIDTH - LEFT - 20.0) * ns as f64 / self.end as f64
    }

    fn text(&mut self, x: f64, y: f64, rest: &str, text: &str) {
        let text = escape(text);
        // A string takes all that is written to it.
        let _ = writeln!(
            self.body,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" {rest}>{text}</text>"
        );
    }

    fn step(&mut self, named: &Named<'_>) {
        let step = named.step;
        let makespan = step.span().map_or(0, |(_, end)| end);
        let title = format!("{} · {}", line(named.name, 80), time(makespan));
        self.text(6.0, self.y + 13.0, "font-weight=\"600\"", &title);
        self.y += 20.0;
        let top = self.y;
        let lanes: Vec<u32> = (0..step.lanes.len() as u32)
            .filter(|lane| step.lanes[*lane as usize].kind != LaneKind::Parts)
            .collect();
        let several = lanes
            .iter()
            .any(|lane| step.lanes[*lane as usize].rank != step.lanes[0].rank);
        let mut place = vec![None; step.lanes.len()];
        for lane in lanes.iter().copied().take(MOST_LANES) {
            place[lane as usize] = Some(self.y);
            let at = &step.lanes[lane as usize];
            let host = if at.kind == LaneKind::Thread {
                "host "
            } else {
                ""
            };
            let rank = if several {
                format!("{}: ", at.rank)
            } else {
                String::new()
            };
            let name = line(&format!("{rank}{host}{}", at.name), 18);
            self.text(6.0, self.y + 13.5, "fill=\"#444\"", &name);
            self.lane(step, lane);
            self.y += LANE;
        }
        self.path(step, &place);
        self.links(step, &place);
        if lanes.len() > MOST_LANES {
            let left_out = format!("… {} more lanes", lanes.len() - MOST_LANES);
            self.text(6.0, self.y + 13.5, "fill=\"#444\"", &left_out);
            self.y += LANE;
        }
        let _ = writeln!(
            self.body,
            "<path d=\"M{LEFT} {top:.1}V{:.1}\" stroke=\"#999\"/>",
            self.y - 3.0
        );
        self.y += 8.0;
    }

    fn lane(&mut self, step: &StepTimeline, lane: u32) {
        // Rows narrower than half a pixel are drawn together, up to the next that can be seen.
        let mut drawn = f64::MIN;
        for row in &step.rows[step.rows_of(lane)] {
            let (left, right) = (self.x(row.start_ns), self.x(row.end_ns));
            if row.len_ns() == 0 || right - drawn < 0.5 {
                continue;
            }
            let width = (right - left).max(0.5);
            drawn = left + width;
            let at = class_of(step, row);
            self.used[at] = true;
            let (class, y) = (&CLASSES[at], self.y);
            let _ = writeln!(
                self.body,
                "<rect x=\"{left:.2}\" y=\"{y:.1}\" width=\"{width:.2}\" height=\"{BAR}\" \
                 fill=\"{}\" stroke=\"#fff\" stroke-width=\"{}\"/>",
                class.fill,
                if width > 4.0 { 1.0 } else { 0.0 },
            );
            // A character takes about 7 pixels.
            let room = ((width - 8.0) / 7.0) as usize;
            if room >= 4 {
                let name = step.text(row.op).rsplit('/').next().unwrap_or_default();
                let style = format!("fill=\"{}\" font-size=\"11\"", class.on);
                self.text(left + 4.0, y + 13.0, &style, &line(name, room));
            }
        }
    }

    fn path(&mut self, step: &StepTimeline, place: &[Option<f64>]) {
        let mut last: Option<(f64, f64)> = None;
        let mut d = String::new();
        for stretch in &step.path {
            let Some(Some(y)) = place.get(stretch.lane as usize) else {
                continue;
            };
            let y = y + BAR + 1.5;
            let (left, right) = (self.x(stretch.start_ns), self.x(stretch.end_ns));
            match last {
                // It goes on, or is too short to be seen.
                Some((_, at)) if at == y => {}
                Some(_) => {
                    let _ = write!(d, "L{left:.1} {y:.1}");
                }
                None => {
                    let _ = write!(d, "M{left:.1} {y:.1}");
                }
            }
            if last.is_none_or(|(x, at)| right - x > 0.5 || at != y) {
                let _ = write!(d, "L{right:.1} {y:.1}");
                last = Some((right, y));
            }
        }
        if !d.is_empty() {
            let _ = writeln!(
                self.body,
                "<path d=\"{d}\" fill=\"none\" stroke=\"#b3004b\" stroke-width=\"2\"/>"
            );
        }
    }

    /// Arrows of links between lanes, as long as there are few enough to be told apart.
    fn links(&mut self, step: &StepTimeline, place: &[Option<f64>]) {
        const MOST: usize = 60;
        let links: Vec<_> = step
            .links
            .iter()
            .filter(|link| link.kind != LinkKind::Launch && link.kind != LinkKind::Collective)
            .collect();
        if links.len() > MOST {
            return;
        }
        for link in links {
            let (from, to) = (&step.rows[link.from as usize], &step.rows[link.to as usize]);
            let (Some(Some(y1)), Some(Some(y2))) =
                (place.get(from.lane as usize), place.get(to.lane as usize))
            else {
                continue;
            };
            let (x1, x2) = (self.x(from.end_ns), self.x(to.end_ns));
            let (y1, y2) = (y1 + BAR / 2.0, y2 + BAR / 2.0);
            let _ = writeln!(
                self.body,
                "<path d=\"M{x1:.1} {y1:.1}C{:.1} {y1:.1} {:.1} {y2:.1} {x2:.1} {y2:.1}\" fill=\"none\" \
                 stroke=\"#6b4d00\"/><path d=\"M{x2:.1} {y2:.1}l-6 -3.5v7z\" fill=\"#6b4d00\"/>",
                x1 + 14.0,
                x2 - 14.0,
            );
        }
    }

    fn axis(&mut self) {
        let step = nice((self.end / 8).max(1));
        let y = self.y;
        let mut at = 0;
        while at <= self.end {
            let x = self.x(at);
            let _ = writeln!(self.body, "<path d=\"M{x:.1} {y:.1}v5\" stroke=\"#999\"/>");
            let text = time(at);
            self.text(x, y + 18.0, "text-anchor=\"middle\" fill=\"#444\"", &text);
            let Some(next) = at.checked_add(step) else {
                break;
            };
            at = next;
        }
        self.y += 30.0;
    }

    fn legend(&mut self) {
        let (mut x, y) = (LEFT, self.y);
        for (class, _) in CLASSES.iter().zip(self.used).filter(|(_, used)| *used) {
            let _ = writeln!(
                self.body,
                "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"12\" height=\"12\" fill=\"{}\"/>",
                class.fill
            );
            self.text(x + 17.0, y + 10.5, "", class.name);
            x += 36.0 + 7.0 * class.name.len() as f64;
        }
        let _ = writeln!(
            self.body,
            "<path d=\"M{x:.1} {:.1}h16\" stroke=\"#b3004b\" stroke-width=\"2\"/>",
            y + 6.0
        );
        self.text(x + 21.0, y + 10.5, "", "critical path");
        self.y += 24.0;
    }
}

/// The next of 1, 2, 5, 10, … that is not below `ns`.
fn nice(ns: i64) -> i64 {
    let mut power = 1_i64;
    loop {
        for factor in [1, 2, 5] {
            let Some(step) = power.checked_mul(factor) else {
                return i64::MAX;
            };
            if step >= ns {
                return step;
            }
        }
        power = power.saturating_mul(10);
    }
}
