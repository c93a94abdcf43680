//! Responses of HTTP/1.1 on one connection, one after the other, from bytes in whatever pieces.
//!
//! Sans-IO. What is not understood ends the connection; nothing that comes can make it grow.

use httparse::{EMPTY_HEADER, Response, Status};

/// A head longer than this is none.
const HEAD_MOST: usize = 16 << 10;
/// A head with more fields is none.
const FIELDS: usize = 64;
/// The line of a chunk's size.
const SIZE_MOST: usize = 32;

/// This is no response that we understand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotHttp;

/// What came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// A response begins, with this status.
    Head(u16),
    /// Some of its body.
    Body(Vec<u8>),
    /// It is complete; false: the connection serves no other.
    End(bool),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Head,
    /// So many bytes of body.
    Length(u64),
    /// A chunk's size.
    Size,
    /// So many bytes of a chunk.
    Chunk(u64),
    /// The line end behind a chunk.
    ChunkEnd,
    /// Lines up to an empty one.
    Trailer,
    /// Everything up to the end of the connection.
    ToClose,
}

/// Reads responses.
#[derive(Clone, Debug)]
pub struct Replies {
    kept: Vec<u8>,
    next: Next,
    keep_alive: bool,
}

impl Default for Replies {
    fn default() -> Self {
        Self { kept: Vec::new(), next: Next::Head, keep_alive: true }
    }
}

impl Replies {
    /// Takes `bytes` and hands each part to `each`, in order.
    ///
    /// # Errors
    /// [`NotHttp`]; what came before it has been handed over.
    pub fn take(&mut self, bytes: &[u8], mut each: impl FnMut(Part)) -> Result<(), NotHttp> {
        self.kept.extend_from_slice(bytes);
        while self.step(&mut each)? {}
        Ok(())
    }

    /// The other side is done.
    ///
    /// # Errors
    /// [`NotHttp`]: in the middle of a response.
    pub fn close(&self, mut each: impl FnMut(Part)) -> Result<(), NotHttp> {
        match self.next {
            Next::ToClose => {
                each(Part::End(false));
                Ok(())
            }
            Next::Head if self.kept.is_empty() => Ok(()),
            _ => Err(NotHttp),
        }
    }

    /// One part, if it is all there.
    fn step(&mut self, each: &mut impl FnMut(Part)) -> Result<bool, NotHttp> {
        match self.next {
            Next::Head => self.head(each),
            Next::Length(0) => {
                self.end(each);
                Ok(true)
            }
            Next::Chunk(0) => {
                self.next = Next::ChunkEnd;
                Ok(true)
            }
            Next::Length(left) => Ok(self.body(left, each).is_some_and(|left| {
                self.next = Next::Length(left);
                true
            })),
            Next::Chunk(left) => Ok(self.body(left, each).is_some_and(|left| {
                self.next = Next::Chunk(left);
                true
            })),
            Next::ToClose => Ok(self.body(u64::MAX, each).is_some()),
            Next::Size => {
                let Some(line) = self.line(SIZE_MOST)? else { return Ok(false) };
                let digits = line.split(|byte| *byte == b';').next().unwrap_or_default();
                let digits = std::str::from_utf8(digits.trim_ascii()).map_err(|_| NotHttp)?;
                let plain = !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_hexdigit());
                let size = u64::from_str_radix(digits, 16).map_err(|_| NotHttp)?;
                self.next = match size {
                    _ if !plain => return Err(NotHttp),
                    0 => Next::Trailer,
                    size => Next::Chunk(size),
                };
                Ok(true)
            }
            Next::ChunkEnd => {
                let Some(line) = self.line(2)? else { return Ok(false) };
                self.next = Next::Size;
                if line.is_empty() { Ok(true) } else { Err(NotHttp) }
            }
            Next::Trailer => {
                let Some(line) = self.line(HEAD_MOST)? else { return Ok(false) };
                if line.is_empty() {
                    self.end(each);
                }
                Ok(true)
            }
        }
    }

    fn end(&mut self, each: &mut impl FnMut(Part)) {
        self.next = Next::Head;
        each(Part::End(self.keep_alive));
    }

    /// What there is of the body, at most `left`; how much is left then, if there was any.
    fn body(&mut self, left: u64, each: &mut impl FnMut(Part)) -> Option<u64> {
        let here = usize::try_from(left).unwrap_or(usize::MAX).min(self.kept.len());
        if here == 0 {
            return None;
        }
        each(Part::Body(self.kept.drain(..here).collect()));
        Some(left - here as u64)
    }

    /// A whole line without its end, of at most `most` bytes with it.
    fn line(&mut self, most: usize) -> Result<Option<Vec<u8>>, NotHttp> {
        let Some(end) = self.kept.iter().take(most).position(|byte| *byte == b'\n') else {
            return if self.kept.len() >= most { Err(NotHttp) } else { Ok(None) };
        };
        let mut line: Vec<u8> = self.kept.drain(..=end).collect();
        line.pop();
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        Ok(Some(line))
    }

    fn head(&mut self, each: &mut impl FnMut(Part)) -> Result<bool, NotHttp> {
        let mut fields = [EMPTY_HEADER; FIELDS];
        let mut response = Response::new(&mut fields);
        let length = match response.parse(&self.kept) {
            Ok(Status::Complete(length)) if length <= HEAD_MOST => length,
            Ok(Status::Partial) if self.kept.len() < HEAD_MOST => return Ok(false),
            Ok(_) | Err(_) => return Err(NotHttp),
        };
        let status = response.code.filter(|code| *code >= 100).ok_or(NotHttp)?;
        let later = response.version == Some(1);
        let (next, keep_alive) = framing(response.headers, later)?;
        self.kept.drain(..length);
        if (100..200).contains(&status) {
            return Ok(true); // the response itself follows
        }
        self.keep_alive = keep_alive && next != Next::ToClose;
        self.next = if matches!(status, 204 | 304) { Next::Length(0) } else { next };
        each(Part::Head(status));
        Ok(true)
    }
}

/// What the fields of a head say of the body and of the connection (RFC 9112, 6.3 and 9.3).
fn framing(fields: &[httparse::Header<'_>], later: bool) -> Result<(Next, bool), NotHttp> {
    let (mut length, mut chunked, mut close) = (None, false, !later);
    for field in fields {
        let value = std::str::from_utf8(field.value).map_err(|_| NotHttp)?.trim();
        if field.name.eq_ignore_ascii_case("content-length") {
            let digits = value.bytes().all(|byte| byte.is_ascii_digit());
            let number: u64 = value.parse().map_err(|_| NotHttp)?;
            if !digits || length.is_some_and(|length| length != number) {
                return Err(NotHttp);
            }
            length = Some(number);
        } else if field.name.eq_ignore_ascii_case("transfer-encoding") {
            if !value.eq_ignore_ascii_case("chunked") {
                return Err(NotHttp); // we asked for nothing else
            }
            chunked = true;
        } else if field.name.eq_ignore_ascii_case("connection") {
            close |= value.split(',').any(|word| word.trim().eq_ignore_ascii_case("close"));
        }
    }
    let next = match (chunked, length) {
        (true, _) => Next::Size,
        (false, Some(length)) => Next::Length(length),
        (false, None) => Next::ToClose,
    };
    Ok((next, !close))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes of `pieces`: each response with its status, body, and whether another may follow.
    fn read(pieces: &[&[u8]], closed: bool) -> Result<Vec<(u16, Vec<u8>, bool)>, NotHttp> {
        let mut replies = Replies::default();
        let (mut found, mut open) = (Vec::new(), None);
        let mut each = |part| match part {
            Part::Head(status) => open = Some((status, Vec::new())),
            Part::Body(bytes) => open.as_mut().expect("a head").1.extend(bytes),
            Part::End(keep) => {
                let (status, body) = open.take().expect("a head");
                found.push((status, body, keep));
            }
        };
        for piece in pieces {
            replies.take(piece, &mut each)?;
        }
        if closed {
            replies.close(&mut each)?;
        }
        Ok(found)
    }

    const LENGTH: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\
        Content-Length: 13\r\n\r\n{\"ID\":\"7587\"}";
    const CHUNKED: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\
        Transfer-Encoding: chunked\r\nGrpc-Metadata-Content-Type: application/grpc\r\n\r\n\
        8\r\n{\"result\r\n6;x=y\r\n\":{}}\n\r\n0\r\nGrpc-Trailer: a\r\n\r\n";
    const CLOSES: &[u8] =
        b"HTTP/1.1 503 Unavailable\r\nConnection: Close\r\nContent-Length: 2\r\n\r\nno";

    #[test]
    fn every_cut_gives_the_same_answers() {
        let all = [LENGTH, CHUNKED, CLOSES].concat();
        let expected = vec![
            (200, b"{\"ID\":\"7587\"}".to_vec(), true),
            (200, b"{\"result\":{}}\n".to_vec(), true),
            (503, b"no".to_vec(), false),
        ];
        for cut in 0..=all.len() {
            let (first, second) = all.split_at(cut);
            assert_eq!(read(&[first, second], true), Ok(expected.clone()), "cut at {cut}");
        }
        let bytes: Vec<&[u8]> = all.chunks(1).collect();
        assert_eq!(read(&bytes, true), Ok(expected));
    }

    #[test]
    fn a_body_without_a_length_ends_with_the_connection() {
        let old = b"HTTP/1.0 200 OK\r\n\r\nall of it";
        assert_eq!(read(&[old], true), Ok(vec![(200, b"all of it".to_vec(), false)]));
        assert_eq!(read(&[old], false), Ok(vec![]));
        assert_eq!(read(&[b"HTTP/1.1 204 No\r\n\r\n"], true), Ok(vec![(204, vec![], false)]));
    }

    /// Every beginning of a response is either waited for, or its connection's end an error.
    #[test]
    fn what_is_cut_off_is_no_answer() {
        for sample in [LENGTH, CHUNKED] {
            for cut in 1..sample.len() {
                let (first, _) = sample.split_at(cut);
                let whole_interim = cut == 25 && sample == CHUNKED;
                let result = read(&[first], true);
                assert_eq!(result.is_err(), !whole_interim, "cut at {cut}: {result:?}");
                assert_eq!(read(&[first], false), Ok(vec![]), "cut at {cut}");
            }
        }
    }

    #[test]
    fn what_is_no_http_is_seen_to_be() {
        let long = [b"HTTP/1.1 200 OK\r\nX: ".as_slice(), &vec![b'x'; HEAD_MOST]].concat();
        let chunk = |text: &str| {
            format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{text}").into_bytes()
        };
        for wrong in [
            b"SSH-2.0-OpenSSH\r\n".to_vec(),
            b"HTTP/1.1 200 OK\r\nContent-Length: 1, 2\r\n\r\n".to_vec(),
            b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n".to_vec(),
            b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n".to_vec(),
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n".to_vec(),
            long,
            chunk("xyz\r\n"),
            chunk("+1\r\nx\r\n"),
            chunk("\r\n"),
            chunk("2\r\nabc\r\n"),
            chunk("fffffffffffffffff\r\n"),
            chunk(&"0".repeat(40)),
        ] {
            assert_eq!(read(&[&wrong], false), Err(NotHttp), "{}", wrong.escape_ascii());
        }
    }
}
