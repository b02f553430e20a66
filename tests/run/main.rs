//! The program as a user meets it: the binary, run on small systems in directories of its own.
#[path = "../common/mod.rs"]
mod common;

mod aging;
mod alarms;
mod analyze;
mod classes;
mod commands;
mod conditions;
mod damaged;
mod directory;
mod displaced;
mod energy;
mod initial;
mod intervals;
mod isoconfigurational;
mod kill;
mod look;
mod many_boxes;
mod many_systems;
mod observed;
mod pressure;
mod refused;
mod replicas;
mod resume;
mod settings;
mod shear;
mod simple_shear;
mod strain;
mod survive;
mod sweep;
mod tilted;
mod timesteps;
