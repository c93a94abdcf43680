//! The same lists as a JSON Schema, for editors that know TOML.

use serde_json::{Map, Value, json};

use super::{KINDS, Key, tables};

/// Any name may stand here: `[service.NAME]`.
const ANY: &str = "NAME";

/// A JSON Schema (draft 7) of a configuration. It knows every key, and types where one word tells them;
/// what it accepts may still be refused, what it refuses is refused.
#[must_use]
pub fn json() -> Value {
    let mut root = object();
    for table in tables() {
        // Kinds of check share their table: a check has the keys of its kind and those of all.
        let (name, _) = table.name.split_once(',').unwrap_or((table.name, ""));
        let name = name.trim_matches(['[', ']']);
        let path =
            if name.starts_with("check.") { format!("service.{ANY}.{name}") } else { name.into() };
        let rows = table.name.starts_with("[[");
        let steps: Vec<&str> = path.split('.').filter(|step| !step.is_empty()).collect();
        let place = at(&mut root, &steps, rows);
        if place.get("description").is_none() {
            place["description"] = table.about.into();
        }
        for key in table.keys {
            let known = place["properties"].get(key.name);
            if known.is_none_or(|known| known.get("properties").is_none()) {
                place["properties"][key.name] = of(key);
            }
        }
    }
    // What is short elsewhere: a limit in a service, a target for a check, pools' checks.
    let policy = root["properties"]["policy"]["additionalProperties"].clone();
    let services = &mut root["properties"]["service"]["additionalProperties"]["properties"];
    services["policy"] = json!({ "description": services["policy"]["description"], "anyOf": [{ "type": "string" }, policy] });
    let check = &mut services["check"]["additionalProperties"];
    check["properties"]["kind"]["enum"] = KINDS.into_iter().collect();
    let check = json!({ "anyOf": [{ "type": "string" }, { "const": false }, check.take()] });
    services["check"]["additionalProperties"] = check.clone();
    let pools = &mut root["properties"]["pool"]["additionalProperties"]["properties"];
    pools["check"]["additionalProperties"] = check;
    root["$schema"] = "http://json-schema.org/draft-07/schema#".into();
    root["title"] = "giveover.toml".into();
    root
}

fn object() -> Value {
    json!({ "type": "object", "properties": Map::new(), "additionalProperties": false })
}

/// The table at `path`, made on the way.
fn at<'v>(root: &'v mut Value, path: &[&str], rows: bool) -> &'v mut Value {
    let mut place = root;
    for (index, step) in path.iter().enumerate() {
        let last = index + 1 == path.len();
        if *step == ANY {
            place = &mut place["additionalProperties"];
        } else {
            place = &mut place["properties"][*step];
            if rows && last {
                place["type"] = "array".into();
                place = &mut place["items"];
            }
        }
        let tables = path.get(index + 1) == Some(&ANY);
        if tables {
            let description = place.get("description").cloned().unwrap_or_default();
            if place.get("additionalProperties").is_none_or(Value::is_boolean) {
                *place = json!({ "type": "object", "description": description, "additionalProperties": object() });
            }
        } else if place.get("properties").is_none() {
            let description = place.get("description").cloned();
            *place = object();
            if let Some(description) = description {
                place["description"] = description;
            }
        }
    }
    place
}

/// What is known of the value of `key`.
fn of(key: &Key) -> Value {
    let default =
        if key.default.is_empty() { String::new() } else { format!(" ({})", key.default) };
    let mut value = json!({ "description": format!("{}: {}{default}", key.takes, key.about) });
    let range = key.takes.split_once(" to ");
    let range =
        range.and_then(|(from, to)| Some((from.parse::<i64>().ok()?, to.parse::<i64>().ok()?)));
    match (key.takes, range) {
        ("true or false", _) => value["type"] = "boolean".into(),
        ("text" | "duration" | "absolute path", _) => value["type"] = "string".into(),
        (_, Some((from, to))) => {
            value["type"] = "integer".into();
            value["minimum"] = from.into();
            value["maximum"] = to.into();
        }
        _ => {}
    }
    value
}
