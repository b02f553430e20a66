//! Verbs of an engine that are passed on to another one, for engines that stand around one and change little.

/// Methods of `impl Engine` that call the same ones of a field, as in `delegate!(engine: step, export)`. `export` stands for
/// `begin_export` too, `velocities` and `reports` for all verbs of these.
macro_rules! delegate {
    ($field:ident: $($verb:ident),+ $(,)?) => { $($crate::engine::delegate::delegate!(@$verb $field);)+ };
    (@step $field:ident) => {
        fn step(&self) -> u64 {
            self.$field.step()
        }
    };
    (@thermodynamics $field:ident) => {
        fn thermodynamics(
            &mut self,
        ) -> Result<$crate::engine::Thermodynamics, $crate::engine::EngineError> {
            self.$field.thermodynamics()
        }
    };
    (@snapshot $field:ident) => {
        fn snapshot(&self) -> Result<$crate::system::Snapshot, $crate::engine::EngineError> {
            self.$field.snapshot()
        }
    };
    (@begin_snapshot $field:ident) => {
        fn begin_snapshot(
            &mut self,
        ) -> Result<$crate::engine::PendingSnapshot, $crate::engine::EngineError> {
            self.$field.begin_snapshot()
        }
    };
    (@export $field:ident) => {
        fn export(&self) -> Result<$crate::engine::ExactState, $crate::engine::EngineError> {
            self.$field.export()
        }
        fn begin_export(
            &mut self,
        ) -> Result<$crate::engine::PendingState, $crate::engine::EngineError> {
            self.$field.begin_export()
        }
    };
    (@forces $field:ident) => {
        fn forces(&self) -> Result<Vec<[f64; 3]>, $crate::engine::EngineError> {
            self.$field.forces()
        }
    };
    (@velocities $field:ident) => {
        fn draw_velocities(
            &mut self,
            temperature: f64,
            exactly: bool,
        ) -> Result<(), $crate::engine::EngineError> {
            self.$field.draw_velocities(temperature, exactly)
        }
        fn scale_velocities(&mut self, factor: f64) -> Result<(), $crate::engine::EngineError> {
            self.$field.scale_velocities(factor)
        }
        fn reverse_velocities(&mut self) -> Result<(), $crate::engine::EngineError> {
            self.$field.reverse_velocities()
        }
    };
    (@set_box $field:ident) => {
        fn simulation_box(&self) -> $crate::system::SimulationBox {
            self.$field.simulation_box()
        }
        fn set_box(
            &mut self,
            simulation_box: $crate::system::SimulationBox,
        ) -> Result<(), $crate::engine::EngineError> {
            self.$field.set_box(simulation_box)
        }
    };
    (@reports $field:ident) => {
        fn report(&self) -> $crate::engine::EngineReport {
            self.$field.report()
        }
    };
}
pub(crate) use delegate;
