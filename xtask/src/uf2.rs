//! An image as UF2: what the chip's own program takes as a file on the drive that it shows.

use crate::elf::{half, word};

/// Bytes of the image in one block, and of the block.
const PAYLOAD: usize = 256;
const BLOCK: usize = 512;
const RP2040: u32 = 0xE48B_FF56;
/// The last word of the block says of which chip the image is.
const HAS_FAMILY: u32 = 0x2000;

/// The UF2 file of a linked image of 32 bits.
///
/// # Errors
/// It is something else, or has no bytes to load.
pub(crate) fn of(elf: &[u8]) -> Result<Vec<u8>, String> {
    let pages = pages(elf).ok_or("an image without a table of what to load")?;
    if pages.is_empty() {
        return Err("an image with nothing to load".to_string());
    }
    let mut file = Vec::with_capacity(BLOCK * pages.len());
    for (number, (address, bytes)) in pages.iter().enumerate() {
        let head = [0x0A32_4655, 0x9E5D_5157, HAS_FAMILY, *address, PAYLOAD as u32];
        let tail = [number as u32, pages.len() as u32, RP2040];
        let begin = file.len();
        file.extend(head.iter().chain(&tail).flat_map(|word| word.to_le_bytes()));
        file.extend_from_slice(bytes);
        file.resize(begin + BLOCK - 4, 0);
        file.extend(0x0AB1_6F30_u32.to_le_bytes());
    }
    Ok(file)
}

/// What is loaded, in pages of the flash: each with its address, in order, none twice.
fn pages(elf: &[u8]) -> Option<Vec<(u32, [u8; PAYLOAD])>> {
    let (table, entry, count) = (word(elf, 28)?, half(elf, 42)?, half(elf, 44)?);
    let mut pages: Vec<(u32, [u8; PAYLOAD])> = vec![];
    let headers = (0..u32::from(count)).map(|index| (table + index * u32::from(entry)) as usize);
    for header in headers {
        // To be loaded, with bytes of its own: where they are, and where they go.
        let (kind, from, to, length) = (
            word(elf, header)?,
            word(elf, header + 4)?,
            word(elf, header + 12)?,
            word(elf, header + 16)?,
        );
        if kind != 1 || length == 0 {
            continue;
        }
        let bytes = elf.get(from as usize..from.checked_add(length)? as usize)?;
        for (offset, byte) in (0..).zip(bytes) {
            let at = to.checked_add(offset)?;
            let page = at & !(PAYLOAD as u32 - 1);
            let place = match pages.iter().rposition(|known| known.0 == page) {
                Some(place) => place,
                None => {
                    pages.push((page, [0; PAYLOAD]));
                    pages.len() - 1
                }
            };
            pages[place].1[(at - page) as usize] = *byte;
        }
    }
    pages.sort_unstable_by_key(|page| page.0);
    Some(pages)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An image of these parts: where they go, and their bytes.
    fn elf(parts: &[(u32, &[u8])]) -> Vec<u8> {
        let mut elf = vec![0; 52 + 32 * parts.len()];
        elf[28..32].copy_from_slice(&52_u32.to_le_bytes());
        elf[42..44].copy_from_slice(&32_u16.to_le_bytes());
        elf[44..46].copy_from_slice(&(parts.len() as u16).to_le_bytes());
        for (index, (to, bytes)) in parts.iter().enumerate() {
            let words = [1, elf.len() as u32, 0x2000_0000, *to, bytes.len() as u32];
            let header: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            elf[52 + 32 * index..][..20].copy_from_slice(&header);
            elf.extend_from_slice(bytes);
        }
        elf
    }

    #[test]
    fn each_page_of_flash_is_one_block_with_what_belongs_there() {
        let file = of(&elf(&[(0x1000_01FE, &[1, 2, 3]), (0x1000_0000, &[4])])).expect("an image");
        assert_eq!(file.len(), 3 * BLOCK);
        let blocks: Vec<&[u8]> = file.chunks(BLOCK).collect();
        for (number, block) in blocks.iter().enumerate() {
            assert_eq!(word(block, 0), Some(0x0A32_4655));
            assert_eq!(word(block, 12), Some(0x1000_0000 + 256 * number as u32));
            assert_eq!((word(block, 20), word(block, 24)), (Some(number as u32), Some(3)));
            assert_eq!((word(block, 28), word(block, 508)), (Some(RP2040), Some(0x0AB1_6F30)));
        }
        assert_eq!((blocks[0][32], blocks[0][33]), (4, 0));
        assert_eq!((blocks[1][32 + 254], blocks[1][32 + 255], blocks[2][32]), (1, 2, 3));
    }

    #[test]
    fn what_is_no_image_is_refused_and_never_panics() {
        let whole = elf(&[(0x1000_0000, &[4; 300])]);
        for cut in 0..whole.len() {
            assert!(of(&whole[..cut]).is_err(), "{cut}");
        }
        assert!(of(&elf(&[])).is_err());
        assert!(of(&elf(&[(u32::MAX, &[1, 2])])).is_err());
    }
}
