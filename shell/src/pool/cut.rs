//! Connections cut: sockets of this host are destroyed, as `ss -K` does it. Both ends of each hear
//! of it at once.
//!
//! Only sockets whose one end is the member, or that a proxy named as belonging to it, are touched.

use std::net::SocketAddr;

use rustix::io::Errno;

use crate::netlink::sockets::{Connection, Sockets, families, plain};

pub use crate::netlink::sockets::Cut;

/// Cuts the connections of this host with `member`, whichever end of them is here, and the clients'
/// connections that a proxy here serves from it (own end, client's end).
///
/// The clients' come first: once the member's are gone, the proxy would end them in good order.
///
/// # Errors
/// Sockets cannot be asked for at all; nothing was cut.
pub fn cut(member: SocketAddr, clients: &[(SocketAddr, SocketAddr)]) -> Result<Cut, Errno> {
    let mut sockets = Sockets::open()?;
    let found = connections(&mut sockets, member)?;
    let mut cut = Cut::default();
    for (own, peer) in clients {
        let mut result = Err(Errno::NOENT);
        for family in families(*own) {
            if result == Err(Errno::NOENT) {
                result = sockets.destroy(&Connection::between(*family, *own, *peer));
            }
        }
        cut.note(result);
    }
    for connection in found {
        cut.note(sockets.destroy(&connection));
    }
    Ok(cut)
}

/// The connections of this host one of whose ends is `member`.
fn connections(sockets: &mut Sockets, member: SocketAddr) -> Result<Vec<Connection>, Errno> {
    let mut found: Vec<Connection> = Vec::new();
    for family in families(member) {
        // The kernel looks at the ports; the addresses are ours to compare.
        for (own, peer) in [(0, member.port()), (member.port(), 0)] {
            for connection in sockets.find(*family, own, peer, |it| is_of(it, member))? {
                if !found.contains(&connection) {
                    found.push(connection);
                }
            }
        }
    }
    Ok(found)
}

fn is_of(connection: &Connection, member: SocketAddr) -> bool {
    let same =
        |end: SocketAddr| end.port() == member.port() && plain(end.ip()) == plain(member.ip());
    same(connection.own) || same(connection.peer)
}

#[cfg(test)]
mod tests {
    use std::io::{ErrorKind, Read};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    /// Needs the right to destroy sockets, and says so where it is missing.
    #[test]
    fn both_ends_hear_of_it_at_once_and_nobody_else_does() {
        let member = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let other = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let mut client = TcpStream::connect(member.local_addr().expect("its")).expect("connected");
        let mut bystander =
            TcpStream::connect(other.local_addr().expect("its")).expect("connected");
        let _accepted = (member.accept().expect("taken"), other.accept().expect("taken"));
        let cut = cut(member.local_addr().expect("its"), &[]).expect("sockets can be asked for");
        if cut.errno == Some(Errno::PERM.raw_os_error())
            || cut.errno == Some(Errno::OPNOTSUPP.raw_os_error())
        {
            return println!("skipped: cut: root: the kernel lets nobody else destroy sockets");
        }
        assert!(cut.done >= 1 && cut.failed == 0, "{cut:?}");
        let mut buffer = [0; 1];
        let error = client.read(&mut buffer).expect_err("cut");
        let kinds = [ErrorKind::ConnectionReset, ErrorKind::ConnectionAborted];
        assert!(kinds.contains(&error.kind()), "{error}");
        bystander.set_nonblocking(true).expect("a socket");
        let still = bystander.read(&mut buffer).expect_err("nothing was sent");
        assert_eq!(still.kind(), ErrorKind::WouldBlock);
    }
}
