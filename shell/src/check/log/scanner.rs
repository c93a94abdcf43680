//! From bytes to lines, whatever pieces they come in.

/// Makes lines of bytes. It keeps one line at most, and of that no more than `longest` bytes.
///
/// A line is handed on at its end; one that is longer as soon as so much of it is there, and the
/// rest is passed over. So what is handed on depends on the bytes alone, and not on the pieces
/// they come in.
#[derive(Clone, Debug)]
pub struct Scanner {
    longest: usize,
    line: Vec<u8>,
    skipping: bool,
}

impl Scanner {
    /// A scanner at the beginning of a line; or if it is `skipping`, in the middle of one that is
    /// passed over.
    #[must_use]
    pub const fn new(longest: usize, skipping: bool) -> Self {
        Self { longest, line: Vec::new(), skipping }
    }

    /// Takes what comes next, and hands the lines that are complete by it to `each`, without their
    /// ends.
    pub fn feed(&mut self, bytes: &[u8], each: &mut dyn FnMut(&str)) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (text, ends) = match piece.strip_suffix(b"\n") {
                Some(text) => (text, true),
                None => (piece, false),
            };
            if !self.skipping {
                let room = self.longest.saturating_sub(self.line.len());
                self.line.extend(text.iter().take(room));
                if ends || text.len() >= room {
                    self.hand_on(each);
                    self.skipping = true;
                }
            }
            if ends {
                self.skipping = false;
            }
        }
    }

    /// No more will come: what there is of a line is one.
    pub fn end(&mut self, each: &mut dyn FnMut(&str)) {
        if !self.line.is_empty() {
            self.hand_on(each);
        }
        self.skipping = false;
    }

    /// How many of the bytes taken belong to a line that is not complete, and will be wanted
    /// again by whoever begins anew.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.line.len()
    }

    /// Whether the rest of a line is passed over.
    #[must_use]
    pub const fn is_skipping(&self) -> bool {
        self.skipping
    }

    fn hand_on(&mut self, each: &mut dyn FnMut(&str)) {
        let line = self.line.strip_suffix(b"\r").unwrap_or(&self.line);
        each(&String::from_utf8_lossy(line));
        self.line.clear();
    }
}
