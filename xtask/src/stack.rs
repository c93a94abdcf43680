//! The most stack an image can use, from its machine code.
//!
//! No compiler is asked: the code is read as the processor reads it, so assembly and libraries
//! that came compiled count as well, and every toolchain gives a bound. It errs upwards. A
//! function takes what all its instructions together take from the stack; a call through a
//! register is one of the deepest function whose address is anywhere in the image; interrupts
//! have one priority, and a fault may come on top.

use std::collections::{BTreeMap, BTreeSet};

use crate::flow::{Flow, sign, target_wide};
use crate::image::{Function, Image};

/// What the processor itself puts on the stack at an exception, with its alignment.
const EXCEPTION: u32 = 32 + 4;

/// What a function does to the stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Frame {
    bytes: u32,
    calls: BTreeSet<u32>,
    /// It calls or jumps through a register.
    indirect: bool,
    /// Addresses it makes out of two halves.
    addresses: Vec<u32>,
    /// Low registers, and words they are loaded with from beside the code.
    loads: Vec<(usize, u32)>,
    /// Low registers that it calls through, as bits.
    through: u32,
}

/// The bound, and the chain of calls that reaches it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bound {
    pub(crate) bytes: u32,
    pub(crate) chain: Vec<(String, u32)>,
}

/// The most stack the image can use.
///
/// # Errors
/// A function moves the stack pointer in a way that cannot be followed, or calls itself.
pub(crate) fn bound(image: &Image) -> Result<Bound, String> {
    let mut frames = BTreeMap::new();
    for function in &image.functions {
        let frame = frame(image, function).map_err(|why| format!("{}: {why}", function.name))?;
        frames.insert(function.from, frame);
    }
    let table = image.parts.iter().map(|part| part.0).min().ok_or("an empty image")?;
    let table = image.symbol("__vector_table").unwrap_or(table);
    let vectors: Vec<u32> = image.vectors(table);
    let mut walk = Walk {
        image,
        frames: &frames,
        taken: taken(image, &frames, table),
        deep: BTreeMap::new(),
        open: vec![],
    };
    let reset = walk.depth(vectors.first().copied().ok_or("no reset vector")?)?;
    let (faults, interrupts) = vectors[1..].split_at(2.min(vectors.len() - 1));
    let mut bytes = reset.bytes;
    let mut chain = reset.chain;
    for handlers in [interrupts, faults] {
        let mut deepest: Option<Bound> = None;
        for handler in handlers.iter().filter(|handler| **handler != 0) {
            let depth = walk.depth(*handler)?;
            if deepest.as_ref().is_none_or(|deepest| depth.bytes > deepest.bytes) {
                deepest = Some(depth);
            }
        }
        if let Some(depth) = deepest {
            bytes += EXCEPTION + depth.bytes;
            chain.push(("(exception)".to_string(), EXCEPTION));
            chain.extend(depth.chain);
        }
    }
    Ok(Bound { bytes, chain })
}

impl Image {
    /// Reset and what follows it, to the end of the table's section.
    fn vectors(&self, table: u32) -> Vec<u32> {
        let length = self.parts.iter().find(|part| part.0 == table).map_or(0, |part| part.1.len());
        // An image may have its code in the same section: 16 of the processor, at most 240 more.
        let entries = (1..length as u32 / 4).map_while(|index| self.word(table + 4 * index));
        entries.take_while(|entry| *entry == 0 || *entry & 1 == 1).map(|entry| entry & !1).collect()
    }
}

/// Functions whose address may come from elsewhere than the code that calls them: it stands among
/// data, is made by code, or is loaded into a register that is not called through.
fn taken(image: &Image, frames: &BTreeMap<u32, Frame>, table: u32) -> BTreeSet<u32> {
    let mut words: Vec<u32> = frames.values().flat_map(|frame| frame.addresses.clone()).collect();
    for frame in frames.values() {
        let kept = frame.loads.iter().filter(|load| frame.through >> load.0 & 1 == 0);
        words.extend(kept.map(|load| load.1));
    }
    for (from, bytes) in image.parts.iter().filter(|part| part.0 != table) {
        let all = *from..from + bytes.len() as u32;
        // What stands beside code is loaded by that code, see above.
        if image.marks.iter().any(|mark| mark.1 && all.contains(&mark.0)) {
            continue;
        }
        words.extend(all.step_by(4).filter_map(|at| image.word(at)));
    }
    words
        .into_iter()
        .filter(|word| word & 1 == 1 && frames.contains_key(&(word & !1)))
        .map(|word| word & !1)
        .collect()
}

struct Walk<'a> {
    image: &'a Image,
    frames: &'a BTreeMap<u32, Frame>,
    taken: BTreeSet<u32>,
    deep: BTreeMap<u32, Bound>,
    open: Vec<u32>,
}

impl Walk<'_> {
    fn depth(&mut self, function: u32) -> Result<Bound, String> {
        if let Some(known) = self.deep.get(&function) {
            return Ok(known.clone());
        }
        let name = self.name(function);
        let frame = self.frames.get(&function).ok_or_else(|| format!("{name} is no function"))?;
        if self.open.contains(&function) {
            let names: Vec<String> = self.open.iter().map(|open| self.name(*open)).collect();
            return Err(format!("{name} calls itself, by way of {}", names.join(", ")));
        }
        self.open.push(function);
        let mut below = Bound { bytes: 0, chain: vec![] };
        let mut calls = frame.calls.clone();
        if frame.indirect {
            // It cannot be meant to call itself: that would be found as such where it is direct.
            calls.extend(self.taken.iter().filter(|taken| !self.open.contains(taken)));
        }
        for call in calls {
            let depth = self.depth(call)?;
            if depth.bytes > below.bytes || below.chain.is_empty() {
                below = depth;
            }
        }
        self.open.pop();
        let mut chain = vec![(name, frame.bytes)];
        chain.append(&mut below.chain);
        let bound = Bound { bytes: frame.bytes + below.bytes, chain };
        self.deep.insert(function, bound.clone());
        Ok(bound)
    }

    fn name(&self, at: u32) -> String {
        let found = self.image.functions.iter().find(|function| function.from == at);
        found.map_or_else(|| format!("{at:#x}"), |function| function.name.clone())
    }
}

/// Reads one function from end to end.
fn frame(image: &Image, function: &Function) -> Result<Frame, String> {
    let mut frame = Frame::default();
    let mut at = function.from;
    // What registers were last loaded with from data beside the code, and their lower halves.
    let mut loaded = [None; 8];
    let flow = Flow::of(image, function);
    let mut halves = [0_u32; 16];
    // The first instruction is outside too: a function that goes there calls itself.
    let outside = |to: u32| to <= function.from || to >= function.to;
    while at < function.to {
        if !image.is_code(at) {
            at += 2;
            continue;
        }
        let one = u32::from(image.half(at).ok_or("code beyond the image")?);
        if one >> 11 < 0b11101 {
            match one {
                // push
                _ if one >> 9 == 0b101_1010 => frame.bytes += 4 * (one & 0x1FF).count_ones(),
                // sub sp, #
                _ if one >> 7 == 0b1_0110_0001 => frame.bytes += 4 * (one & 0x7F),
                // ldr r, [pc, #]
                _ if one >> 11 == 0b01001 => {
                    let place = ((at + 4) & !3) + 4 * (one & 0xFF);
                    let register = (one >> 8 & 7) as usize;
                    loaded[register] = image.word(place);
                    frame.loads.extend(image.word(place).map(|word| (register, word)));
                }
                // add sp, r: down where r was loaded with a negative number
                _ if one & 0xFF87 == 0x4485 => {
                    let register = (one >> 3 & 15) as usize;
                    let by = loaded.get(register).copied().flatten();
                    let by = by.ok_or_else(|| format!("sp moved by an unknown r{register}"))?;
                    frame.bytes += (by as i32).min(0).unsigned_abs();
                }
                // mov sp, r: back up from the frame pointer and nowhere else
                _ if one & 0xFF87 == 0x4685 && !is_epilogue(image, at, one >> 3 & 15) => {
                    return Err(format!("sp set from r{} at {at:#x}", one >> 3 & 15));
                }
                // b<c>, b
                _ if one >> 12 == 0b1101 && one >> 8 & 15 < 14 => {
                    let to = at.wrapping_add(4).wrapping_add(sign(one & 0xFF, 8) << 1);
                    frame.calls.extend(outside(to).then_some(to));
                }
                _ if one >> 11 == 0b11100 => {
                    let to = at.wrapping_add(4).wrapping_add(sign(one & 0x7FF, 11) << 1);
                    frame.calls.extend(outside(to).then_some(to));
                }
                // blx r, and bx r but for the return
                _ if one & 0xFFC7 == 0x4780 => {
                    let register = (one >> 3 & 7) as usize;
                    let to = flow.holds(at, register).filter(|to| to & 1 == 1);
                    frame.indirect |= to.is_none();
                    frame.calls.extend(to.map(|to| to & !1));
                    frame.through |= 1 << register;
                }
                _ if one & 0xFF87 == 0x4780 => frame.indirect = true,
                _ if one & 0xFF87 == 0x4700 && one >> 3 & 15 != 14 => frame.indirect = true,
                _ => {}
            }
            at += 2;
            continue;
        }
        let two = u32::from(image.half(at + 2).ok_or("code beyond the image")?);
        wide(&mut frame, &mut halves, (one, two), at, outside)?;
        at += 4;
    }
    // What takes nothing of the stack may begin anew as often as it likes: that is a loop.
    if frame.bytes == 0 {
        frame.calls.remove(&function.from);
    }
    Ok(frame)
}

/// Whether a register from which `sp` is set at `at` is the frame pointer, or has just been made
/// from it by `subs r, r7, #`.
fn is_epilogue(image: &Image, at: u32, register: u32) -> bool {
    let made = |back: u32| {
        let before = image.half(at.wrapping_sub(2 * back)).map(u32::from);
        before.is_some_and(|before| before & 0xFE3F == 0x1E38 | register)
    };
    register == 7 || (register < 8 && (1..=3).any(made))
}

fn wide(
    frame: &mut Frame,
    halves: &mut [u32; 16],
    (one, two): (u32, u32),
    at: u32,
    outside: impl Fn(u32) -> bool,
) -> Result<(), String> {
    let immediate = (one >> 10 & 1) << 11 | (two >> 12 & 7) << 8 | two & 0xFF;
    match (one, two) {
        // bl, b.w, b<c>.w. Where a branch does not reach, Cortex-M0 has `bl` within a function too.
        _ if target_wide(one, two).is_some() => {
            let to = target_wide(one, two).map(|to| at.wrapping_add(4).wrapping_add(to));
            frame.calls.extend(to.filter(|to| outside(*to)));
        }
        // push.w, str r, [sp, #-n]!, strd r, r, [sp, #-n]!
        (0xE92D, _) => frame.bytes += 4 * two.count_ones(),
        (0xF84D, _) if two & 0x0F00 == 0x0D00 => frame.bytes += two & 0xFF,
        (0xE96D, _) => frame.bytes += 4 * (two & 0xFF),
        // sub.w sp, sp, #
        (0xF1AD | 0xF5AD, _) if two & 0x0F00 == 0x0D00 => frame.bytes += expand(immediate),
        (0xF2AD | 0xF6AD, _) if two & 0x0F00 == 0x0D00 => frame.bytes += immediate,
        (0xEBAD, _) if two & 0x0F00 == 0x0D00 => {
            return Err(format!("sp moved by a register at {at:#x}"));
        }
        // ldr.w pc
        _ if one & 0xFF70 == 0xF850 && two >> 12 == 15 && one & 15 != 13 => frame.indirect = true,
        // movw, movt
        _ if one & 0xFB70 == 0xF240 && two >> 15 == 0 => {
            let value = (one & 15) << 12 | immediate;
            let register = (two >> 8 & 15) as usize;
            if one & 0x80 == 0 {
                halves[register] = value;
            } else {
                frame.addresses.push(value << 16 | halves[register]);
            }
        }
        _ => {}
    }
    Ok(())
}

/// An immediate of ARM's twelve bits.
fn expand(immediate: u32) -> u32 {
    let byte = immediate & 0xFF;
    match immediate >> 8 {
        0 => byte,
        1 => byte << 16 | byte,
        2 => byte << 24 | byte << 8,
        3 => byte * 0x0101_0101,
        _ => (0x80 | immediate & 0x7F).rotate_right(immediate >> 7),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elf::Sizes;

    /// An image of these functions, each a list of half words, one behind the other from 0x100;
    /// the vector table names the first as reset and those at `handlers` after it.
    fn image(functions: &[&[u16]], handlers: &[usize]) -> Image {
        let (mut code, mut found) = (vec![], vec![]);
        for (number, halves) in functions.iter().enumerate() {
            let from = 0x100 + code.len() as u32;
            code.extend(halves.iter().flat_map(|half| half.to_le_bytes()));
            let name = format!("f{number}");
            found.push(Function { name, from, to: 0x100 + code.len() as u32 });
        }
        let mut vectors = vec![0x2000_1000, found[0].from | 1, 0, 0];
        vectors.extend(handlers.iter().map(|number| found[*number].from | 1));
        let table = vectors.iter().flat_map(|word: &u32| word.to_le_bytes()).collect();
        let parts = vec![(0, table), (0x100, code)];
        Image::made_of(Sizes::default(), parts, found, vec![(0x100, true)])
    }

    const PUSH_R4_LR: u16 = 0xB510;
    const SUB_SP_8: u16 = 0xB082;
    const BX_LR: u16 = 0x4770;

    /// `bl` to an address from an address.
    fn bl(from: u32, to: u32) -> [u16; 2] {
        let offset = to.wrapping_sub(from + 4) >> 1;
        [0xF000 | (offset >> 11 & 0x7FF) as u16, 0xF800 | (offset & 0x7FF) as u16]
    }

    #[test]
    fn frames_add_up_along_the_deepest_chain() {
        // f0 at 0x100 pushes 8, calls f1 at 0x108 and f2 at 0x10C; f2 takes 8 + 8.
        let [a, b] = bl(0x102, 0x10C);
        let [c, d] = bl(0x106, 0x10E);
        let f0 = [PUSH_R4_LR, a, b, c, d, BX_LR];
        let image = image(&[&f0, &[BX_LR], &[PUSH_R4_LR, SUB_SP_8, BX_LR]], &[1]);
        let bound = bound(&image).expect("a bound");
        let names: Vec<&str> = bound.chain.iter().map(|link| link.0.as_str()).collect();
        assert_eq!(names, ["f0", "f2", "(exception)", "f1"]);
        assert_eq!(bound.bytes, 8 + 16 + EXCEPTION);
    }

    #[test]
    fn what_cannot_be_bounded_is_said() {
        let [a, b] = bl(0x102, 0x100);
        let itself = image(&[&[PUSH_R4_LR, a, b]], &[]);
        assert!(bound(&itself).unwrap_err().contains("f0 calls itself"));
        // A loop that takes nothing is none of that: b 0x100.
        assert_eq!(bound(&image(&[&[0xE7FE]], &[])).expect("a bound").bytes, 0);
        // mov sp, r1
        let moved = image(&[&[0x468D, BX_LR]], &[]);
        assert!(bound(&moved).unwrap_err().contains("sp set from r1"));
        // add sp, r1 without a number that is known
        let added = image(&[&[0x448D, BX_LR]], &[]);
        assert!(bound(&added).unwrap_err().contains("unknown r1"));
    }

    #[test]
    fn a_call_through_a_register_is_one_of_the_deepest_function_whose_address_is_known() {
        // f0: movw r0, #0x10D; movt r0, #0; blx r0. f1 takes 16.
        let f0 = [0xF240, 0x100D | 0x000D, 0xF2C0, 0x0000, 0x4780, BX_LR];
        let known = image(&[&f0, &[PUSH_R4_LR, SUB_SP_8, BX_LR]], &[]);
        assert_eq!(bound(&known).expect("a bound").bytes, 16);
    }

    #[test]
    fn immediates_are_read_as_the_processor_does() {
        assert_eq!(expand(0x0AB), 0xAB);
        assert_eq!(expand(0x1AB), 0x00AB_00AB);
        assert_eq!(expand(0xF80), 0x80_u32.rotate_right(31));
        assert_eq!(sign(0x1FF, 9) as i32, -1);
    }
}
