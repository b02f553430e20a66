//! Time correlations that a card evaluates, against those of the same samples on the host; without a card every test
//! says that it does nothing.
mod around;
mod case;
mod densities;
mod particles;
mod stress;
mod structure;
