//! One system without files.
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyDict};
use supercool::engine::CancelToken;
use supercool::potential::PotentialPlan;
use supercool::system::species_of_particles;

use crate::course::{Change, Course};
use crate::device_array::{self, DeviceArray};
use crate::error::raise;
use crate::{configuration, log};

/// Time between looks at signals.
const PATIENCE: Duration = Duration::from_millis(100);
/// Steps before the time that one takes is known.
const FIRST_STEPS: u64 = 10;

/// Arrays are handed out as bytes of numbers of the machine, particle by particle.
#[pyclass(frozen)]
pub struct Simulation(Mutex<Course>);

impl Simulation {
    /// Does `work` detached from the interpreter, which logging needs meanwhile.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Course) -> miette::Result<T> + Send,
    ) -> PyResult<T> {
        py.detach(|| {
            let mut course = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            course.check_sound()?;
            work(&mut course)
        })
        .map_err(raise)
    }

    /// The first `dimension` components of each particle.
    fn floats<'py>(
        &self,
        py: Python<'py>,
        of: impl FnOnce(&mut Course) -> miette::Result<Vec<[f64; 3]>> + Send,
    ) -> PyResult<Bound<'py, PyByteArray>> {
        let bytes = self.with(py, |course| {
            let dimension = course.simulation_box().dimension();
            Ok(bytes_of(&of(course)?, dimension, f64::to_ne_bytes))
        })?;
        Ok(PyByteArray::new(py, &bytes))
    }
}

#[pymethods]
impl Simulation {
    #[new]
    #[pyo3(signature = (name, text, *, engine=None, system=None, initial=None))]
    fn new(
        py: Python<'_>,
        name: PathBuf,
        text: Option<String>,
        engine: Option<&str>,
        system: Option<usize>,
        initial: Option<PathBuf>,
    ) -> PyResult<Self> {
        log::to_python();
        let engine = configuration::engine(engine)?;
        let mut loaded = configuration::load_for(py, name, text)?;
        if let Some(file) = initial {
            configuration::start_from(py, &mut loaded.plan, file)?;
        }
        if let Some(engine) = engine {
            loaded.plan.run.engine = engine;
        }
        let course = py.detach(|| Course::new(loaded.plan, system)).map_err(raise)?;
        Ok(Simulation(Mutex::new(course)))
    }

    /// Between parts of the steps Python handles signals; where a handler raises, the steps taken so far stay.
    fn advance(&self, py: Python<'_>, steps: u64) -> PyResult<()> {
        self.with(py, |course| course.check_steps(steps))?;
        let mut left = steps;
        let mut part = FIRST_STEPS;
        while left > 0 {
            let now = part.min(left);
            let start = Instant::now();
            self.with(py, |course| course.advance(now))?;
            left -= now;
            let each = (start.elapsed().as_secs_f64() / now as f64).max(1e-9);
            part = ((PATIENCE.as_secs_f64() / each) as u64).max(1);
            py.check_signals()?;
        }
        Ok(())
    }

    #[getter]
    fn step(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |course| Ok(course.step()))
    }

    #[getter]
    fn total_steps(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |course| Ok(course.plan.total_steps()))
    }

    #[getter]
    fn stage(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |course| Ok(course.stage().name.clone()))
    }

    #[getter]
    fn timestep(&self, py: Python<'_>) -> PyResult<f64> {
        self.with(py, |course| Ok(course.timestep()))
    }

    /// Since the start.
    #[getter]
    fn time(&self, py: Python<'_>) -> PyResult<f64> {
        self.with(py, |course| Ok(course.time()))
    }

    /// Edges of the box.
    #[getter]
    fn edges(&self, py: Python<'_>) -> PyResult<Vec<f64>> {
        self.with(py, |course| Ok(course.simulation_box().edges().to_vec()))
    }

    /// Of the box, a fraction of its edge along x.
    #[getter]
    fn tilt(&self, py: Python<'_>) -> PyResult<f64> {
        self.with(py, |course| Ok(course.simulation_box().tilt()))
    }

    /// Name, number of particles and mass of each species.
    #[getter]
    fn species(&self, py: Python<'_>) -> PyResult<Vec<(String, usize, f64)>> {
        self.with(py, |course| {
            let species = course.plan.system.species.iter();
            Ok(species.map(|each| (each.name.clone(), each.count, each.mass)).collect())
        })
    }

    /// Natural length of each species with itself.
    #[getter]
    fn lengths(&self, py: Python<'_>) -> PyResult<Vec<f64>> {
        self.with(py, |course| {
            let PotentialPlan { form, pairs, .. } = &course.plan.potential;
            Ok((0..pairs.len()).map(|of| form.scale(&pairs[of][of]).length).collect())
        })
    }

    /// Species of each particle: bytes.
    fn species_of<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyByteArray>> {
        let of = self.with(py, |course| Ok(species_of_particles(&course.plan.system.species)))?;
        Ok(PyByteArray::new(py, &of))
    }

    /// 64-bit floats; `None` where particles have no diameters of their own.
    fn diameters<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyByteArray>>> {
        let bytes = self.with(py, |course| {
            if course.plan.potential.diameters.is_none() {
                return Ok(None);
            }
            let diameter = course.snapshot()?.diameter;
            Ok(Some(diameter.iter().flat_map(|each| each.to_ne_bytes()).collect::<Vec<u8>>()))
        })?;
        Ok(bytes.map(|bytes| PyByteArray::new(py, &bytes)))
    }

    /// Of particles with diameters.
    #[getter]
    fn non_additivity(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        self.with(py, |course| Ok(course.plan.potential.diameters.map(|of| of.non_additivity)))
    }

    /// Trials to exchange diameters since the start, and how many were accepted.
    fn swaps(&self, py: Python<'_>) -> PyResult<(u64, u64)> {
        let thermostat = self.with(py, |course| Ok(course.export()?.thermostat))?;
        Ok((thermostat.swap_trials, thermostat.swaps))
    }

    /// 64-bit floats.
    fn positions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyByteArray>> {
        self.floats(py, |course| Ok(course.snapshot()?.position))
    }

    /// 64-bit floats.
    fn unwrapped<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyByteArray>> {
        self.floats(py, |course| {
            let (snapshot, of) = (course.snapshot()?, course.simulation_box());
            Ok((0..snapshot.position.len()).map(|id| snapshot.unwrapped(id, &of)).collect())
        })
    }

    /// 64-bit floats.
    fn velocities<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyByteArray>> {
        self.floats(py, |course| Ok(course.snapshot()?.velocity))
    }

    /// 64-bit floats.
    fn forces<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyByteArray>> {
        self.floats(py, |course| Ok(course.forces()?))
    }

    /// 32-bit integers.
    fn images<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyByteArray>> {
        let bytes = self.with(py, |course| {
            let dimension = course.simulation_box().dimension();
            Ok(bytes_of(&course.snapshot()?.image, dimension, i32::to_ne_bytes))
        })?;
        Ok(PyByteArray::new(py, &bytes))
    }

    /// `None` where the engine has no GPU.
    fn device_array(&self, py: Python<'_>, name: &str) -> PyResult<Option<DeviceArray>> {
        let quantity = device_array::quantity(name)?;
        let array = self.with(py, |course| Ok(course.device_array(quantity)?))?;
        Ok(array.map(DeviceArray::new))
    }

    /// Of positions, images and velocities.
    fn hash(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |course| Ok(course.export()?.hash().to_string()))
    }

    fn thermodynamics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let now = self.with(py, |course| Ok(course.thermodynamics()?))?;
        let values = PyDict::new(py);
        for (name, value) in [
            ("temperature", now.temperature),
            ("half_step_temperature", now.half_step_temperature),
            ("potential_energy", now.potential_energy),
            ("kinetic_energy", now.kinetic_energy),
            ("total_energy", now.total_energy()),
            ("conserved_energy", now.conserved_energy),
            ("pressure", now.pressure),
            ("virial", now.virial),
        ] {
            values.set_item(name, value)?;
        }
        Ok(values)
    }

    fn draw_velocities(&self, py: Python<'_>, temperature: f64) -> PyResult<()> {
        if !(temperature.is_finite() && temperature > 0.0) {
            return Err(PyValueError::new_err(format!(
                "temperature = {temperature}: it must be a positive number"
            )));
        }
        self.with(py, |course| Ok(course.draw_velocities(temperature)?))
    }

    /// The fields of `supercool.Minimum`.
    fn minimize<'py>(
        &self,
        py: Python<'py>,
        force_tolerance: f64,
        maximum_iterations: u64,
    ) -> PyResult<Bound<'py, PyDict>> {
        let mut raised = None;
        let found = self.with(py, |course| {
            let dimension = course.simulation_box().dimension();
            let found = until_signal(&mut raised, |cancel| {
                course.minimize(force_tolerance, maximum_iterations, cancel)
            });
            Ok((dimension, found?))
        });
        // A descent that was left is no error of its own.
        let (dimension, found) = raised.map_or(found, Err)?;
        let bytes = |bytes: Vec<u8>| PyByteArray::new(py, &bytes);
        let snapshot = &found.snapshot;
        let minimum = PyDict::new(py);
        let positions = bytes_of(&snapshot.position, dimension, f64::to_ne_bytes);
        minimum.set_item("positions", bytes(positions))?;
        minimum
            .set_item("images", bytes(bytes_of(&snapshot.image, dimension, i32::to_ne_bytes)))?;
        minimum.set_item("energy", found.energy)?;
        minimum.set_item("pressure", found.pressure)?;
        minimum.set_item("residual_force", found.residual_force)?;
        minimum.set_item("iterations", found.iterations)?;
        Ok(minimum)
    }

    /// Positions, velocities and diameters are 64-bit floats, images 32-bit integers, particle by particle.
    #[pyo3(signature = (*, positions=None, images=None, velocities=None, diameters=None))]
    fn set(
        &self,
        py: Python<'_>,
        positions: Option<&[u8]>,
        images: Option<&[u8]>,
        velocities: Option<&[u8]>,
        diameters: Option<&[u8]>,
    ) -> PyResult<()> {
        let [positions, images, velocities] =
            [positions, images, velocities].map(|bytes| bytes.map(<[u8]>::to_vec));
        let diameter = diameters.map(numbers);
        self.with(py, move |course| {
            let dimension = course.simulation_box().dimension();
            let floats = |bytes: Vec<u8>| rows_of(&bytes, dimension, f64::from_ne_bytes);
            course.set(Change {
                position: positions.map(floats),
                image: images.map(|bytes| rows_of(&bytes, dimension, i32::from_ne_bytes)),
                velocity: velocities.map(floats),
                diameter,
            })
        })
    }
}

/// Does `work` in another thread, as Python handles signals in this one. Where a handler raises, `work` is cancelled, and
/// `raised` has the exception.
fn until_signal<T: Send>(
    raised: &mut Option<PyErr>,
    work: impl FnOnce(CancelToken) -> T + Send,
) -> T {
    let cancelled = Arc::new(AtomicBool::new(false));
    let token = cancelled.clone();
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        let worker = scope.spawn(move || {
            let done = work(Arc::new(move || token.load(Ordering::Relaxed)));
            // The receiver waits for it.
            let _ = sender.send(done);
        });
        loop {
            match receiver.recv_timeout(PATIENCE) {
                Ok(done) => return done,
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {}
            }
            if raised.is_none()
                && let Err(error) = Python::attach(|py| py.check_signals())
            {
                *raised = Some(error);
                cancelled.store(true, Ordering::Relaxed);
            }
        }
        match worker.join() {
            Err(panic) => resume_unwind(panic),
            Ok(()) => unreachable!("it sends before it ends"),
        }
    })
}

/// 64-bit floats from their bytes.
pub fn numbers(bytes: &[u8]) -> Vec<f64> {
    bytes.as_chunks::<8>().0.iter().map(|&number| f64::from_ne_bytes(number)).collect()
}

/// Bytes of the first components of each row.
fn bytes_of<T: Copy, const BYTES: usize>(
    rows: &[[T; 3]],
    dimension: usize,
    bytes: impl Fn(T) -> [u8; BYTES],
) -> Vec<u8> {
    rows.iter().flat_map(|row| &row[..dimension]).flat_map(|&number| bytes(number)).collect()
}

/// Rows of numbers from their bytes; the third component is zero in two dimensions.
fn rows_of<T: Copy + Default, const BYTES: usize>(
    bytes: &[u8],
    dimension: usize,
    number: impl Fn([u8; BYTES]) -> T,
) -> Vec<[T; 3]> {
    let row = |numbers: &[[u8; BYTES]]| {
        let mut row = [T::default(); 3];
        for (component, &bytes) in row.iter_mut().zip(numbers) {
            *component = number(bytes);
        }
        row
    };
    bytes.as_chunks::<BYTES>().0.chunks_exact(dimension).map(row).collect()
}
