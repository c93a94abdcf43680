//! JSON from the daemon into documents.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Reads a document, with every control character in its texts replaced: a text may come from
/// whatever a probed service answered, and ends up on a terminal.
///
/// # Errors
/// It is no such document.
pub(super) fn harmless<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, serde_json::Error> {
    let mut value: Value = serde_json::from_slice(bytes)?;
    clean(&mut value);
    serde_json::from_value(value)
}

/// Our documents have no map with keys of the daemon's making: values are enough. Depth is
/// bounded by the parser.
fn clean(value: &mut Value) {
    match value {
        Value::String(text) if text.chars().any(char::is_control) => {
            *text = text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
        }
        Value::Array(items) => items.iter_mut().for_each(clean),
        Value::Object(fields) => fields.values_mut().for_each(clean),
        _ => {}
    }
}

/// A document on one line.
#[must_use]
pub(super) fn line(document: &impl Serialize) -> String {
    serde_json::to_string(document).unwrap_or_default() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::model::EventDoc;

    #[test]
    fn no_text_of_a_document_can_drive_a_terminal() {
        let bytes =
            br#"{"seq":1,"at":"","level":"","event":"","service":"a","text":"\u001b[2J\n"}"#;
        let event: EventDoc = harmless(bytes).expect("an event");
        assert_eq!(event.text, "\u{fffd}[2J\u{fffd}");
        assert!(harmless::<EventDoc>(b"{}").is_err());
        assert!(harmless::<EventDoc>(&b"[".repeat(100_000)).is_err());
    }
}
