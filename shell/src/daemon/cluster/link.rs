//! What comes on the link, and what goes.

use std::net::SocketAddr;

use giveover_core::node::{Node, Nodes};
use giveover_core::peer::{Event, Message};
use giveover_core::share;
use giveover_core::time::Span;
use giveover_core::wire::peer::{Frame, peek};

use super::boot_now;
use crate::check::resolve::Known;
use crate::cluster::net::{Conn, News};
use crate::cluster::pair::{Heard, Way, Why};
use crate::config::plan::Host;
use crate::daemon::Daemon;
use crate::message;

/// Links are looked after this often: greetings that keep connections alive, names, and who is
/// heard no more.
const LOOK_EVERY: Span = Span::from_secs(2);

impl Daemon {
    /// Takes what came on the sockets.
    pub(super) fn take_news(&mut self) {
        while let Some(news) = self.cluster.as_mut().and_then(|cluster| cluster.net.news()) {
            match news {
                News::Datagram(from, bytes) => self.hear_datagram(from, &bytes),
                News::Frame(conn, node, bytes) => self.hear_frame(conn, node, &bytes),
                News::Made(conn, node) => {
                    if let Some(hello) = self.sealed(node, &Frame::Hello) {
                        if let Some(cluster) = &mut self.cluster {
                            cluster.net.send(&self.reactor, conn, &hello);
                        }
                    }
                }
                News::Over(node, why) => self.connection_over(node, why),
            }
        }
    }

    /// The node that bytes say they are from, if it may cost us a MAC: its own budget is charged
    /// where they come from its address, else that of all strangers.
    fn claimed(&mut self, bytes: &[u8], from: Option<SocketAddr>) -> Option<Node> {
        let now = boot_now();
        let cluster = self.cluster.as_deref_mut()?;
        let header = peek(bytes);
        let node = header.ok().filter(|it| it.to == cluster.me).map(|header| header.from);
        let known = node.and_then(|node| *cluster.addresses.get(usize::from(node.0))?);
        let from_there =
            from.is_none() || from.is_some_and(|from| known.is_some_and(|it| it.ip() == from.ip()));
        if node.is_some() && from_there {
            return node;
        }
        // A header of another version has no sender that could be read: of the address it is.
        if node.is_none() {
            let at = |it: &Option<SocketAddr>| it.map(|it| it.ip()) == from.map(|from| from.ip());
            let place = cluster.addresses.iter().position(at);
            if let (Some(place), Some(_)) = (place, from) {
                return u8::try_from(place).ok().map(Node).filter(|it| *it != cluster.me);
            }
        }
        if !cluster.strangers.take(now) || node.is_none() {
            cluster.strange = cluster.strange.saturating_add(1);
            return None;
        }
        node
    }

    fn hear_datagram(&mut self, from: SocketAddr, bytes: &[u8]) {
        let Some(node) = self.claimed(bytes, Some(from)) else { return };
        let heard = self.hear(node, bytes, Way::Datagram);
        self.take_heard(node, heard, None);
    }

    fn hear_frame(&mut self, conn: Conn, node: Option<Node>, bytes: &[u8]) {
        // A connection that has proven whose it is speaks for that node; another for nobody yet.
        let charged = node.is_some();
        let claimed = match node {
            Some(node) => Some(node),
            None => peek(bytes).ok().map(|header| header.from),
        };
        let now = boot_now();
        let Some(cluster) = &mut self.cluster else { return };
        let may = charged || cluster.strangers.take(now);
        let known = claimed.filter(|node| {
            may && cluster.pairs.get(usize::from(node.0)).is_some_and(Option::is_some)
        });
        let Some(node) = known else {
            cluster.strange = cluster.strange.saturating_add(1);
            return cluster.net.hang_up(&self.reactor, conn);
        };
        let heard = self.hear(node, bytes, Way::Connection);
        let Some(cluster) = &mut self.cluster else { return };
        if heard == Heard::Nothing {
            // Repeated frames come by both ways; what is not authentic has no second chance.
            if !charged {
                cluster.net.hang_up(&self.reactor, conn);
            }
            return;
        }
        // A record of an earlier frame must not take the place of the connection there is.
        if matches!(heard, Heard::Frame(_) | Heard::Hello { fresh: true, .. }) {
            cluster.net.prove(&self.reactor, conn, node, now);
            if let Some(pair) = cluster.pair(node) {
                pair.connected();
                pair.tried(None);
            }
        }
        self.take_heard(node, heard, Some(conn));
    }

    fn hear(&mut self, node: Node, bytes: &[u8], way: Way) -> Heard {
        let Some(cluster) = self.cluster.as_deref_mut() else { return Heard::Nothing };
        let pair = cluster.pairs.get_mut(usize::from(node.0)).and_then(Option::as_mut);
        pair.map_or(Heard::Nothing, |pair| pair.hear(bytes, way, &cluster.keys, boot_now()))
    }

    fn take_heard(&mut self, node: Node, heard: Heard, conn: Option<Conn>) {
        match heard {
            Heard::Frame(Frame::Message { group, message }) => {
                self.tell_group(usize::from(group), Event::Frame { from: node, message });
                self.look_who_gave_over(usize::from(group), node);
            }
            Heard::Frame(Frame::Shared { group, message }) => {
                let event = share::Event::Frame { from: node, message };
                self.tell_shared(usize::from(group), event);
            }
            // A greeting is answered elsewhere.
            Heard::Frame(Frame::Hello) => {}
            Heard::Hello { answer, .. } | Heard::Stale(answer) => {
                if answer {
                    self.greet(node, conn);
                }
            }
            Heard::Nothing => return,
        }
        self.tell_heard(node);
    }

    /// Says who we are, on the connection a greeting came on or as a datagram.
    fn greet(&mut self, node: Node, conn: Option<Conn>) {
        let Some(hello) = self.sealed(node, &Frame::Hello) else { return };
        let Some(cluster) = &mut self.cluster else { return };
        match conn {
            Some(conn) => cluster.net.send(&self.reactor, conn, &hello),
            None => self.send_datagram(node, &hello),
        }
    }

    fn sealed(&mut self, node: Node, frame: &Frame) -> Option<Vec<u8>> {
        let cluster = self.cluster.as_deref_mut()?;
        let pair = cluster.pairs.get_mut(usize::from(node.0))?.as_mut()?;
        pair.seal(frame, &cluster.keys)
    }

    fn send_datagram(&mut self, node: Node, bytes: &[u8]) {
        let Some(cluster) = self.cluster.as_deref_mut() else { return };
        let Some(to) = cluster.addresses.get(usize::from(node.0)).copied().flatten() else {
            return;
        };
        if let Err(why) = cluster.net.send_datagram(to, bytes) {
            if let Some(pair) = cluster.pair(node) {
                pair.tried(Some(why));
            }
        }
    }

    /// Says `frame` to one node. Who has not been met is greeted instead, at each heartbeat.
    pub(super) fn send_one(&mut self, node: Node, frame: &Frame) {
        let Some(cluster) = self.cluster.as_deref_mut() else { return };
        let Some(pair) = cluster.pair(node) else { return };
        let (met, beat) = (pair.is_met(), is_beat(frame));
        let frame = match (met, beat) {
            (true, _) => frame,
            (false, true) => &Frame::Hello,
            (false, false) => return, // nobody could be addressed
        };
        let conn = cluster.net.of(node).filter(|_| met && !beat);
        let Some(bytes) = self.sealed(node, frame) else { return };
        match (conn, &mut self.cluster) {
            (Some(conn), Some(cluster)) => cluster.net.send(&self.reactor, conn, &bytes),
            (None, _) | (_, None) => self.send_datagram(node, &bytes),
        }
    }

    fn connection_over(&mut self, node: Option<Node>, why: Option<Why>) {
        let now = boot_now();
        let Some(cluster) = &mut self.cluster else { return };
        let Some(node) = node else { return };
        let (me, wait) = (cluster.me, cluster.plan.limits.wait);
        let another = cluster.net.has(node);
        if let Some(pair) = cluster.pair(node) {
            pair.tried(why);
            // One connection a pair: the first in the file makes it. Where nothing is heard the
            // other tries too, to find out why.
            let connects = me < node || pair.why(wait, now).is_some();
            pair.disconnected(connects && !another, now);
        }
        self.tell_legacy_connection(node, why);
    }

    /// Makes connections, greets on those there are, looks names up, and says who is heard.
    pub(super) fn look_after_links(&mut self) {
        let now = boot_now();
        let Some(cluster) = &mut self.cluster else { return };
        let looks = cluster.look_at <= now;
        if looks {
            cluster.look_at = now.after(LOOK_EVERY);
        }
        let nodes: Vec<Node> = cluster.pairs.iter().flatten().map(|pair| pair.node).collect();
        if looks {
            self.stop_what_is_left();
            #[cfg(feature = "etcd")]
            self.look_up_etcd();
        }
        for node in nodes {
            if looks {
                self.look_up(node);
                self.look_after(node);
                self.tell_heard(node);
            }
            self.connect(node);
        }
        self.take_news();
    }

    fn connect(&mut self, node: Node) {
        let now = boot_now();
        let Some(cluster) = self.cluster.as_deref_mut() else { return };
        let to = cluster.addresses.get(usize::from(node.0)).copied().flatten();
        let Some(pair) = cluster.pairs.get_mut(usize::from(node.0)).and_then(Option::as_mut) else {
            return;
        };
        if !pair.connects_now(now) {
            return;
        }
        match to {
            Some(to) => {
                pair.connecting();
                cluster.net.connect(&self.reactor, node, to, now);
            }
            None => pair.disconnected(true, now),
        }
    }

    fn look_after(&mut self, node: Node) {
        let now = boot_now();
        let Some(cluster) = &mut self.cluster else { return };
        let wait = cluster.plan.limits.wait;
        let there = cluster.net.has(node);
        if let Some(pair) = cluster.pair(node) {
            let silent = pair.why(wait, now).is_some();
            if silent && !there && pair.connect_at().is_none() {
                pair.disconnected(true, now);
            }
        }
        // One that has not proven whose it is does so by the answer.
        let made = cluster.net.made_with(node);
        if made.is_some() {
            self.greet(node, made);
        }
    }

    /// The address of a node: as it is written, or what its name says now.
    fn look_up(&mut self, node: Node) {
        let now = self.now;
        let Some(cluster) = self.cluster.as_deref_mut() else { return };
        let Some(plan) = cluster.plan.nodes.get(usize::from(node.0)) else { return };
        let port = plan.port.unwrap_or(cluster.plan.port);
        let address = match &plan.host {
            Host::Address(address) => Some(*address),
            Host::Name(name) => match cluster.resolver.look_up(&self.reactor, name, now) {
                Known::Addresses(found) | Known::Soon(Some(found)) => found.first().copied(),
                Known::Soon(None) => return,
                Known::Nothing(_) => None,
            },
            Host::Socket(_) => None,
        };
        if let Some(place) = cluster.addresses.get_mut(usize::from(node.0)) {
            *place = address.map(|address| SocketAddr::new(address, port));
        }
        if address.is_none() {
            if let Some(pair) = cluster.pair(node) {
                pair.tried(Some(Why::Name));
            }
        }
    }

    /// The resolver has answered.
    pub(in crate::daemon) fn cluster_names_ready(&mut self) {
        let now = self.now;
        let Some(cluster) = self.cluster.as_deref_mut() else { return };
        let mut any = false;
        cluster.resolver.hear(now, |_, _| any = true);
        if any {
            cluster.look_at = boot_now();
            self.look_after_links();
        }
    }

    /// Says when a node begins to be heard, and when it is heard no more.
    fn tell_heard(&mut self, node: Node) {
        let now = boot_now();
        let Some(cluster) = &mut self.cluster else { return };
        let wait = cluster.plan.limits.wait;
        let Some(pair) = cluster.pair(node) else { return };
        let why = pair.why(wait, now);
        let ever = pair.heard().is_some();
        let heard = cluster.heard.has(node);
        let text = match (heard, why) {
            (false, None) => {
                cluster.heard = cluster.heard.with(node);
                format!("{} is heard", cluster.name(node))
            }
            (true, Some(why)) if ever => {
                cluster.heard = cluster.heard.without(node);
                format!("{} is heard no more: {why}", cluster.name(node))
            }
            _ => return,
        };
        self.say_host(message::Event::Peer, text);
        if why.is_none() {
            self.tell_legacy_heard(node);
        }
    }

    /// A node that gave a group over is no destination of monitors for a while.
    fn look_who_gave_over(&mut self, group: usize, node: Node) {
        let now = self.now;
        let Some(cluster) = &mut self.cluster else { return };
        let Some(state) = cluster.groups.get_mut(group) else { return };
        let last = state.machine.member(node).is_some_and(|member| member.stands_last());
        let known = state.gave_over.has(node);
        if last && !known {
            state.gave_over = state.gave_over.with(node);
            self.note_gave_over(group, node, now);
        } else if !last && known {
            state.gave_over = state.gave_over.without(node);
        }
    }

    /// The nodes that are heard.
    pub(super) fn heard_nodes(&self) -> Nodes {
        self.cluster.as_deref().map_or(Nodes::NONE, |cluster| cluster.heard)
    }
}

fn is_beat(frame: &Frame) -> bool {
    matches!(frame, Frame::Message { message: Message::Beat(_) | Message::Answer { .. }, .. })
}
