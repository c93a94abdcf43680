//! Columns that line up and fit the screen.

/// No screen is wider, on however wide a terminal.
pub const WIDTH: usize = 100;

/// Which edge of a column its cells keep to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// One column: its title and its edge.
pub type Column = (&'static str, Edge);

/// Cells in rows under titles.
#[derive(Clone, Debug)]
pub struct Table<'a> {
    columns: &'a [Column],
    rows: Vec<Vec<String>>,
    /// The columns that give way, in turn, when the screen is too narrow.
    soft: &'a [usize],
}

impl<'a> Table<'a> {
    /// An empty table; the columns numbered in `soft` are cut first.
    #[must_use]
    pub fn new(columns: &'a [Column], soft: &'a [usize]) -> Self {
        Self { columns, rows: Vec::new(), soft }
    }

    /// Adds a row; cells that are missing are empty.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// The titles and then the rows, each a line no wider than `width`. `paint` may colour a
    /// cell of a row (row, column, padded text); it must not change its width.
    #[must_use]
    pub fn lines(
        &self,
        width: usize,
        paint: impl Fn(usize, usize, String) -> String,
    ) -> Vec<String> {
        let widths = self.widths(width);
        let titles: Vec<String> =
            self.columns.iter().map(|(title, _)| String::from(*title)).collect();
        let mut lines = vec![self.line(&titles, &widths, |_, text| text)];
        for (place, row) in self.rows.iter().enumerate() {
            lines.push(self.line(row, &widths, |column, text| paint(place, column, text)));
        }
        lines
    }

    fn line(
        &self,
        cells: &[String],
        widths: &[usize],
        paint: impl Fn(usize, String) -> String,
    ) -> String {
        let mut line = String::new();
        let last = self.columns.len().saturating_sub(1);
        for (place, ((_, edge), width)) in self.columns.iter().zip(widths).enumerate() {
            let text = cut(cells.get(place).map_or("", String::as_str), *width);
            let text = match edge {
                Edge::Right => format!("{text:>width$}"),
                Edge::Left if place == last => text,
                Edge::Left => format!("{text:<width$}"),
            };
            line.push_str(&paint(place, text));
            if place != last {
                line.push_str("  ");
            }
        }
        String::from(line.trim_end())
    }

    fn widths(&self, width: usize) -> Vec<usize> {
        let mut widths: Vec<usize> = self.columns.iter().map(|(title, _)| wide(title)).collect();
        for row in &self.rows {
            for (widest, cell) in widths.iter_mut().zip(row) {
                *widest = (*widest).max(wide(cell));
            }
        }
        let gaps = 2 * self.columns.len().saturating_sub(1);
        for place in self.soft {
            let total: usize = widths.iter().sum::<usize>() + gaps;
            let over = total.saturating_sub(width);
            let least = self.columns.get(*place).map_or(0, |(title, _)| wide(title));
            if let Some(column) = widths.get_mut(*place) {
                *column = column.saturating_sub(over).max(least);
            }
        }
        widths
    }
}

/// How many columns `text` takes; names and causes are mostly ASCII.
#[must_use]
pub fn wide(text: &str) -> usize {
    text.chars().count()
}

/// `text` in at most `width` columns, its end replaced by `…` where it is longer.
#[must_use]
pub fn cut(text: &str, width: usize) -> String {
    if wide(text) <= width {
        return String::from(text);
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    if width == 0 { kept } else { format!("{}…", kept.trim_end()) }
}

/// `text` in lines of at most `width` columns, broken between words.
#[must_use]
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && wide(&line) + 1 + wide(word) > width {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [Column; 3] = [("NAME", Edge::Left), ("SUM", Edge::Right), ("NEXT", Edge::Left)];

    fn filled() -> Table<'static> {
        let mut table = Table::new(&COLUMNS, &[2, 0]);
        table.row(vec!["uplink".into(), "0".into(), "probe in 12s".into()]);
        table.row(vec!["a".into(), "100".into()]);
        table
    }

    #[test]
    fn cells_keep_to_their_edges_and_lines_have_no_tail() {
        let lines = filled().lines(WIDTH, |_, _, text| text);
        assert_eq!(lines, ["NAME    SUM  NEXT", "uplink    0  probe in 12s", "a       100"]);
    }

    #[test]
    fn a_narrow_screen_cuts_the_soft_columns_in_turn() {
        let lines = filled().lines(20, |_, _, text| text);
        assert_eq!(lines, ["NAME    SUM  NEXT", "uplink    0  probe…", "a       100"]);
        for width in 0..30 {
            for line in filled().lines(width, |_, _, text| text) {
                assert!(wide(&line) <= width.max(17), "{width}: {line}");
            }
        }
    }

    #[test]
    fn text_is_broken_between_words_and_a_long_word_is_left_whole() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("incomprehensible", 4), ["incomprehensible"]);
        assert!(wrap("  ", 4).is_empty());
        assert_eq!(cut("äöü", 2), "ä…");
    }
}
