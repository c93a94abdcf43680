//! The sizes of what is in a static library: an `ar` archive of 32-bit little-endian ELF objects.
//!
//! Read here rather than by a tool, because `size` for the board's processors is on few machines.

/// What a library adds to an image, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sizes {
    /// Code and constants: flash.
    pub(crate) text: u32,
    /// Variables with a first value: flash and RAM.
    pub(crate) data: u32,
    /// Variables that begin as zero: RAM.
    pub(crate) bss: u32,
}

const WRITE: u32 = 1;
const ALLOC: u32 = 2;
const NO_BITS: u32 = 8;

/// The sum over all objects of an archive.
///
/// # Errors
/// The archive or one of its objects is not of the kind named above.
pub(crate) fn archive(bytes: &[u8]) -> Result<Sizes, String> {
    let mut rest = bytes.strip_prefix(b"!<arch>\n").ok_or("not an archive")?;
    let mut sum = Sizes::default();
    while !rest.is_empty() {
        let (header, behind) = rest.split_at_checked(60).ok_or("a cut header")?;
        let digits = std::str::from_utf8(&header[48..58]).unwrap_or_default().trim();
        let length: usize = digits.parse().map_err(|_| "a member without a length")?;
        let (member, behind) = behind.split_at_checked(length).ok_or("a cut member")?;
        // Members begin at even offsets.
        rest = behind.get(length % 2..).unwrap_or_default();
        if member.starts_with(b"BC\xC0\xDE") {
            return Err("LLVM bitcode, of which no size can be told".to_string());
        }
        if member.starts_with(b"\x7FELF") && !header.starts_with(b"lib.rmeta/") {
            let sizes = object(member).ok_or("an object that cannot be read")?;
            sum.text += sizes.text;
            sum.data += sizes.data;
            sum.bss += sizes.bss;
        }
    }
    Ok(sum)
}

/// The sections of one object, or of a linked image, that take room.
pub(crate) fn object(bytes: &[u8]) -> Option<Sizes> {
    if bytes.get(4..6)? != [1, 1] {
        return None;
    }
    let table = word(bytes, 32)? as usize;
    let (entry, count) = (half(bytes, 46)? as usize, half(bytes, 48)? as usize);
    let mut sizes = Sizes::default();
    for index in 0..count {
        let section = bytes.get(table.checked_add(index * entry)?..)?;
        let (kind, flags, size) = (word(section, 4)?, word(section, 8)?, word(section, 20)?);
        let place = match (flags & ALLOC != 0, kind == NO_BITS, flags & WRITE != 0) {
            (false, _, _) => continue,
            (true, true, _) => &mut sizes.bss,
            (true, false, true) => &mut sizes.data,
            (true, false, false) => &mut sizes.text,
        };
        *place = place.checked_add(size)?;
    }
    Some(sizes)
}

/// The word at an offset.
pub(crate) fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

/// The half word at an offset.
pub(crate) fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An object with a section header for each (type, flags, size).
    fn elf(sections: &[(u32, u32, u32)]) -> Vec<u8> {
        let mut bytes = vec![0; 52];
        bytes[..6].copy_from_slice(b"\x7FELF\x01\x01");
        bytes[32..36].copy_from_slice(&52_u32.to_le_bytes());
        bytes[46..48].copy_from_slice(&40_u16.to_le_bytes());
        bytes[48..50].copy_from_slice(&(sections.len() as u16).to_le_bytes());
        for (kind, flags, size) in sections {
            let mut header = [0; 40];
            header[4..8].copy_from_slice(&kind.to_le_bytes());
            header[8..12].copy_from_slice(&flags.to_le_bytes());
            header[20..24].copy_from_slice(&size.to_le_bytes());
            bytes.extend(header);
        }
        bytes
    }

    fn ar(members: &[(&str, &[u8])]) -> Vec<u8> {
        let mut bytes = b"!<arch>\n".to_vec();
        for (name, member) in members {
            let length = member.len();
            bytes.extend(format!("{name:<16}{:<32}{length:<10}`\n", 0).bytes());
            bytes.extend(*member);
            bytes.extend(&b"\n"[..length % 2]);
        }
        bytes
    }

    #[test]
    fn sections_are_summed_over_objects_by_where_they_end_up() {
        let one = elf(&[(0, 0, 0), (1, ALLOC | 4, 100), (1, ALLOC, 20), (3, 0, 999)]);
        let two = elf(&[(1, ALLOC | WRITE, 8), (NO_BITS, ALLOC | WRITE, 64), (1, ALLOC, 1)]);
        let archive_of = ar(&[("lib.rmeta/", &one), ("/0", &one), ("odd/", b"x"), ("/9", &two)]);
        assert_eq!(archive(&archive_of), Ok(Sizes { text: 121, data: 8, bss: 64 }));
    }

    #[test]
    fn whatever_else_is_refused_and_never_panics() {
        let whole = ar(&[("/0", &elf(&[(1, ALLOC, 4)]))]);
        for cut in 0..whole.len() {
            let _ = archive(&whole[..cut]);
        }
        assert!(archive(b"").is_err());
        assert!(archive(&ar(&[("/0", b"BC\xC0\xDE")])).unwrap_err().contains("bitcode"));
        assert!(archive(&ar(&[("/0", b"\x7FELF\x02\x01")])).is_err());
    }
}
