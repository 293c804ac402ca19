//! Reports and exports of predicted timelines.
//!
//! * [`Report`]: a result as one self-contained HTML file, for people who decide on pictures.
//! * [`export`]: a timeline in the formats that people's viewers, notebooks and tools open.
//!
//! # Text from a file is text
//!
//! Names come from files that nobody vouches for. In HTML they are escaped; what scripts read is
//! packed, so that no name can end a script; scripts set them as text, never as markup; and a content
//! security policy lets no other script run. In every other format they are quoted by its rules.

pub mod export;
mod html;
mod text;

pub use html::{Language, Report};
