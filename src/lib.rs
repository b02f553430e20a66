//! Molecular dynamics of supercooled liquids and glasses, exact to the last bit.
//!
//! Three storeys; imports only point down:
//!
//! 1. What is simulated: [`system`], [`potential`], [`integrator`], [`observable`] and the
//!    [`arithmetic`] they rest on: plain data and formulas.
//! 2. What runs it: [`engine`].
//! 3. What the user touches: [`config`] (text to [`plan`]), [`initial`] states, [`run`] (stages,
//!    checkpoints), [`output`] (files), [`convert`] (files of other programs) and [`command`] (the command line).
mod announce;
pub mod arithmetic;
pub mod command;
pub mod config;
pub mod convert;
pub mod engine;
pub mod initial;
pub mod integrator;
pub mod observable;
pub mod output;
pub mod plan;
pub mod potential;
pub mod run;
pub mod system;
