//! A linked image for a board: its sizes, its functions, and the words in its flash.

use std::collections::BTreeSet;

use crate::elf::{Sizes, half, word};

/// An image as the linker made it.
#[derive(Debug)]
pub(crate) struct Image {
    pub(crate) sizes: Sizes,
    /// Sections with bytes in flash: address and content.
    pub(crate) parts: Vec<(u32, Vec<u8>)>,
    /// Functions in address order.
    pub(crate) functions: Vec<Function>,
    /// Where code (true) or data (false) begins within sections of code, in address order.
    pub(crate) marks: Vec<(u32, bool)>,
    symbols: Vec<(String, u32)>,
}

/// A function of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) from: u32,
    pub(crate) to: u32,
}

const FUNCTION: u8 = 2;

impl Image {
    /// Reads a linked ELF file of 32 bits.
    ///
    /// # Errors
    /// It is something else, or has no symbols.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, String> {
        let sizes = crate::elf::object(bytes).ok_or("not a 32-bit ELF file")?;
        Self::symbols(bytes, sizes).ok_or_else(|| "an image without symbols".to_string())
    }

    fn symbols(bytes: &[u8], sizes: Sizes) -> Option<Self> {
        let mut image = Self::unsorted(bytes, sizes)?;
        image.marks.sort_unstable();
        image.functions.sort_by_key(|function| (function.from, function.to));
        // Names that fold onto the same place are one function.
        image.functions.dedup_by_key(|function| function.from);
        // Assembly may not say how long it is: then up to the next.
        let starts: Vec<u32> = image.functions.iter().skip(1).map(|next| next.from).collect();
        let end = image.parts.iter().map(|(at, bytes)| at + bytes.len() as u32).max()?;
        for (index, function) in image.functions.iter_mut().enumerate() {
            if function.from == function.to {
                function.to = starts.get(index).copied().unwrap_or(end);
            }
        }
        (!image.functions.is_empty()).then_some(image)
    }

    fn unsorted(bytes: &[u8], sizes: Sizes) -> Option<Self> {
        let mut image =
            Self { sizes, parts: vec![], functions: vec![], marks: vec![], symbols: vec![] };
        for section in sections(bytes)? {
            // Allocated, with bytes of its own: in flash, at its place of load.
            if section.kind == 1 && section.flags & 2 != 0 && !section.content.is_empty() {
                image.parts.push((section.address, section.content.to_vec()));
            }
            if section.kind == 2 {
                image.add_symbols(section.content, sections(bytes)?.nth(section.link)?.content)?;
            }
        }
        Some(image)
    }

    fn add_symbols(&mut self, table: &[u8], names: &[u8]) -> Option<()> {
        for entry in table.chunks_exact(16) {
            let name = names.get(word(entry, 0)? as usize..)?;
            let name = name.split(|byte| *byte == 0).next()?;
            let name = String::from_utf8_lossy(name).into_owned();
            let (value, size, section) = (word(entry, 4)?, word(entry, 8)?, half(entry, 14)?);
            match name.as_str() {
                "$t" | "$d" => self.marks.push((value, name == "$t")),
                _ if name.starts_with("$t.") => self.marks.push((value, true)),
                _ if name.starts_with("$d.") => self.marks.push((value, false)),
                _ if section == 0 => {}
                _ if entry[12] & 15 == FUNCTION => {
                    let from = value & !1;
                    self.functions.push(Function { name, from, to: from + size });
                }
                _ => self.symbols.push((name, value)),
            }
        }
        Some(())
    }

    #[cfg(test)]
    pub(crate) fn made_of(
        sizes: Sizes,
        parts: Vec<(u32, Vec<u8>)>,
        functions: Vec<Function>,
        marks: Vec<(u32, bool)>,
    ) -> Self {
        Self { sizes, parts, functions, marks, symbols: vec![] }
    }

    /// The address of a symbol that is no function.
    pub(crate) fn symbol(&self, name: &str) -> Option<u32> {
        self.symbols.iter().find(|symbol| symbol.0 == name).map(|symbol| symbol.1)
    }

    /// The half word at an address in flash.
    pub(crate) fn half(&self, at: u32) -> Option<u16> {
        self.part(at).and_then(|(part, at)| half(part, at))
    }

    /// The word at an address in flash.
    pub(crate) fn word(&self, at: u32) -> Option<u32> {
        self.part(at).and_then(|(part, at)| word(part, at))
    }

    fn part(&self, at: u32) -> Option<(&[u8], usize)> {
        self.parts.iter().find_map(|(from, bytes)| {
            let offset = at.checked_sub(*from)? as usize;
            (offset < bytes.len()).then_some((bytes.as_slice(), offset))
        })
    }

    /// All words that are no code.
    pub(crate) fn data(&self) -> impl Iterator<Item = u32> {
        let places = self.parts.iter().flat_map(|(from, bytes)| {
            (*from..from + bytes.len() as u32).step_by(4).filter(|at| !self.is_code(*at))
        });
        places.filter_map(|at| self.word(at))
    }

    /// Whether what stands at an address is code.
    pub(crate) fn is_code(&self, at: u32) -> bool {
        let before = self.marks.partition_point(|mark| mark.0 <= at);
        // Of two marks at one place the code is meant: data of no length come before it.
        before.checked_sub(1).is_some_and(|last| self.marks[last].1)
    }
}

/// The names of all functions, also of those that are one because they are alike.
///
/// # Errors
/// It is no 32-bit ELF file.
pub(crate) fn names(bytes: &[u8]) -> Result<BTreeSet<String>, String> {
    let sizes = crate::elf::object(bytes).ok_or("not a 32-bit ELF file")?;
    let image = Image::unsorted(bytes, sizes).ok_or("a symbol table that is cut")?;
    Ok(image.functions.into_iter().map(|function| function.name).collect())
}

struct Section<'a> {
    kind: u32,
    flags: u32,
    address: u32,
    link: usize,
    content: &'a [u8],
}

fn sections(bytes: &[u8]) -> Option<impl Iterator<Item = Section<'_>>> {
    let table = word(bytes, 32)? as usize;
    let (entry, count) = (half(bytes, 46)? as usize, half(bytes, 48)? as usize);
    Some((0..count).map_while(move |index| {
        let header = bytes.get(table.checked_add(index * entry)?..)?;
        let (kind, from, size) = (word(header, 4)?, word(header, 16)?, word(header, 20)?);
        let content =
            if kind == 8 { &[] } else { bytes.get(from as usize..)?.get(..size as usize)? };
        Some(Section {
            kind,
            flags: word(header, 8)?,
            address: word(header, 12)?,
            link: word(header, 24)? as usize,
            content,
        })
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_image_is_refused_and_never_panics() {
        let mut bytes = vec![0_u8; 200];
        assert!(Image::read(&bytes).is_err());
        bytes[..6].copy_from_slice(b"\x7FELF\x01\x01");
        bytes[32..36].copy_from_slice(&60_u32.to_le_bytes());
        bytes[46..48].copy_from_slice(&40_u16.to_le_bytes());
        bytes[48..50].copy_from_slice(&3_u16.to_le_bytes());
        for byte in 0..=255 {
            bytes[60..].fill(byte);
            assert!(Image::read(&bytes).is_err());
        }
        for cut in 0..bytes.len() {
            assert!(Image::read(&bytes[..cut]).is_err());
        }
    }
}
