//! The rows of `tests/requirements.md` and what is declared about them.

use crate::entries;

/// The number of a row: document and row, as in `1.44`.
pub(crate) type Number = (u8, u16);

/// A requirement.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) number: Number,
    pub(crate) text: String,
    /// Background that asks nothing of us.
    pub(crate) context: bool,
}

/// Reads `N.M`.
pub(crate) fn number(text: &str) -> Option<Number> {
    let (document, row) = text.split_once('.')?;
    Some((document.parse().ok()?, row.parse().ok()?))
}

/// All rows, in the order of the file.
pub(crate) fn rows(text: &str) -> Vec<Row> {
    text.lines()
        .filter_map(|line| {
            let (first, rest) =
                line.strip_prefix('|')?.trim_end().strip_suffix('|')?.split_once('|')?;
            let text = rest.trim().to_string();
            let context = text.ends_with("*(context, asks nothing)*");
            Some(Row { number: number(first.trim())?, text, context })
        })
        .collect()
}

/// The documents, each with its number: `## 1. 001 data service fault monitors`.
pub(crate) fn documents(text: &str) -> Vec<(u8, String)> {
    text.lines()
        .filter_map(|line| {
            let (number, title) = line.strip_prefix("## ")?.split_once(". ")?;
            Some((number.parse().ok()?, title.to_string()))
        })
        .collect()
}

/// The rows on which we differ on purpose, with the reason.
///
/// # Errors
/// An entry cannot be read, names no row of `rows`, or names one twice.
pub(crate) fn different(text: &str, rows: &[Row]) -> Result<Vec<(Number, String)>, String> {
    let mut found: Vec<(Number, String)> = Vec::new();
    for entry in entries::parse(text, "different")? {
        let (line, row) = (entry.line, entry.value("row")?);
        let known = number(row).filter(|number| rows.iter().any(|row| row.number == *number));
        let number = known.ok_or(format!("line {line}: there is no row {row}"))?;
        if found.iter().any(|(other, _)| *other == number) {
            return Err(format!("line {line}: row {row} is declared twice"));
        }
        found.push((number, entry.value("reason")?.to_string()));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
## 2. 002 the other

| # | requirement |
|---|---|
| 2.1 | First | with a bar |
| 2.10 | Background *(context, asks nothing)* |
";

    #[test]
    fn rows_and_documents_are_read() {
        let rows = rows(TEXT);
        let read: Vec<_> = rows.iter().map(|row| (row.number, row.context)).collect();
        assert_eq!(read, [((2, 1), false), ((2, 10), true)]);
        assert_eq!(rows[0].text, "First | with a bar");
        assert_eq!(documents(TEXT), [(2, "002 the other".to_string())]);
    }

    #[test]
    fn a_declaration_must_name_a_row_once_and_give_a_reason() {
        let rows = rows(TEXT);
        let entry = "[[different]]\nrow = \"2.1\"\nreason = \"so\"\n";
        assert_eq!(different(entry, &rows), Ok(vec![((2, 1), "so".to_string())]));
        assert!(different(&entry.repeat(2), &rows).unwrap_err().contains("twice"));
        assert!(different(&entry.replace("2.1", "2.2"), &rows).unwrap_err().contains("no row 2.2"));
        assert!(different("[[different]]\nrow = \"2.1\"", &rows).unwrap_err().contains("reason"));
    }
}
