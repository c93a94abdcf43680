//! Lines of log of a board, from the few bytes each is there and the words in the image.

use defmt_decoder::{DecodeError, Table};

/// What makes text of a board's bytes.
pub struct Lines {
    table: Table,
    /// Bytes of a line that is not whole.
    rest: Vec<u8>,
    /// Lines that could not be read.
    pub lost: u32,
}

impl Lines {
    /// For the image of this ELF file.
    ///
    /// # Errors
    /// There are no such words in it.
    pub fn of(elf: &[u8]) -> Result<Self, String> {
        let table = Table::parse(elf).map_err(|error| error.to_string())?;
        let table = table.ok_or("an image without a log: build it with --log")?;
        Ok(Self { table, rest: Vec::new(), lost: 0 })
    }

    /// Takes bytes; the lines that are whole by now.
    pub fn hear(&mut self, bytes: &[u8]) -> Vec<String> {
        self.rest.extend_from_slice(bytes);
        let Some(end) = self.rest.iter().rposition(|byte| *byte == 0) else { return vec![] };
        let whole: Vec<u8> = self.rest.drain(..=end).collect();
        let mut decoder = self.table.new_stream_decoder();
        decoder.received(&whole);
        let mut lines = vec![];
        loop {
            match decoder.decode() {
                Ok(frame) => lines.push(frame.display_message().to_string()),
                Err(DecodeError::UnexpectedEof) => return lines,
                Err(DecodeError::Malformed) => self.lost += 1,
            }
        }
    }
}
