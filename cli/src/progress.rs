//! Progress on standard error: only on a terminal, and only for work that takes long.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A progress bar that stays away where nobody would see it.
#[derive(Debug)]
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// A bar with a label. Hidden unless standard error is a terminal; indicatif redraws at most ten
    /// times a second.
    pub(crate) fn new(label: &'static str) -> Self {
        let bar = ProgressBar::with_draw_target(Some(1000), ProgressDrawTarget::stderr_with_hz(10));
        if let Ok(style) = ProgressStyle::with_template("{msg} [{bar:40}] {percent}% {eta}") {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_message(label);
        Self(bar)
    }

    /// Shows `share` of the work as done, 0 to 1. Says nothing in the first 300 ms: most answers are
    /// there by then.
    pub(crate) fn set(&self, share: f64) {
        if self.0.elapsed() > Duration::from_millis(300) {
            self.0.set_position((share.clamp(0.0, 1.0) * 1000.0) as u64);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
