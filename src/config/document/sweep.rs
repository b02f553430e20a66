use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Lists of values for keys of the configuration.
#[derive(Clone, Debug, JsonSchema)]
pub struct Sweep {
    /// Takes the first values of all lists together, then the second ones, and so on, instead of all combinations.
    #[schemars(extend("default" = false))]
    pub zip: Option<bool>,
    #[schemars(flatten)]
    pub values: BTreeMap<String, Vec<Value>>,
}

/// The table is read and taken out of the text before: where it is met here, several runs are refused.
impl<'de> Deserialize<'de> for Sweep {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer)?;
        Ok(Sweep { zip: None, values: BTreeMap::new() })
    }
}
