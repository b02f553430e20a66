//! States of observables in checkpoints: a small part as JSON and arrays of numbers.
use crate::output::{Checkpoint, OutputError};

type Arrays = Vec<(String, Vec<f64>)>;

/// Puts a state under `name`, its arrays under `name/ARRAY`.
pub fn save_arrays(
    checkpoint: &mut Checkpoint,
    name: &str,
    (state, arrays): (serde_json::Value, Arrays),
) -> Result<(), OutputError> {
    checkpoint.put_json(name, &state)?;
    let names: Vec<&str> = arrays.iter().map(|(name, _)| name.as_str()).collect();
    checkpoint.put_json(&format!("{name}/arrays"), &names)?;
    // They take much room: each goes as soon as it is there.
    for (array, values) in arrays {
        checkpoint.put_f64(&format!("{name}/{array}"), &values);
    }
    Ok(())
}

/// What [`save_arrays`] has put there.
pub fn load_arrays(
    checkpoint: &Checkpoint,
    name: &str,
) -> Result<(serde_json::Value, Arrays), OutputError> {
    let names: Vec<String> = checkpoint.get_json(&format!("{name}/arrays"))?;
    let arrays = names
        .into_iter()
        .map(|array| {
            let values = checkpoint.get_f64(&format!("{name}/{array}"))?;
            Ok((array, values))
        })
        .collect::<Result<_, OutputError>>()?;
    Ok((checkpoint.get_json(name)?, arrays))
}
