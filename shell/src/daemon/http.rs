//! Requests of the control socket: plain HTTP/1.1 with JSON, so that `curl --unix-socket` works.

use crate::report::model::Command;

/// What a client asks for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Ask {
    /// `GET /status.json`.
    Status,
    /// `GET /events`.
    Events(EventsAsk),
    /// `GET /history/NAME`.
    History {
        /// The service.
        service: String,
        /// Only what is younger than this.
        since_ms: Option<u64>,
    },
    /// `GET /probe/NAME[/CHECK]`.
    Probe {
        /// The service.
        service: String,
        /// One of its checks, or all.
        check: Option<String>,
    },
    /// `GET /board/log`.
    BoardLog,
    /// `POST /command`.
    Command(Box<Command>),
}

/// Which events, and whether to go on as they come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct EventsAsk {
    /// At most so many of the past.
    pub(super) last: usize,
    /// Only what is younger than this.
    pub(super) since_ms: Option<u64>,
    /// Go on as they come.
    pub(super) follow: bool,
    /// Of these services; all if empty.
    pub(super) services: Vec<String>,
}

/// How far a request has come.
#[derive(Debug, PartialEq)]
pub(super) enum Parsed {
    /// More is to come.
    Partial,
    /// Here it is.
    Complete(Ask),
    /// It cannot be answered: HTTP status and why.
    Refused(u16, String),
}

/// No request is longer, in bytes.
pub(super) const MAX_REQUEST: usize = 64 * 1024;

/// Reads a request from what has arrived so far.
pub(super) fn parse(bytes: &[u8]) -> Parsed {
    let mut fields = [httparse::EMPTY_HEADER; 32];
    let mut request = httparse::Request::new(&mut fields);
    let head = match request.parse(bytes) {
        Ok(httparse::Status::Complete(head)) => head,
        Ok(httparse::Status::Partial) if bytes.len() < MAX_REQUEST => return Parsed::Partial,
        Ok(httparse::Status::Partial) => return refuse(413, "the request is too long"),
        Err(error) => return refuse(400, &format!("no HTTP request: {error}")),
    };
    let length =
        request.headers.iter().find(|field| field.name.eq_ignore_ascii_case("content-length")).map(
            |field| std::str::from_utf8(field.value).ok().and_then(|text| text.trim().parse().ok()),
        );
    let length: usize = match length {
        None => 0,
        Some(Some(length)) => length,
        Some(None) => return refuse(400, "Content-Length is no number"),
    };
    if length > MAX_REQUEST {
        return refuse(413, "the body is too long");
    }
    let body = &bytes[head..];
    if body.len() < length {
        return Parsed::Partial;
    }
    let (method, target) = (request.method.unwrap_or(""), request.path.unwrap_or(""));
    route(method, target, &body[..length])
}

fn refuse(status: u16, why: &str) -> Parsed {
    Parsed::Refused(status, why.to_owned())
}

fn route(method: &str, target: &str, body: &[u8]) -> Parsed {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut parts = path.split('/').skip(1);
    let place = (method, parts.next().unwrap_or(""), parts.next(), parts.next(), parts.next());
    match place {
        ("GET", "status.json", None, None, None) => Parsed::Complete(Ask::Status),
        ("GET", "events", None, None, None) => Parsed::Complete(Ask::Events(events_ask(query))),
        ("GET", "history", Some(service), None, None) => Parsed::Complete(Ask::History {
            service: decode(service),
            since_ms: value(query, "since_ms").and_then(|text| text.parse().ok()),
        }),
        ("GET", "probe", Some(service), check, None) => {
            Parsed::Complete(Ask::Probe { service: decode(service), check: check.map(decode) })
        }
        ("GET", "board", Some("log"), None, None) => Parsed::Complete(Ask::BoardLog),
        ("POST", "command", None, None, None) => match serde_json::from_slice(body) {
            Ok(command) => Parsed::Complete(Ask::Command(Box::new(command))),
            Err(error) => refuse(400, &format!("no command: {error}")),
        },
        ("GET" | "POST", ..) => refuse(404, &format!("nothing is at {path}")),
        _ => refuse(405, "GET and POST only"),
    }
}

fn events_ask(query: &str) -> EventsAsk {
    EventsAsk {
        last: value(query, "n").and_then(|text| text.parse().ok()).unwrap_or(50),
        since_ms: value(query, "since_ms").and_then(|text| text.parse().ok()),
        follow: value(query, "follow").is_some_and(|text| text != "0"),
        services: pairs(query)
            .filter(|(key, _)| *key == "service")
            .map(|(_, value)| decode(value))
            .collect(),
    }
}

fn pairs(query: &str) -> impl Iterator<Item = (&str, &str)> {
    query.split('&').filter_map(|pair| pair.split_once('='))
}

fn value(query: &str, key: &str) -> Option<String> {
    pairs(query).find(|(name, _)| *name == key).map(|(_, value)| decode(value))
}

/// Undoes `%40`; names need no more than that.
fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match (*first, hex.and_then(|hex| u8::from_str_radix(hex, 16).ok())) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            (byte, _) => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The head of an answer that ends with the connection.
pub(super) fn head(status: u16, content_type: &str, length: Option<usize>) -> String {
    let reason = match status {
        200 => "OK",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        413 => "Content Too Large",
        _ => "Service Unavailable",
    };
    let length = length.map_or_else(String::new, |length| format!("Content-Length: {length}\r\n"));
    format!(
        "HTTP/1.1 {status} {reason}\r\nContent-Type: {content_type}\r\n{length}\
         Cache-Control: no-store\r\nConnection: close\r\n\r\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_however_they_are_cut() {
        let body = br#"{"verb":"hold","services":["web"],"for_ms":60000}"#;
        let mut bytes = format!("POST /command HTTP/1.1\r\nContent-Length: {}\r\n\r\n", body.len())
            .into_bytes();
        bytes.extend_from_slice(body);
        for cut in 0..bytes.len() {
            assert_eq!(parse(&bytes[..cut]), Parsed::Partial, "cut at {cut}");
        }
        let Parsed::Complete(Ask::Command(command)) = parse(&bytes) else { panic!("a command") };
        assert_eq!((command.verb.as_str(), command.for_ms), ("hold", Some(60_000)));
    }

    #[test]
    fn names_and_filters_come_through() {
        let Parsed::Complete(ask) = parse(b"GET /history/pg%4015?since_ms=5 HTTP/1.1\r\n\r\n")
        else {
            panic!("a question")
        };
        assert_eq!(ask, Ask::History { service: "pg@15".to_owned(), since_ms: Some(5) });
        let Parsed::Complete(Ask::Events(ask)) =
            parse(b"GET /events?n=3&follow=1&service=a&service=b HTTP/1.1\r\n\r\n")
        else {
            panic!("a question")
        };
        assert_eq!((ask.last, ask.follow, ask.services.len()), (3, true, 2));
    }

    #[test]
    fn nonsense_is_refused_with_a_reason() {
        assert!(matches!(parse(b"\x00\x01\r\n\r\n"), Parsed::Refused(400, _)));
        assert!(matches!(parse(b"GET /nowhere HTTP/1.1\r\n\r\n"), Parsed::Refused(404, _)));
        assert!(matches!(parse(b"PUT /command HTTP/1.1\r\n\r\n"), Parsed::Refused(405, _)));
        let endless = vec![b'a'; MAX_REQUEST];
        assert!(matches!(parse(&endless), Parsed::Refused(..)));
    }
}
