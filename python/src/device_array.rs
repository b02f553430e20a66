//! Arrays in the memory of a GPU that other libraries take over by DLPack.
use std::sync::Arc;

use dlpark::ffi::{DLDataType, DLDevice, DLManagedTensor, DLManagedTensorVersioned};
use dlpark::metadata::Fixed;
use dlpark::python::{DlpackExporter, ExportRequest, export_dlpack};
use dlpark::{DlpackFlags, Managed, ManagedTensorBase};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use supercool::engine::{DeviceArray as Array, ParticleQuantity};

/// Whoever takes it over keeps its memory.
#[pyclass(frozen)]
pub struct DeviceArray(Arc<Array>);

impl DeviceArray {
    pub fn new(array: Array) -> Self {
        DeviceArray(Arc::new(array))
    }

    fn tensor<M: ManagedTensorBase>(&self) -> PyResult<Managed<M>> {
        let array = &self.0;
        let [particles, components] = array.shape().map(|length| length as i64);
        let element = match array.quantity() {
            ParticleQuantity::Image => DLDataType::of::<i32>(),
            _ => DLDataType::of::<f64>(),
        };
        let prepared = Fixed::new([particles, components], [components, 1])
            .prepare_as::<M>()
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        let mut tensor = prepared.initialize(array.clone());
        tensor.set_device(self.device());
        tensor.set_data(array.address() as *mut std::ffi::c_void);
        tensor.set_dtype(element);
        // SAFETY: the array is as long as shape and type say, its rows follow each other, and the tensor keeps its memory.
        Ok(unsafe { tensor.finish() })
    }
}

impl DlpackExporter for DeviceArray {
    fn device(&self) -> DLDevice {
        DLDevice::cuda(self.0.gpu() as i32)
    }

    fn flags(&self) -> DlpackFlags {
        DlpackFlags::empty()
    }

    /// It was waited for when it was made: there is nothing that a stream has to wait for.
    fn prepare_export(&self, _py: Python<'_>, request: &ExportRequest<'_>) -> PyResult<()> {
        request.cuda_stream().map(|_| ())
    }

    fn export_legacy(&self, _py: Python<'_>) -> PyResult<Managed<DLManagedTensor>> {
        self.tensor()
    }

    fn export_versioned(&self, _py: Python<'_>) -> PyResult<Managed<DLManagedTensorVersioned>> {
        self.tensor()
    }
}

#[pymethods]
impl DeviceArray {
    /// Rows and components.
    #[getter]
    fn shape(&self) -> (usize, usize) {
        self.0.shape().into()
    }

    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<&Bound<'py, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(u32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Py<PyAny>> {
        export_dlpack(self, py, ExportRequest::parse(stream, max_version, dl_device, copy)?)
    }

    fn __dlpack_device__(&self) -> (u32, i32) {
        self.device().into()
    }

    fn __repr__(&self) -> String {
        let [particles, components] = self.0.shape();
        format!("<supercool.DeviceArray: {particles} x {components}, GPU {}>", self.0.gpu())
    }
}

/// # Errors
/// If no quantity has this name.
pub fn quantity(name: &str) -> PyResult<ParticleQuantity> {
    let found = ParticleQuantity::ALL.into_iter().find(|(known, _)| *known == name);
    found.map(|(_, quantity)| quantity).ok_or_else(|| {
        let known = ParticleQuantity::ALL.map(|(known, _)| known).join(", ");
        PyValueError::new_err(format!("{name:?} is no quantity of particles; there are {known}"))
    })
}
