//! A client that comes when nobody is left, byte by byte: its requests, and what it is sent.
//!
//! Whatever it sends is read, within bounds, before the connection is closed: closed with
//! something unread it would be reset, and the page lost with it.

use std::fmt::Write as _;
use std::sync::Arc;

/// No head is longer; one that is gets its answer all the same, and then the end.
const LONGEST_HEAD: usize = 16 << 10;
/// So much is owed to one client before it must read some of it: who asks and never reads would
/// have us keep a page for each request.
const MOST_UNSENT: usize = 256 << 10;

/// What is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Served {
    /// A page, with status 503; all clients have the same.
    Page(Arc<[u8]>),
    /// Another place, with status 302.
    Redirect(String),
    /// Nothing: connections are reset.
    Reset,
}

/// How it is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Serving {
    /// What.
    pub served: Served,
    /// Seconds after which clients are told to come again.
    pub retry_after_s: Option<u64>,
}

/// What is to be done about a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Read on.
    Read,
    /// Send what there is, then read on: there may be another request.
    Answered,
    /// Send what there is, say that this was all, and read what still comes until it ends.
    Drain,
    /// Reset the connection: this is no HTTP.
    Reset,
}

/// One client.
#[derive(Debug, Default)]
pub struct Client {
    heard: Vec<u8>,
    drains: bool,
    /// Requests wait in `heard` until it has read what it is owed.
    waits: bool,
}

impl Client {
    /// Takes what was read, if anything was, and adds to `out`, which holds what is not sent yet,
    /// what is to be sent.
    pub fn take(&mut self, bytes: &[u8], serving: &Serving, out: &mut Vec<u8>) -> Step {
        if self.drains {
            return Step::Drain;
        }
        if serving.served == Served::Reset {
            return Step::Reset;
        }
        self.heard.extend_from_slice(bytes);
        let mut answered = false;
        loop {
            self.waits = out.len() >= MOST_UNSENT;
            if self.waits {
                return Step::Answered;
            }
            match self.one(serving, out) {
                Step::Answered => answered = true,
                Step::Read if answered => return Step::Answered,
                step => return step,
            }
        }
    }

    /// The head did not come in time: what has come is answered, if anything has.
    pub fn late(&mut self, serving: &Serving, out: &mut Vec<u8>) -> Step {
        if self.drains || self.heard.is_empty() {
            return Step::Drain;
        }
        self.last(false, None, serving, out)
    }

    /// Whether it is being read only to its end.
    #[must_use]
    pub const fn is_draining(&self) -> bool {
        self.drains
    }

    /// Whether there are requests to be answered once some of what it is owed has been sent.
    #[must_use]
    pub const fn waits(&self) -> bool {
        self.waits && !self.drains
    }

    /// Whether a part of a request has come.
    #[must_use]
    pub fn is_halfway(&self) -> bool {
        !self.heard.is_empty()
    }

    fn one(&mut self, serving: &Serving, out: &mut Vec<u8>) -> Step {
        if self.heard.is_empty() {
            return Step::Read;
        }
        let mut fields = [httparse::EMPTY_HEADER; 64];
        let mut request = httparse::Request::new(&mut fields);
        let (length, asked) = match request.parse(&self.heard) {
            Ok(httparse::Status::Complete(length)) => (length, Asked::of(&request)),
            Ok(httparse::Status::Partial) if self.heard.len() < LONGEST_HEAD => return Step::Read,
            // Too long, or with more fields than anybody needs: it is HTTP, and gets its page.
            Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
                return self.last(false, None, serving, out);
            }
            Err(_) => return Step::Reset,
        };
        if asked.ends {
            return self.last(asked.is_head, asked.url.as_deref(), serving, out);
        }
        answer(asked.is_head, asked.url.as_deref(), true, serving, out);
        self.heard.drain(..length);
        Step::Answered
    }

    fn last(
        &mut self,
        is_head: bool,
        url: Option<&str>,
        serving: &Serving,
        out: &mut Vec<u8>,
    ) -> Step {
        answer(is_head, url, false, serving, out);
        self.drains = true;
        self.heard = Vec::new();
        Step::Drain
    }
}

/// What matters of a request.
struct Asked {
    is_head: bool,
    /// The connection ends with it: it says so, or a body follows.
    ends: bool,
    /// `http://HOST/PATH`, as far as it says.
    url: Option<String>,
}

impl Asked {
    fn of(request: &httparse::Request<'_, '_>) -> Self {
        let field = |name: &str| {
            let found = request.headers.iter().find(|it| it.name.eq_ignore_ascii_case(name));
            found.and_then(|it| std::str::from_utf8(it.value).ok()).map(str::trim)
        };
        let has_body = field("transfer-encoding").is_some()
            || field("content-length").is_some_and(|length| length != "0");
        let closes =
            field("connection").is_some_and(|it| it.to_ascii_lowercase().contains("close"));
        let path = request.path.unwrap_or_default();
        let whole = path.starts_with("http://") || path.starts_with("https://");
        let url = match field("host") {
            _ if whole => Some(path.to_owned()),
            Some(host) => Some(format!("http://{host}{path}")),
            None => None,
        };
        Self {
            is_head: request.method == Some("HEAD"),
            ends: has_body || closes || request.version != Some(1),
            url,
        }
    }
}

/// Adds one answer to `out`. Who already is where it would be sent gets no redirect: it would go
/// round for ever.
fn answer(is_head: bool, url: Option<&str>, keeps: bool, serving: &Serving, out: &mut Vec<u8>) {
    const GONE_ROUND: &[u8] = b"No server is left, and this is where they send you.\n";
    let (status, location, page): (_, _, &[u8]) = match &serving.served {
        Served::Page(page) => ("503 Service Unavailable", None, page),
        Served::Redirect(to) if url != Some(to) => ("302 Found", Some(to), &[]),
        Served::Redirect(_) => ("503 Service Unavailable", None, GONE_ROUND),
        Served::Reset => return,
    };
    let mut head = format!("HTTP/1.1 {status}\r\n");
    if let Some(location) = location {
        let _ = write!(head, "Location: {location}\r\n"); // a text takes everything
    }
    if let Some(seconds) = serving.retry_after_s {
        let _ = write!(head, "Retry-After: {seconds}\r\n");
    }
    let length = page.len();
    let connection = if keeps { "keep-alive" } else { "close" };
    if location.is_none() {
        head.push_str("Content-Type: text/html; charset=utf-8\r\n");
    }
    let _ = write!(
        head,
        "Content-Length: {length}\r\nCache-Control: no-store\r\nConnection: {connection}\r\n\r\n"
    );
    out.extend_from_slice(head.as_bytes());
    if !is_head {
        out.extend_from_slice(page);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> Serving {
        Serving { served: Served::Page(b"<p>sorry".as_slice().into()), retry_after_s: Some(30) }
    }

    fn redirect() -> Serving {
        let to = "http://sorry.example.org/".to_owned();
        Serving { served: Served::Redirect(to), retry_after_s: None }
    }

    fn said(bytes: &[u8], serving: &Serving) -> (String, Step) {
        let mut out = Vec::new();
        let step = Client::default().take(bytes, serving, &mut out);
        (String::from_utf8(out).expect("text"), step)
    }

    // req 3.38 3.39
    #[test]
    fn a_page_comes_with_503_its_length_and_when_to_come_again() {
        let (text, step) = said(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", &page());
        assert_eq!(
            text,
            "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 30\r\n\
             Content-Type: text/html; charset=utf-8\r\nContent-Length: 8\r\n\
             Cache-Control: no-store\r\nConnection: keep-alive\r\n\r\n<p>sorry"
        );
        assert_eq!(step, Step::Answered);
    }

    // req 3.35
    #[test]
    fn a_redirect_is_a_302_that_nobody_keeps() {
        let (text, step) = said(b"GET /a?b HTTP/1.1\r\nHost: x\r\n\r\n", &redirect());
        assert_eq!(
            text,
            "HTTP/1.1 302 Found\r\nLocation: http://sorry.example.org/\r\nContent-Length: 0\r\n\
             Cache-Control: no-store\r\nConnection: keep-alive\r\n\r\n"
        );
        assert_eq!(step, Step::Answered);
    }

    #[test]
    fn who_is_already_there_is_not_sent_round() {
        for request in [
            "GET / HTTP/1.1\r\nHost: sorry.example.org\r\n\r\n",
            "GET http://sorry.example.org/ HTTP/1.1\r\nHost: y\r\n\r\n",
        ] {
            let (text, _) = said(request.as_bytes(), &redirect());
            assert!(text.starts_with("HTTP/1.1 503 ") && !text.contains("Location"), "{text}");
        }
    }

    #[test]
    fn a_head_request_gets_the_head_alone() {
        let (text, step) = said(b"HEAD / HTTP/1.1\r\nHost: x\r\n\r\n", &page());
        assert!(text.contains("Content-Length: 8\r\n") && text.ends_with("\r\n\r\n"), "{text}");
        assert_eq!(step, Step::Answered);
    }

    #[test]
    fn a_connection_is_kept_for_the_next_request() {
        let request = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n";
        let three = [&request[..], request, request].concat();
        let (text, step) = said(&three, &page());
        assert_eq!((text.matches("503").count(), step), (3, Step::Answered));
    }

    /// A page of a megabyte, asked for a thousand times by one who never reads.
    #[test]
    fn who_asks_and_never_reads_is_not_owed_more_and_more() {
        let serving = Serving { served: Served::Page(vec![b'x'; 1 << 20].into()), ..page() };
        let requests = b"GET / HTTP/1.1\r\n\r\n".repeat(1000);
        let mut client = Client::default();
        let mut out = Vec::new();
        assert_eq!(client.take(&requests, &serving, &mut out), Step::Answered);
        assert!(client.waits() && out.len() < 2 << 20, "{}", out.len());
        let mut answers = 0;
        while client.waits() {
            answers += 1;
            out.clear(); // it has read
            client.take(&[], &serving, &mut out);
        }
        assert_eq!(answers, 1000);
    }

    #[test]
    fn a_connection_that_ends_or_has_a_body_is_drained() {
        for request in [
            "GET / HTTP/1.0\r\n\r\n",
            "GET / HTTP/1.1\r\nConnection: close\r\n\r\n",
            "POST / HTTP/1.1\r\nContent-Length: 10000000\r\n\r\nabc",
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
        ] {
            let mut client = Client::default();
            let mut out = Vec::new();
            let step = client.take(request.as_bytes(), &page(), &mut out);
            assert_eq!(step, Step::Drain, "{request}");
            let once = out.clone();
            assert!(String::from_utf8_lossy(&once).contains("Connection: close"));
            assert_eq!(client.take(&[b'x'; 4096], &page(), &mut out), Step::Drain);
            assert_eq!(out, once, "one answer");
        }
    }

    #[test]
    fn however_a_request_is_cut_it_is_answered_once_and_alike() {
        let request = b"GET /x HTTP/1.1\r\nHost: x\r\nA: b\r\n\r\nHEAD / HTTP/1.1\r\n\r\n";
        let whole = said(request, &page()).0;
        for cut in 0..request.len() {
            let mut client = Client::default();
            let mut out = Vec::new();
            client.take(&request[..cut], &page(), &mut out);
            client.take(&request[cut..], &page(), &mut out);
            assert_eq!(String::from_utf8_lossy(&out), whole, "cut at {cut}");
        }
    }

    #[test]
    fn what_is_too_long_or_too_late_gets_its_page_and_what_is_no_http_is_reset() {
        let long = [b"GET / HTTP/1.1\r\nA: ".to_vec(), vec![b'a'; LONGEST_HEAD]].concat();
        let (text, step) = said(&long, &page());
        assert!(text.starts_with("HTTP/1.1 503") && step == Step::Drain);
        let mut client = Client::default();
        let mut out = Vec::new();
        assert_eq!(client.take(b"GET / HT", &page(), &mut out), Step::Read);
        assert_eq!(client.late(&page(), &mut out), Step::Drain);
        assert!(out.starts_with(b"HTTP/1.1 503"));
        let hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03";
        assert_eq!(said(hello, &page()), (String::new(), Step::Reset));
    }

    #[test]
    fn reset_means_every_connection() {
        let serving = Serving { served: Served::Reset, retry_after_s: None };
        assert_eq!(said(b"GET / HTTP/1.1\r\n\r\n", &serving), (String::new(), Step::Reset));
    }
}
