//! A webhook's one request, made by a process of its own: so that no name to look up, no handshake
//! and no slow answer is ever waited for by the loop.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

/// The variables the URL and the body come in.
pub const URL: &str = "GIVEOVER_WEBHOOK_URL";
/// See [`URL`].
pub const BODY: &str = "GIVEOVER_WEBHOOK_BODY";

const PATIENCE: Duration = Duration::from_secs(10);
/// Of an answer only the first line is looked at.
const MOST_ANSWER: u64 = 16 << 10;

/// Posts `body` to `url`.
///
/// # Errors
/// It was not taken: what went wrong, or the answer's status.
pub fn post(url: &str, body: &str) -> Result<(), String> {
    let target = Target::parse(url).ok_or_else(|| "this is no URL of http or https".to_owned())?;
    let mut stream = connect(&target).map_err(|error| format!("{}: {error}", target.host))?;
    let request = format!(
        "POST {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: giveover/{}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        target.path,
        target.authority,
        env!("CARGO_PKG_VERSION"),
        body.len()
    );
    let status = if target.tls {
        let mut tls = secure(stream, &target.host).map_err(|error| error.to_string())?;
        exchange(&mut tls, &request)
    } else {
        exchange(&mut stream, &request)
    };
    match status.map_err(|error| error.to_string())? {
        200..=299 => Ok(()),
        status => Err(format!("answered {status}")),
    }
}

struct Target<'u> {
    tls: bool,
    authority: &'u str,
    host: String,
    port: u16,
    path: &'u str,
}

impl<'u> Target<'u> {
    fn parse(url: &'u str) -> Option<Self> {
        let (scheme, rest) = url.split_once("://")?;
        let tls = match scheme {
            "http" => false,
            "https" => true,
            _ => return None,
        };
        let (authority, path) = match rest.find(['/', '?']) {
            Some(at) if rest.get(at..)?.starts_with('/') => rest.split_at(at),
            Some(_) => return None,
            None => (rest, "/"),
        };
        let (host, port) = match authority.strip_prefix('[') {
            Some(rest) => {
                let (host, port) = rest.split_once(']')?;
                (host, port.strip_prefix(':'))
            }
            None => match authority.rsplit_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (authority, None),
            },
        };
        let port = match port {
            Some(port) => port.parse().ok()?,
            None => {
                if tls {
                    443
                } else {
                    80
                }
            }
        };
        let plain = |text: &str| !text.bytes().any(|byte| byte <= b' ' || byte == 0x7f);
        let fits = !host.is_empty() && plain(authority) && plain(path);
        fits.then(|| Self { tls, authority, host: host.to_owned(), port, path })
    }
}

fn connect(target: &Target<'_>) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in (target.host.as_str(), target.port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(stream) => {
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.set_write_timeout(Some(PATIENCE))?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn secure(
    stream: TcpStream,
    host: &str,
) -> Result<StreamOwned<ClientConnection, TcpStream>, Box<dyn std::error::Error>> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from(host.to_owned())?;
    let connection = ClientConnection::new(Arc::new(config), name)?;
    Ok(StreamOwned::new(connection, stream))
}

/// Sends the request; the answer's status.
fn exchange(stream: &mut (impl Read + Write), request: &str) -> io::Result<u16> {
    stream.write_all(request.as_bytes())?;
    stream.flush()?;
    let mut answer = Vec::new();
    let mut piece = [0; 1024];
    while !answer.contains(&b'\n') && (answer.len() as u64) < MOST_ANSWER {
        match stream.read(&mut piece)? {
            0 => break,
            count => answer.extend_from_slice(piece.get(..count).unwrap_or_default()),
        }
    }
    let line = answer.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line).into_owned();
    let mut words = line.split_ascii_whitespace();
    let http = words.next().is_some_and(|word| word.starts_with("HTTP/1."));
    let status = words.next().and_then(|word| word.parse().ok()).filter(|_| http);
    status.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "no answer of HTTP"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::thread;

    #[test]
    fn urls_are_taken_apart() {
        let parts = |url| {
            let target = Target::parse(url)?;
            Some((target.tls, target.host, target.port, target.path.to_owned()))
        };
        let some =
            |tls, host: &str, port, path: &str| Some((tls, host.to_owned(), port, path.to_owned()));
        assert_eq!(parts("http://h"), some(false, "h", 80, "/"));
        assert_eq!(parts("https://h.example:8443/a?b=c"), some(true, "h.example", 8443, "/a?b=c"));
        assert_eq!(parts("http://[::1]:8/x"), some(false, "::1", 8, "/x"));
        for wrong in ["h", "ftp://h/", "http://", "http://h:x/", "http://h/a b", "http://h?x"] {
            assert_eq!(parts(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_is_posted_is_taken_or_it_is_said_why_not() {
        for (answer, expected) in [
            ("HTTP/1.1 204 No Content\r\n\r\n", Ok(())),
            ("HTTP/1.1 500 No\r\n\r\n", Err("answered 500".to_owned())),
            ("nonsense\n", Err("no answer of HTTP".to_owned())),
            ("", Err("no answer of HTTP".to_owned())),
        ] {
            let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
            let url = format!("http://{}/hook", listener.local_addr().expect("its address"));
            let server = thread::spawn(move || {
                let (mut stream, _) = listener.accept().expect("a client");
                let mut request = Vec::new();
                let mut piece = [0; 512];
                while !request.ends_with(b"{\"a\":1}") {
                    let count = stream.read(&mut piece).expect("a request");
                    request.extend_from_slice(&piece[..count]);
                }
                stream.write_all(answer.as_bytes()).expect("written");
                String::from_utf8(request).expect("text")
            });
            assert_eq!(post(&url, "{\"a\":1}"), expected);
            let request = server.join().expect("served");
            assert!(request.starts_with("POST /hook HTTP/1.1\r\n"), "{request}");
        }
    }
}
