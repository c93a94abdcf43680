//! What people ask of groups: `giveover node switch`.

use giveover_core::arbiter::Answer;
use giveover_core::node::{Node, Nodes};
use giveover_core::peer::{Event, Quorum, Role};
use giveover_core::share::Kind;
use giveover_core::time::Span;

use crate::daemon::Daemon;
use crate::daemon::control::ClientId;
use crate::journal::Note;
use crate::message;
use crate::report::model::{Command, Reply};

impl Daemon {
    /// `giveover node switch [GROUP] [--to NODE] [--force]`
    pub(in crate::daemon) fn command_node(
        &mut self,
        client: ClientId,
        who: &str,
        command: &Command,
    ) {
        if self.cluster.is_none() {
            return self.refuse(client, 404, "there is no [cluster] in the configuration");
        }
        match command.action.as_deref() {
            Some("switch") => {}
            Some(action @ ("attach" | "detach" | "promote" | "recover" | "recovered")) => {
                return self.command_shared(client, who, action, command);
            }
            _ => {
                let why = "node knows switch, attach, detach, promote, recover and recovered";
                return self.refuse(client, 400, why);
            }
        }
        let group = match self.group_named(command.services.first().map(String::as_str)) {
            Ok(group) => group,
            Err((status, why)) => return self.refuse(client, status, &why),
        };
        if let Some(to) = &command.to {
            let known = self.cluster.as_deref().and_then(|cluster| {
                cluster.plan.nodes.iter().find(|node| node.name == *to).map(|node| node.witness)
            });
            match known {
                None => return self.refuse(client, 404, &format!("no node is named {to}")),
                Some(true) => {
                    let text = format!("{to} is a witness: it never serves");
                    return self.reply(client, &Reply { exit: 1, lines: vec![text] });
                }
                Some(false) => {}
            }
        }
        let (verb, who) = ("node switch".into(), who.into());
        let note = Note::Asked { machine: None, verb, who, why: "".into() };
        self.journal.note(self.now, note);
        if command.force {
            self.force(client, group, command)
        } else {
            self.switch(client, group, command)
        }
    }

    /// `giveover node attach|detach|promote MEMBER…`, and `giveover node recover`
    fn command_shared(&mut self, client: ClientId, who: &str, action: &str, command: &Command) {
        let group = match self.group_named(command.group.as_deref()) {
            Ok(group) => group,
            Err((status, why)) => return self.refuse(client, status, &why),
        };
        let no = |text: String| Reply { exit: 1, lines: vec![text] };
        if self.plan.host.observe {
            return self.reply(client, &no("observing: nothing is acted on".to_owned()));
        }
        let note = Note::Asked {
            machine: None,
            verb: format!("node {action}").into(),
            who: who.into(),
            why: command.services.join(" ").into(),
        };
        let kind = match action {
            "attach" => Kind::Attach,
            "detach" => Kind::Detach,
            "promote" => Kind::Promote,
            "recover" => {
                let lasts = command.for_ms.and_then(|ms| u32::try_from(ms).ok());
                let Some(lasts) = lasts.filter(|ms| *ms > 0) else {
                    return self.refuse(client, 400, "a recovery ends by itself: for how long?");
                };
                self.journal.note(self.now, note);
                return self.begin_recovery(client, group, Span::from_millis(lasts));
            }
            _ => {
                self.journal.note(self.now, note);
                return self.end_recovery(client, group);
            }
        };
        match self.members_named(group, &command.services) {
            Ok(members) => {
                self.journal.note(self.now, note);
                self.ask_shared(client, group, kind, members);
            }
            Err((status, why)) => self.refuse(client, status, &why),
        }
    }

    /// Members of the pool that `group` shares, by their places.
    fn members_named(&self, group: usize, names: &[String]) -> Result<Nodes, (u16, String)> {
        let plan = self.cluster.as_deref().and_then(|cluster| cluster.plan.groups.get(group));
        let name = plan.map_or("", |plan| plan.name.as_str());
        let Some(pool) = plan.and_then(|plan| plan.pool.as_ref()) else {
            let why =
                format!("group {name} shares no pool: pool = \"NAME\" in group.{name} says which");
            return Err((404, why));
        };
        if names.is_empty() {
            return Err((400, "no member is named".to_owned()));
        }
        let place = |name: &String| {
            let found = pool.members.iter().position(|member| member == name);
            let place = found.and_then(|place| u8::try_from(place).ok()).map(Node);
            place.ok_or_else(|| (404, format!("pool {} has no member {name}", pool.name)))
        };
        names.iter().map(place).collect()
    }

    /// The group of that name, or the only one.
    fn group_named(&self, name: Option<&str>) -> Result<usize, (u16, String)> {
        let groups = self.cluster.as_deref().map_or(&[][..], |cluster| &cluster.plan.groups);
        match name {
            Some(name) => groups
                .iter()
                .position(|group| group.name == name)
                .ok_or_else(|| (404, format!("no group is named {name}"))),
            None if groups.len() == 1 => Ok(0),
            None if groups.is_empty() => Err((404, "there is no [group.NAME]".to_owned())),
            None => Err((400, "there are several groups: name one".to_owned())),
        }
    }

    fn switch(&mut self, client: ClientId, group: usize, command: &Command) {
        let Some(cluster) = self.cluster.as_deref() else { return };
        let Some(state) = cluster.groups.get(group) else { return };
        let name = cluster.plan.groups.get(group).map_or("", |plan| plan.name.as_str()).to_owned();
        let no = |text: String| Reply { exit: 1, lines: vec![format!("{name}: {text}")] };
        if state.machine.role() != Role::Active {
            let text = match state.machine.active() {
                Some(node) => {
                    let node = cluster.name(node);
                    format!("active on {node}: say it there, or --force it to this node")
                }
                None if cluster.plan.members.quorum == Quorum::Etcd => {
                    "active nowhere that is heard; etcd decides where it will be".to_owned()
                }
                None => "active nowhere that is heard; --force makes it active here".to_owned(),
            };
            return self.reply(client, &no(text));
        }
        let me = cluster.plan.nodes.get(usize::from(cluster.me.0)).map(|node| node.name.clone());
        if command.to.is_some() && command.to == me {
            let lines = vec![format!("{name}: it is active here already")];
            return self.reply(client, &Reply { exit: 0, lines });
        }
        // A person is bound by what is possible, not by how its services are.
        match self.ask_arbiter(group, None, true, command.to.as_deref()) {
            Answer::Granted(to) => {
                if let Some(state) = self.cluster.as_mut().and_then(|it| it.groups.get_mut(group)) {
                    state.waits.push(client);
                }
                self.tell_group(group, Event::GiveOver { to: Some(to) });
            }
            answer @ (Answer::Denied(_) | Answer::NotNow) => {
                let text = self.denied_words(&answer);
                self.reply(client, &no(text));
            }
        }
    }

    /// The operator's vote is the only one.
    fn force(&mut self, client: ClientId, group: usize, command: &Command) {
        let Some(cluster) = self.cluster.as_deref() else { return };
        let name = cluster.plan.groups.get(group).map_or("", |plan| plan.name.as_str()).to_owned();
        let me = cluster.plan.nodes.get(usize::from(cluster.me.0)).map(|node| node.name.clone());
        let no = |text: &str| Reply { exit: 1, lines: vec![format!("{name}: {text}")] };
        if command.to.is_some() && command.to != me {
            return self.reply(client, &no("--force makes it active here: say it on that node"));
        }
        if cluster.plan.members.quorum == Quorum::Etcd {
            let text = "etcd decides, and nobody is forced past it: who holds it there may hold it on; \
                        `node switch` on the active moves it";
            return self.reply(client, &no(text));
        }
        let text = format!("{name}: a person makes it active here, whatever the others say");
        self.say_host(message::Event::Nodes, text);
        self.tell_group(group, Event::Force);
        let state = self.cluster.as_deref().and_then(|cluster| cluster.groups.get(group));
        let reply = match state.map(|state| state.machine.role()) {
            Some(Role::Active) => {
                Reply { exit: 0, lines: vec![format!("{name}: active here by force")] }
            }
            Some(Role::Init) => no("this node has just started and still listens: ask again"),
            Some(Role::Down) => no("this node is down: no trusted server answers it"),
            Some(Role::Standby) | None => no("this node may not be active"),
        };
        self.reply(client, &reply);
    }
}
