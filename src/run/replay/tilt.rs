//! Frames in boxes with a tilt: of a box at rest, or of the flow of the stage.
use std::path::Path;

use supercool_analysis::Frame;

use super::ReplayError;
use crate::plan::{BoxCourse, Plan};

/// Of files of other programs, rounded as texts of six digits are.
const TOLERANCE: f64 = 1e-5;

/// The tilt that each frame must have.
pub(super) struct Tilts {
    course: BoxCourse,
    stage: String,
}

impl Tilts {
    /// `plan`: with the box of the first frame, and the timestep of the stage.
    ///
    /// # Errors
    /// If the stage has what is not made for a tilted box, or a flow that does not begin with the first frame, whose steps are not
    /// counted as those of the plan, or that has images of particles only where they are followed.
    pub fn new(
        plan: &Plan,
        stage: usize,
        first: &Frame,
        per_count: u64,
        path: &Path,
    ) -> Result<Self, ReplayError> {
        let of = &plan.stages[stage];
        let course = BoxCourse::new(plan, &of.name);
        let (path, stage_name) = (path.to_owned(), of.name.clone());
        if !course.may_tilt() {
            return Ok(Tilts { course, stage: stage_name });
        }
        if let Some(refused) = of.not_in_tilted_box() {
            let (what, help) = (refused.what, refused.help);
            return Err(ReplayError::Tilted { path, stage: stage_name, what, help });
        }
        if of.shear.is_some() {
            let refused =
                |why| Err(ReplayError::Flow { path: path.clone(), stage: of.name.clone(), why });
            let (begins, found) = (plan.first_step(stage), first.step * per_count);
            if begins != found {
                return refused(format!(
                    "begins at step {begins} of the configuration, and the first frame is of step {found}"
                ));
            }
            if first.image.is_none() {
                return refused(
                    "carries particles through the box, and the file has no images".into(),
                );
            }
            if of.correlations.iter().any(|of| !of.origins.is_empty()) {
                return refused(
                    "has correlations from given time origins, which follow particles in the run"
                        .into(),
                );
            }
        }
        Ok(Tilts { course, stage: stage_name })
    }

    /// # Errors
    /// If a frame, whose step is one of the plan, has another tilt.
    pub fn check(&self, frame: &Frame, path: &Path) -> Result<(), ReplayError> {
        let expected = self.course.at(frame.step).tilt();
        let difference = frame.tilt - expected;
        if (difference - difference.round()).abs() <= TOLERANCE {
            return Ok(());
        }
        let (path, stage) = (path.to_owned(), self.stage.clone());
        Err(ReplayError::OtherTilt { path, stage, step: frame.step, found: frame.tilt, expected })
    }
}
