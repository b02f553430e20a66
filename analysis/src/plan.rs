//! What the plan in a results file says of its stages.
use serde_json::Value;

/// First step of a stage of a plan since the start of the run, and the stage's number of steps.
pub fn stage_steps(plan: &Value, stage: &str) -> Option<(u64, u64)> {
    let mut first = 0;
    for each in plan["stages"].as_array()? {
        let steps = each["steps"].as_u64()?;
        if each["name"] == stage {
            return Some((first, steps));
        }
        first = steps.checked_add(first)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_follow_each_other() {
        let plan = serde_json::json!({"stages": [
            {"name": "melt", "steps": 10}, {"name": "cold", "steps": 30},
        ]});
        assert_eq!(stage_steps(&plan, "melt"), Some((0, 10)));
        assert_eq!(stage_steps(&plan, "cold"), Some((10, 30)));
        assert_eq!(stage_steps(&plan, "hot"), None);
    }
}
