//! Tests of the readers on synthetic profiles and on real captures.

mod captures;
mod dumps;
mod formats;
mod fuzz;
mod inspecting;
mod malformed;
mod memory;
mod pairing;
mod random;
mod reading;
mod recovering;
mod round_trip;
mod synth;
