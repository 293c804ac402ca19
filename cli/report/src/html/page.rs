//! The frame of every report: head, sections, timelines, script.

use std::io::{self, Write};

use ascsim_studies::StepTimeline;
use base64::Engine as _;
use sha2::{Digest, Sha256};

use super::compare::Marks;
use super::encode;
use super::words::Words;
use crate::text::{escape, script_json};

const STYLE: &str = include_str!("../assets/report.css");
/// One script of three parts; strict, and with no name left behind but `ascsim`.
const SCRIPT: &str = concat!(
    "\"use strict\";\n{\n",
    include_str!("../assets/data.js"),
    "\n",
    include_str!("../assets/view.js"),
    "\n",
    include_str!("../assets/ui.js"),
    "}\n"
);

/// A timeline of a page.
pub(super) struct Panel<'a> {
    pub(super) title: &'a str,
    pub(super) step: &'a StepTimeline,
    pub(super) marks: Marks,
}

/// A page. `head` and `body` are HTML; the rest is text.
pub(super) struct Page<'a> {
    pub(super) words: &'a Words,
    pub(super) title: String,
    pub(super) tool: &'a str,
    /// Above the timelines.
    pub(super) head: String,
    /// Below them.
    pub(super) body: String,
    pub(super) panels: Vec<Panel<'a>>,
}

impl Page<'_> {
    /// Writes it.
    ///
    /// # Errors
    /// Of the writer.
    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let w = self.words;
        let digest = base64::engine::general_purpose::STANDARD.encode(Sha256::digest(SCRIPT));
        write!(
            out,
            "<!DOCTYPE html>\n<html lang=\"{tag}\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
             style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'; \
             base-uri 'none'; form-action 'none'\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"generator\" content=\"{tool}\">\n<link rel=\"icon\" href=\"data:,\">\n\
             <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
             <header class=\"page\"><span class=\"tool\">{tool} · {report}</span>\
             <button id=\"theme\" type=\"button\">{theme}</button></header>\n<main>\n{head}",
            tag = w.tag,
            tool = escape(self.tool),
            title = escape(&self.title),
            report = w.report,
            theme = w.theme,
            head = self.head,
        )?;
        if !self.panels.is_empty() {
            self.timelines(out)?;
        }
        write!(
            out,
            "{}</main>\n<footer class=\"page\">{}</footer>\n",
            self.body,
            escape(self.tool)
        )?;
        writeln!(
            out,
            "<script type=\"application/json\" id=\"words\">{}</script>",
            script_json(&w.script())
        )?;
        for (at, panel) in self.panels.iter().enumerate() {
            write!(
                out,
                "<script type=\"application/octet-stream\" id=\"data-{at}\">"
            )?;
            encode::write(panel.step, &panel.marks, out)?;
            writeln!(out, "</script>")?;
        }
        write!(out, "<script>{SCRIPT}</script>\n</body>\n</html>\n")
    }

    fn timelines(&self, out: &mut dyn Write) -> io::Result<()> {
        let w = self.words;
        let button = |id: &str, text: &str, name: &str| {
            format!(
                "<button type=\"button\" id=\"{id}\" aria-label=\"{name}\" title=\"{name}\">{text}</button>"
            )
        };
        let check = |id: &str, name: &str| {
            format!("<label><input type=\"checkbox\" id=\"show-{id}\" checked> {name}</label>")
        };
        write!(
            out,
            "<section aria-labelledby=\"timeline\">\n<h2 id=\"timeline\">{timeline}</h2>\n\
             <noscript><p>{no_script}</p></noscript><p id=\"broken\" class=\"hang\" hidden>{broken}</p>\n\
             <div class=\"controls\"><span class=\"group\">{zoom}</span>\
             <span class=\"group\"><input type=\"search\" id=\"search\" size=\"26\" placeholder=\"{search}\" \
             aria-label=\"{search}\">{hits}<span id=\"count\" role=\"status\"></span></span>\
             <span class=\"group\">{shows}</span></div>\n",
            timeline = w.timeline,
            no_script = w.no_script,
            broken = w.broken,
            search = w.search,
            zoom = [
                button("zoom-in", "+", w.zoom_in),
                button("zoom-out", "−", w.zoom_out),
                button("earlier", "◀", w.earlier_button),
                button("later", "▶", w.later),
                button("fit", w.fit, w.fit),
            ]
            .concat(),
            hits = [
                button("previous", "↑", w.previous),
                button("next", "↓", w.next),
            ]
            .concat(),
            shows = [
                check("path", w.show_path),
                check("links", w.show_links),
                check("engines", w.show_engines),
            ]
            .concat(),
        )?;
        writeln!(
            out,
            "<div class=\"work\"><div><canvas id=\"axis\" aria-hidden=\"true\"></canvas>"
        )?;
        for (at, panel) in self.panels.iter().enumerate() {
            let title = escape(panel.title);
            writeln!(
                out,
                "<div class=\"panel\" data-source=\"data-{at}\"><h3>{title}</h3>\
                 <div class=\"lanes\"><canvas tabindex=\"0\" role=\"application\" \
                 aria-label=\"{timeline}: {title}\" aria-describedby=\"keys\"></canvas>\
                 <div class=\"filler\"></div></div></div>",
                timeline = w.timeline,
            )?;
        }
        let changed = if self.panels.len() > 1 {
            format!(
                "<li><span class=\"swatch changed\"></span>{}</li>",
                w.changed
            )
        } else {
            String::new()
        };
        let key = |keys: &[&str], does: &str| {
            let keys: Vec<String> = keys.iter().map(|key| format!("<kbd>{key}</kbd>")).collect();
            format!("{} {does}", keys.join(" "))
        };
        let keys = [
            key(&["+", "−", "W", "S", w.key_wheel], w.key_zoom),
            key(&["A", "D", w.key_drag], w.key_pan),
            key(&["←", "→", "↑", "↓"], w.key_select),
            key(&["Enter"], w.key_enter),
            key(&["0"], w.key_fit),
            key(&["/"], w.key_search),
            key(&["N", "P"], w.key_hits),
        ]
        .join(" · ");
        write!(
            out,
            "<ul class=\"legend\"><li><span class=\"swatch line\"></span>{path}</li>{changed}</ul>\
             <ul class=\"legend\" id=\"legend\"></ul>\n<p class=\"keys\" id=\"keys\">{keys_word}: {keys}</p></div>\n\
             <aside aria-labelledby=\"details\"><h3 id=\"details\">{details}</h3>\
             <p id=\"facts-hint\" class=\"keys\">{hint}</p><dl id=\"facts\"></dl>\
             <span id=\"said\" class=\"quiet\" role=\"status\"></span></aside></div>\n</section>\n",
            path = w.show_path,
            keys_word = w.keys,
            details = w.details,
            hint = w.hint,
        )
    }
}
