//! What the low registers hold while a function runs, as far as it can be known.
//!
//! Cortex-M0 calls a function of many calls through a register that was loaded with its address
//! from beside the code; this is what finds which.

use std::collections::BTreeMap;

use crate::image::{Function, Image};

/// What each low register holds, if it is the same whichever way the code came.
type Held = [Option<u32>; 8];

/// What is held before each instruction of a function that can be reached.
#[derive(Debug)]
pub(crate) struct Flow(BTreeMap<u32, Held>);

impl Flow {
    /// Follows the code of a function from its first instruction until nothing changes any more.
    pub(crate) fn of(image: &Image, function: &Function) -> Self {
        let mut before = BTreeMap::from([(function.from, Held::default())]);
        let mut open = vec![function.from];
        while let Some(at) = open.pop() {
            let Some(step) = Step::read(image, function, at) else {
                // A table that cannot be read leads anywhere: nothing is known.
                return Self(BTreeMap::new());
            };
            let held = step.after(&before[&at]);
            for next in step.next.into_iter().filter(|to| *to >= function.from && *to < function.to)
            {
                let met = match before.get(&next) {
                    None => held,
                    Some(old) => {
                        let same = |register: usize| {
                            old[register].filter(|old| held[register] == Some(*old))
                        };
                        std::array::from_fn(same)
                    }
                };
                if before.insert(next, met) != Some(met) {
                    open.push(next);
                }
            }
        }
        Self(before)
    }

    /// What a low register holds before an instruction, if that is known.
    pub(crate) fn holds(&self, at: u32, register: usize) -> Option<u32> {
        self.0.get(&at)?.get(register).copied().flatten()
    }
}

/// An instruction, as far as it matters here.
struct Step {
    /// The low registers that it may write, as bits.
    written: u32,
    /// What it loads a register with from beside the code.
    loads: Option<(usize, u32)>,
    /// Where it may lead within the function.
    next: Vec<u32>,
}

impl Step {
    fn read(image: &Image, function: &Function, at: u32) -> Option<Self> {
        let one = u32::from(image.half(at)?);
        if one >> 11 >= 0b11101 {
            let two = u32::from(image.half(at + 2)?);
            // tbb, tbh
            if one & 0xFFF0 == 0xE8D0 && two & 0xFFE0 == 0xF000 {
                return None;
            }
            let to = target_wide(one, two).map(|to| at.wrapping_add(4).wrapping_add(to));
            // b.w does not come back; pop.w of pc neither, which does no harm here.
            let comes_back = to.is_none() || two >> 12 & 0b1101 != 0b1001;
            let mut next: Vec<u32> = to.into_iter().collect();
            next.extend(comes_back.then_some(at + 4));
            return Some(Self { written: written_wide(one, two), loads: None, next });
        }
        let loads = (one >> 11 == 0b01001).then(|| {
            let place = ((at + 4) & !3) + 4 * (one & 0xFF);
            Some(((one >> 8 & 7) as usize, image.word(place)?))
        });
        let to = |offset: u32| at.wrapping_add(4).wrapping_add(offset);
        let next = match one {
            _ if one >> 12 == 0b1101 && one >> 8 & 15 < 14 => {
                vec![to(sign(one & 0xFF, 8) << 1), at + 2]
            }
            _ if one >> 11 == 0b11100 => vec![to(sign(one & 0x7FF, 11) << 1)],
            // cbz, cbnz
            _ if one & 0xF500 == 0xB100 => {
                vec![to((one >> 3 & 0x1F | one >> 4 & 0x20) << 1), at + 2]
            }
            // mov pc, from a table of addresses: all that stand anywhere
            _ if one & 0xFF87 == 0x4687 => {
                let inside = |to: &u32| *to >= function.from && *to < function.to;
                image.data().map(|word| word & !1).filter(inside).collect()
            }
            // add pc, by what a table beside it says: to any instruction behind it
            _ if one & 0xFF87 == 0x4487 => behind(image, function, at + 2),
            // bx, pop pc
            _ if one & 0xFF87 == 0x4700 || one >> 8 == 0xBD => vec![],
            _ => vec![at + 2],
        };
        Some(Self { written: written(one), loads: loads.flatten(), next })
    }

    fn after(&self, before: &Held) -> Held {
        let mut held = *before;
        for (register, value) in held.iter_mut().enumerate() {
            if self.written >> register & 1 == 1 {
                *value = None;
            }
        }
        if let Some((register, value)) = self.loads {
            held[register] = Some(value);
        }
        held
    }
}

/// All instructions of a function from `at` on.
fn behind(image: &Image, function: &Function, mut at: u32) -> Vec<u32> {
    let mut found = vec![];
    while at < function.to {
        let wide = image.half(at).is_some_and(|half| half >> 11 >= 0b11101);
        if image.is_code(at) {
            found.push(at);
            at += if wide { 4 } else { 2 };
        } else {
            at += 2;
        }
    }
    found
}

/// The low registers that a narrow instruction may write, as bits.
fn written(one: u32) -> u32 {
    let (last, middle) = (1 << (one & 7), 1 << (one >> 8 & 7));
    match one >> 11 {
        // shifts, add, sub
        0b00000..=0b00011 => last,
        // mov, add, sub of a number; cmp is none
        0b00100 | 0b00110 | 0b00111 => middle,
        // calls by register: what they need not keep
        0b01000 if one >> 7 == 0b1000_1111 => 0b1111,
        // arithmetic, which takes comparing for writing; add and mov between any registers
        0b01000 if one >> 10 == 0b010000 || one & 0x80 == 0 => last,
        // loads and stores
        0b01010 | 0b01011 | 0b01101 | 0b01111 | 0b10001 => last,
        // loads from beside the code and from the stack, addresses
        0b01001 | 0b10011 | 0b10100 | 0b10101 => middle,
        // pop
        0b10111 if one >> 9 == 0b101_1110 => one & 0xFF,
        // extensions, reversals
        0b10110 | 0b10111 if matches!(one >> 8, 0b1011_0010 | 0b1011_1010) => last,
        // loads of many, and stores of many, which move their address
        0b11000 | 0b11001 => one & 0xFF | middle,
        _ => 0,
    }
}

/// The same of a wide instruction: a call writes what it need not keep, a barrier nothing, and of
/// any other nobody asks.
fn written_wide(one: u32, two: u32) -> u32 {
    let branch = one >> 11 == 0b11110 && two >> 15 == 1 && one != 0xF3EF;
    if branch { 0b1111 } else { 0xFF }
}

/// How far a wide branch or call goes.
pub(crate) fn target_wide(one: u32, two: u32) -> Option<u32> {
    let (s, j1, j2) = (one >> 10 & 1, two >> 13 & 1, two >> 11 & 1);
    match two >> 12 & 0b1101 {
        _ if one >> 11 != 0b11110 => None,
        0b1101 | 0b1001 => {
            let (i1, i2) = (1 ^ j1 ^ s, 1 ^ j2 ^ s);
            let offset = s << 24 | i1 << 23 | i2 << 22 | (one & 0x3FF) << 12 | (two & 0x7FF) << 1;
            Some(sign(offset, 25))
        }
        0b1000 if one >> 6 & 15 < 14 => {
            let offset = s << 20 | j2 << 19 | j1 << 18 | (one & 0x3F) << 12 | (two & 0x7FF) << 1;
            Some(sign(offset, 21))
        }
        _ => None,
    }
}

/// A number of so many bits with its sign.
pub(crate) fn sign(value: u32, bits: u32) -> u32 {
    ((value << (32 - bits)) as i32 >> (32 - bits)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elf::Sizes;

    fn flow(halves: &[u16]) -> Flow {
        let code: Vec<u8> = halves.iter().flat_map(|half| half.to_le_bytes()).collect();
        let to = 0x100 + code.len() as u32;
        let function = Function { name: "f".to_string(), from: 0x100, to };
        let parts = vec![(0x100, code)];
        let marks = vec![(0x100, true), (to - 4, false)];
        let image = Image::made_of(Sizes::default(), parts, vec![function.clone()], marks);
        Flow::of(&image, &function)
    }

    #[test]
    fn what_is_loaded_is_held_until_it_is_written() {
        // ldr r4, [pc, #4]; blx r4; movs r4, #1; bx lr; the word
        let flow = flow(&[0x4C01, 0x47A0, 0x2401, 0x4770, 0x0611, 0x0000]);
        assert_eq!(flow.holds(0x102, 4), Some(0x611));
        assert_eq!(flow.holds(0x104, 4), Some(0x611));
        assert_eq!(flow.holds(0x106, 4), None);
        assert_eq!(flow.holds(0x102, 5), None);
    }

    #[test]
    fn what_differs_by_the_way_the_code_came_is_not_known() {
        // ldr r4, [pc, #8]; beq +2; movs r4, #1; b .; blx r4; bx lr; the word
        let joined = flow(&[0x4C02, 0xD000, 0x2401, 0x47A0, 0x4770, 0xBF00, 0x0611, 0x0000]);
        assert_eq!(joined.holds(0x104, 4), Some(0x611));
        assert_eq!(joined.holds(0x106, 4), None);
        // The same without the write.
        let same = flow(&[0x4C02, 0xD000, 0x2501, 0x47A0, 0x4770, 0xBF00, 0x0611, 0x0000]);
        assert_eq!(same.holds(0x106, 4), Some(0x611));
    }
}
