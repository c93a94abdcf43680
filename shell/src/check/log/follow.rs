//! A file read from where it was left, across rotation.
//!
//! A log is rotated by renaming it and beginning another, or by copying it and cutting it short.
//! Either way what was written after the last look stands in another file beside it; it is found
//! by its number, or by what stands before our place, and read first.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::scanner::Scanner;

/// How much is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Of a line, in bytes.
    pub longest: usize,
    /// In one look, in bytes.
    pub cap: u64,
}

/// A place in a log: so far it has been read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    device: u64,
    inode: u64,
    /// The beginning of the line that comes next, or where one that is passed over goes on.
    offset: u64,
    skipping: bool,
    /// A checksum of what stands before the offset.
    before: u32,
}

/// So much of what stands before a place tells it from others.
const BEFORE: u64 = 256;
/// So many files of a directory are looked at for what was rotated away.
const MOST_FILES: usize = 4096;

impl Place {
    /// The place kept at `path`; none if nothing is there, or nothing that makes sense.
    #[must_use]
    pub fn read(path: &Path) -> Option<Self> {
        Self::parse(&fs::read_to_string(path).ok()?)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        let mut number = || words.next()?.parse::<u64>().ok();
        let (1, device, inode, offset, skipping, before) =
            (number()?, number()?, number()?, number()?, number()?, number()?)
        else {
            return None;
        };
        let before = u32::try_from(before).ok()?;
        Some(Self { device, inode, offset, skipping: skipping == 1, before })
    }

    /// Keeps the place at `path`, whole or not at all.
    ///
    /// # Errors
    /// The kernel's own; what was kept before is still there.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let Self { device, inode, offset, skipping, before } = self;
        let text = format!("1 {device} {inode} {offset} {} {before}\n", u8::from(*skipping));
        if let Some(dir) = path.parent() {
            fs::create_dir_all(dir)?;
        }
        let mut fresh = path.as_os_str().to_owned();
        fresh.push(".new");
        let fresh = PathBuf::from(fresh);
        let written = File::create(&fresh)
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .and_then(|()| fs::rename(&fresh, path));
        if written.is_err() {
            let _ = fs::remove_file(&fresh); // half a place is none
        }
        written
    }

    /// Whether it is a place in `file`, which has not been cut short and written anew since.
    fn is_in(&self, file: &Log) -> io::Result<bool> {
        let whole = file.length >= self.offset;
        Ok(whole && checksum(&file.file, self.offset)? == self.before)
    }
}

/// An open log.
struct Log {
    file: File,
    device: u64,
    inode: u64,
    length: u64,
    changed: i64,
}

impl Log {
    fn open(path: &Path) -> io::Result<Self> {
        // A pipe of that name would make `open` wait for its other end.
        let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
        let file = File::options().read(true).custom_flags(flags).open(path)?;
        let meta = file.metadata()?;
        if !meta.is_file() {
            return Err(io::Error::other("it is no file"));
        }
        let (device, inode, length) = (meta.dev(), meta.ino(), meta.len());
        Ok(Self { file, device, inode, length, changed: meta.mtime() })
    }

    const fn is(&self, place: &Place) -> bool {
        self.device == place.device && self.inode == place.inode
    }

    fn place(&self, offset: u64, skipping: bool) -> io::Result<Place> {
        let before = checksum(&self.file, offset)?;
        Ok(Place { device: self.device, inode: self.inode, offset, skipping, before })
    }
}

/// Reads what was added to the log at `path` since `place`, in whole lines, each of which is
/// handed to `each`; returns the new place. Without a place nothing is read: it begins at the end.
///
/// What the cap leaves is read the next time. Of several rotations since the last look, what was
/// begun and rotated away in between is not seen.
///
/// # Errors
/// The file cannot be read; the place stays as it was.
pub fn read(
    path: &Path,
    place: Option<&Place>,
    limits: Limits,
    each: &mut dyn FnMut(&str),
) -> io::Result<Place> {
    // A line that is cut at its longest must fit, or it would be begun again for ever.
    let cap = limits.cap.max(limits.longest as u64 + 1);
    let now = Log::open(path);
    let Some(place) = place else { return at_the_end(&now?) };
    if let Some(now) = now.as_ref().ok().filter(|now| now.is(place)) {
        if place.is_in(now)? {
            return go_on(now, place, limits.longest, cap, each);
        }
    }
    let mut left = cap;
    let old = rotated_away(path, place);
    let renamed = old.as_ref().is_some_and(|old| old.is(place));
    if let Some(now) = now.as_ref().ok().filter(|_| !renamed && place.offset > 0) {
        if place.is_in(now)? {
            // Written anew with all it held, as an editor does: what was read is not read again.
            return go_on(now, place, limits.longest, cap, each);
        }
    }
    if let Some(old) = old {
        let mut scanner = Scanner::new(limits.longest, place.skipping);
        let end = pour(&old, place.offset, left, &mut scanner, each)?;
        left -= end - place.offset;
        if end < old.length || now.is_err() {
            return old.place(end - scanner.pending() as u64, scanner.is_skipping());
        }
        scanner.end(each); // nobody will complete its last line
    }
    let now = now?;
    let mut scanner = Scanner::new(limits.longest, false);
    let end = pour(&now, 0, left, &mut scanner, each)?;
    now.place(end - scanner.pending() as u64, scanner.is_skipping())
}

/// Goes on at `place` in the file it is in.
fn go_on(
    log: &Log,
    place: &Place,
    longest: usize,
    cap: u64,
    each: &mut dyn FnMut(&str),
) -> io::Result<Place> {
    let mut scanner = Scanner::new(longest, place.skipping);
    let end = pour(log, place.offset, cap, &mut scanner, each)?;
    log.place(end - scanner.pending() as u64, scanner.is_skipping())
}

/// Reads the end of the log at `path`, as much as one look reads, and keeps no place.
///
/// # Errors
/// The file cannot be read.
pub fn tail(path: &Path, limits: Limits, each: &mut dyn FnMut(&str)) -> io::Result<()> {
    let log = Log::open(path)?;
    let from = log.length.saturating_sub(limits.cap);
    let mut scanner = Scanner::new(limits.longest, from > 0);
    pour(&log, from, limits.cap, &mut scanner, each)?;
    scanner.end(each);
    Ok(())
}

fn at_the_end(log: &Log) -> io::Result<Place> {
    let mut last = [b'\n'];
    if let Some(before) = log.length.checked_sub(1) {
        log.file.read_at(&mut last, before)?;
    }
    log.place(log.length, last != *b"\n")
}

/// Reads from `offset`, at most `cap` bytes; returns how far.
fn pour(
    log: &Log,
    offset: u64,
    cap: u64,
    scanner: &mut Scanner,
    each: &mut dyn FnMut(&str),
) -> io::Result<u64> {
    let mut file = &log.file;
    file.seek(SeekFrom::Start(offset))?;
    let mut rest = file.take(cap);
    let mut buffer = vec![0; 64 << 10];
    let mut end = offset;
    loop {
        match rest.read(&mut buffer) {
            Ok(0) => return Ok(end),
            Ok(length) => {
                scanner.feed(buffer.get(..length).unwrap_or_default(), each);
                end += length as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn checksum(file: &File, offset: u64) -> io::Result<u32> {
    let from = offset.saturating_sub(BEFORE);
    let mut bytes = vec![0; (offset - from) as usize];
    match file.read_exact_at(&mut bytes, from) {
        Ok(()) => Ok(crc32fast::hash(&bytes)),
        // Cut short while we look: it is not there any more.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(u32::MAX),
        Err(error) => Err(error),
    }
}

/// The file beside `path` that has what stood at `place`: the same one under another name, or a
/// copy of it, the newest.
fn rotated_away(path: &Path, place: &Place) -> Option<Log> {
    let name = path.file_name()?.as_encoded_bytes();
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut best: Option<Log> = None;
    for entry in fs::read_dir(dir).ok()?.flatten().take(MOST_FILES) {
        let other = entry.file_name();
        let other = other.as_encoded_bytes();
        if other == name || !other.starts_with(name) {
            continue;
        }
        let Ok(log) = Log::open(&entry.path()) else { continue };
        if !place.is_in(&log).unwrap_or(false) {
            continue;
        }
        if log.is(place) {
            return Some(log);
        }
        // A copy is known by what it holds, and an empty beginning is that of any file.
        let newer = best.as_ref().is_none_or(|best| log.changed > best.changed);
        if place.offset > 0 && newer {
            best = Some(log);
        }
    }
    best
}
