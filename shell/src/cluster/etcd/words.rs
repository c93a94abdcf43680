//! What is asked of etcd's JSON gateway, and what its answers mean.
//!
//! Sans-IO. A group has two keys: `PREFIX/group/NAME/holder`, there as long as its holder's lease,
//! and `PREFIX/group/NAME/last`, which says what became of the last holder. Both are written and
//! read in one transaction, so all that is read of a group is of one revision; and a transaction
//! is answered by a majority of etcd's members only.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use giveover_core::claim::{Answer, Holder, Lease, Mark, Request, State};
use giveover_core::node::Node;
use giveover_core::time::Span;
use serde_json::{Value, json};

/// An answer of etcd's longer than this is none of those we ask for, in bytes.
pub const MOST: usize = 64 << 10;

/// The keys of one group, and the names that stand in them.
#[derive(Clone, Debug)]
pub struct Group {
    holder: String,
    mark: String,
    me: String,
    /// By number.
    nodes: Vec<String>,
}

/// A request: its path and its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The path.
    pub path: &'static str,
    /// JSON.
    pub body: String,
}

impl Group {
    /// The group `name`, under `prefix`, as the node `me` of `nodes` has it.
    #[must_use]
    pub fn new(prefix: &str, name: &str, me: Node, nodes: &[String]) -> Self {
        let key = |last: &str| BASE64.encode(format!("{prefix}/group/{name}/{last}"));
        let me = nodes.get(usize::from(me.0)).cloned().unwrap_or_default();
        Self { holder: key("holder"), mark: key("last"), me, nodes: nodes.to_vec() }
    }

    /// How `request` is written. A lease is `ttl` long.
    #[must_use]
    pub fn question(&self, request: &Request, ttl: Span) -> Question {
        let (holder, mark) = (&self.holder, &self.mark);
        let put = |key: &str, text: &str, lease: i64| {
            let value = BASE64.encode(text);
            json!({"requestPut": {"key": key, "value": value, "lease": lease.to_string()}})
        };
        let read = json!([{"requestRange": {"key": holder}}, {"requestRange": {"key": mark}}]);
        let (path, body) = match request {
            Request::Grant => {
                let seconds = ttl.as_millis() / 1000;
                ("/v3/lease/grant", json!({"TTL": seconds.to_string()}))
            }
            Request::Keep { lease } => ("/v3/lease/keepalive", json!({"ID": lease.0.to_string()})),
            Request::Read => ("/v3/kv/txn", json!({"success": read})),
            Request::Claim { lease, mark: known } => {
                let nobody = json!({"key": holder, "target": "CREATE", "result": "EQUAL",
                    "createRevision": "0"});
                let same = json!({"key": mark, "target": "MOD", "result": "EQUAL",
                    "modRevision": known.to_string()});
                let puts =
                    [put(holder, &self.me, lease.0), put(mark, &format!("held by {}", self.me), 0)];
                let body = json!({"compare": [nobody, same], "success": puts, "failure": read});
                ("/v3/kv/txn", body)
            }
            Request::LetGo { lease, to } => {
                let ours = json!({"key": holder, "target": "LEASE", "result": "EQUAL",
                    "lease": lease.0.to_string()});
                let to = to.and_then(|to| self.nodes.get(usize::from(to.0)));
                let to = to.map_or_else(String::new, |to| format!(" for {to}"));
                let done = json!([
                    {"requestDeleteRange": {"key": holder}},
                    put(mark, &format!("{LET_GO}{}{to}", self.me), 0),
                ]);
                ("/v3/kv/txn", json!({"compare": [ours], "success": done, "failure": read}))
            }
        };
        Question { path, body: body.to_string() }
    }

    /// What was said to `request`, with this status and body.
    ///
    /// # Errors
    /// What etcd says is wrong, or that it says nothing we know.
    pub fn answer(&self, request: &Request, status: u16, body: &[u8]) -> Result<Answer, String> {
        let strange = || "it says what nobody understands".to_owned();
        let value: Value = match serde_json::from_slice(body) {
            Ok(value) => value,
            Err(_) if status != 200 => return Err(said_by(status)),
            Err(_) => return Err(strange()),
        };
        // A stream's message is in `result`.
        let value = value.get("result").unwrap_or(&value);
        if let Some(said) = error_of(value) {
            return Err(said);
        }
        if status != 200 {
            return Err(said_by(status));
        }
        let answer = match request {
            Request::Grant => {
                let lease = Lease(number(value, "ID").unwrap_or(0));
                lease.is_some().then(|| Answer::Granted { lease, ttl: seconds(value) })
            }
            Request::Keep { lease } => {
                let same = number(value, "ID") == Some(lease.0);
                same.then(|| Answer::Kept { ttl: seconds(value) })
            }
            Request::Read => self.state(value).map(Answer::State),
            Request::Claim { .. } if succeeded(value) => {
                revision(value).map(|revision| Answer::Claimed { revision })
            }
            Request::LetGo { .. } if succeeded(value) => Some(Answer::LetGo),
            Request::Claim { .. } | Request::LetGo { .. } => self.state(value).map(Answer::State),
        };
        answer.ok_or_else(strange)
    }

    /// Both keys, as a transaction has read them.
    fn state(&self, value: &Value) -> Option<State> {
        let header = value.get("header")?;
        let store = header.get("cluster_id").or_else(|| header.get("clusterId"))?;
        let [holder, mark] = value.get("responses")?.as_array()?.as_slice() else { return None };
        let range = |it: &Value| {
            it.get("response_range").or_else(|| it.get("responseRange")).map(|it| it.to_owned())
        };
        let (holder, mark) = (range(holder)?, range(mark)?);
        let pair = |it: &Value| it.get("kvs").and_then(|it| it.get(0)).cloned();
        let holder = match pair(&holder) {
            None => None,
            Some(pair) => Some(Holder {
                lease: Lease(number(&pair, "lease").unwrap_or(0)),
                revision: number_of(&pair, "create_revision", "createRevision")?,
            }),
        };
        let mark = match pair(&mark) {
            None => Mark::default(),
            Some(pair) => self.mark(&pair)?,
        };
        let store = match store {
            Value::String(text) => text.parse().ok()?,
            other => other.as_u64()?,
        };
        Some(State { store, revision: revision(value)?, holder, mark })
    }

    fn mark(&self, pair: &Value) -> Option<Mark> {
        let revision = number_of(pair, "mod_revision", "modRevision")?;
        let text = pair.get("value").and_then(Value::as_str).unwrap_or_default();
        let text = BASE64.decode(text).ok().and_then(|it| String::from_utf8(it).ok());
        let text = text.unwrap_or_default();
        let Some(rest) = text.strip_prefix(LET_GO) else {
            // What we do not understand lets nothing go.
            return Some(Mark { revision, let_go: false, to: None });
        };
        let named = rest.split_once(" for ").map(|(_, named)| named);
        let place = named.and_then(|named| self.nodes.iter().position(|node| node == named));
        let to = place.and_then(|place| u8::try_from(place).ok()).map(Node);
        Some(Mark { revision, let_go: true, to })
    }

    /// Whether a line of the watch is about this group.
    #[must_use]
    pub fn is_meant(&self, line: &[u8]) -> bool {
        let message: Value = serde_json::from_slice(line).unwrap_or(Value::Null);
        let events = message.get("result").and_then(|it| it.get("events"));
        let events = events.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let key = |event: &Value| event.get("kv")?.get("key")?.as_str().map(str::to_owned);
        events.iter().filter_map(key).any(|key| key == self.holder || key == self.mark)
    }
}

const LET_GO: &str = "let go by ";

/// Asks to be told of every change under `prefix`.
#[must_use]
pub fn watch(prefix: &str) -> Question {
    let key = format!("{prefix}/group/");
    let end = format!("{prefix}/group0"); // the byte after `/`
    let (key, range_end) = (BASE64.encode(key), BASE64.encode(end));
    let body = json!({"create_request": {"key": key, "range_end": range_end}}).to_string();
    Question { path: "/v3/watch", body }
}

/// Asks a member how it is.
#[must_use]
pub fn status() -> Question {
    Question { path: "/v3/maintenance/status", body: "{}".to_owned() }
}

/// What is wrong with a member, going by its answer to [`status`]; `None`: nothing.
#[must_use]
pub fn trouble(status: u16, body: &[u8]) -> Option<String> {
    let value: Value = serde_json::from_slice(body).unwrap_or(Value::Null);
    if let Some(said) = error_of(&value) {
        return Some(said);
    }
    if status != 200 {
        return Some(said_by(status));
    }
    if value.get("header").is_none() {
        return Some("it answers, and is no etcd".to_owned());
    }
    // The member's own word for a cluster without a majority.
    let leader = value.get("leader").and_then(Value::as_str).is_some_and(|it| it != "0");
    (!leader).then(|| "it knows no leader: no majority of etcd's members".to_owned())
}

/// The request as it goes on a connection to `host`.
#[must_use]
pub fn written(question: &Question, host: &str) -> Vec<u8> {
    format!(
        "POST {} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: giveover/{}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
        question.path,
        env!("CARGO_PKG_VERSION"),
        question.body.len(),
        question.body
    )
    .into_bytes()
}

/// What a status without a word of etcd's means.
fn said_by(status: u16) -> String {
    match status {
        404 => {
            "it answers 404: no etcd, or its JSON gateway is off (enable-grpc-gateway)".to_owned()
        }
        _ => format!("it answers {status}"),
    }
}

/// `{"error": "…", "code": 5}`, a stream's `{"error": {"message": "…"}}`, or, since 3.6,
/// `{"code": 5, "message": "…"}`.
fn error_of(value: &Value) -> Option<String> {
    let newer = || value.get("code").and_then(|_| value.get("message"));
    let error = value.get("error").or_else(newer)?;
    let text = error.get("message").unwrap_or(error).as_str().unwrap_or("an error");
    // It comes from outside, and goes to screens.
    let plain: String = text.chars().filter(|it| !it.is_control()).take(120).collect();
    Some(plain)
}

fn succeeded(value: &Value) -> bool {
    value.get("succeeded").and_then(Value::as_bool).unwrap_or(false)
}

/// Numbers of 64 bits are texts in this JSON; absent is 0.
fn number(value: &Value, key: &str) -> Option<i64> {
    match value.get(key) {
        Some(Value::String(text)) => text.parse().ok(),
        Some(other) => other.as_i64(),
        None => None,
    }
}

fn number_of(value: &Value, key: &str, other: &str) -> Option<u64> {
    let found = number(value, key).or_else(|| number(value, other))?;
    u64::try_from(found).ok().filter(|number| *number > 0)
}

fn revision(value: &Value) -> Option<u64> {
    number_of(value.get("header")?, "revision", "revision")
}

/// The lease's length; zero where there is none.
fn seconds(value: &Value) -> Span {
    let seconds = number(value, "TTL").and_then(|ttl| u32::try_from(ttl).ok()).unwrap_or(0);
    Span::from_secs(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group() -> Group {
        let nodes = ["a", "b", "c"].map(str::to_owned);
        Group::new("/giveover", "front", Node(1), &nodes)
    }

    fn body(request: &Request) -> Value {
        let question = group().question(request, Span::from_secs(10));
        serde_json::from_str(&question.body).expect("JSON")
    }

    fn plain(value: &Value) -> String {
        let text = value.as_str().expect("a text");
        String::from_utf8(BASE64.decode(text).expect("base64")).expect("text")
    }

    const HEADER: &str = r#""header":{"cluster_id":"14841639068965178418",
        "member_id":"10276657743932975437","revision":"9","raft_term":"2"}"#;

    #[test]
    fn a_claim_is_one_transaction_over_both_keys() {
        let claim = body(&Request::Claim { lease: Lease(77), mark: 5 });
        let [nobody, same] = [&claim["compare"][0], &claim["compare"][1]];
        assert_eq!(plain(&nobody["key"]), "/giveover/group/front/holder");
        assert_eq!((&nobody["target"], &nobody["createRevision"]), (&json!("CREATE"), &json!("0")));
        assert_eq!(plain(&same["key"]), "/giveover/group/front/last");
        assert_eq!((&same["target"], &same["modRevision"]), (&json!("MOD"), &json!("5")));
        let put = &claim["success"][0]["requestPut"];
        assert_eq!((plain(&put["value"]), &put["lease"]), ("b".to_owned(), &json!("77")));
        let put = &claim["success"][1]["requestPut"];
        assert_eq!((plain(&put["value"]), &put["lease"]), ("held by b".to_owned(), &json!("0")));
        assert_eq!(claim["failure"], body(&Request::Read)["success"]);

        let let_go = body(&Request::LetGo { lease: Lease(77), to: Some(Node(2)) });
        assert_eq!(let_go["compare"][0]["target"], "LEASE");
        let put = &let_go["success"][1]["requestPut"];
        assert_eq!(plain(&put["value"]), "let go by b for c");
        assert_eq!(body(&Request::Grant)["TTL"], "10");
        assert_eq!(body(&Request::Keep { lease: Lease(7) })["ID"], "7");
    }

    #[test]
    fn leases_are_read_from_answers_and_streams() {
        let granted = format!("{{{HEADER},\"ID\":\"7587862072907178754\",\"TTL\":\"9\"}}");
        let answer = group().answer(&Request::Grant, 200, granted.as_bytes());
        let lease = Lease(7_587_862_072_907_178_754);
        assert_eq!(answer, Ok(Answer::Granted { lease, ttl: Span::from_secs(9) }));
        let keep = Request::Keep { lease };
        let kept = format!("{{\"result\":{granted}}}\n");
        let answer = group().answer(&keep, 200, kept.as_bytes());
        assert_eq!(answer, Ok(Answer::Kept { ttl: Span::from_secs(9) }));
        let over = format!("{{\"result\":{{{HEADER},\"ID\":\"7587862072907178754\"}}}}");
        let answer = group().answer(&keep, 200, over.as_bytes());
        assert_eq!(answer, Ok(Answer::Kept { ttl: Span::ZERO }), "it is over");
        let other = group().answer(&Request::Keep { lease: Lease(1) }, 200, kept.as_bytes());
        assert!(other.is_err(), "of another lease");
    }

    fn kv(text: &str, create: u64, changed: u64, lease: i64) -> String {
        let value = BASE64.encode(text);
        format!(
            r#"{{"response_range":{{"kvs":[{{"key":"aw==","create_revision":"{create}",
            "mod_revision":"{changed}","value":"{value}","lease":"{lease}"}}],"count":"1"}}}}"#
        )
    }

    fn read(holder: &str, mark: &str) -> Result<Answer, String> {
        let text = format!("{{{HEADER},\"succeeded\":true,\"responses\":[{holder},{mark}]}}");
        group().answer(&Request::Read, 200, text.as_bytes())
    }

    const NONE: &str = r#"{"response_range":{"header":{"revision":"9"}}}"#;

    #[test]
    fn a_groups_state_is_read_with_its_mark() {
        let store = 14_841_639_068_965_178_418;
        let state = State { store, revision: 9, holder: None, mark: Mark::default() };
        assert_eq!(read(NONE, NONE), Ok(Answer::State(state)));
        let holder = Some(Holder { lease: Lease(77), revision: 4 });
        let mark = Mark { revision: 4, let_go: false, to: None };
        let held = read(&kv("a", 4, 4, 77), &kv("held by a", 2, 4, 0));
        assert_eq!(held, Ok(Answer::State(State { holder, mark, ..state })));
        for (text, let_go, to) in [
            ("let go by a", true, None),
            ("let go by a for c", true, Some(Node(2))),
            ("let go by a for x", true, None),
            ("somebody else's words", false, None),
        ] {
            let mark = Mark { revision: 8, let_go, to };
            let expected = Ok(Answer::State(State { mark, ..state }));
            assert_eq!(read(NONE, &kv(text, 2, 8, 0)), expected, "{text}");
        }
    }

    #[test]
    fn a_claim_is_ours_or_shows_whose_it_is() {
        let request = Request::Claim { lease: Lease(77), mark: 5 };
        let ours =
            format!("{{{HEADER},\"succeeded\":true,\"responses\":[{{\"response_put\":{{}}}}]}}");
        let answer = group().answer(&request, 200, ours.as_bytes());
        assert_eq!(answer, Ok(Answer::Claimed { revision: 9 }));
        let holder = kv("a", 4, 4, 78);
        let not = format!("{{{HEADER},\"responses\":[{holder},{NONE}]}}");
        let answer = group().answer(&request, 200, not.as_bytes());
        assert!(matches!(answer, Ok(Answer::State(state)) if state.holder.is_some()), "{answer:?}");
        let let_go = Request::LetGo { lease: Lease(77), to: None };
        assert_eq!(group().answer(&let_go, 200, ours.as_bytes()), Ok(Answer::LetGo));
    }

    #[test]
    fn what_is_wrong_is_said_as_etcd_says_it() {
        let say = |status, text: &str| group().answer(&Request::Read, status, text.as_bytes());
        let error = r#"{"error":"etcdserver: request timed out","code":14}"#;
        assert_eq!(say(503, error), Err("etcdserver: request timed out".to_owned()));
        let stream = r#"{"error":{"grpc_code":5,"message":"etcdserver: \u001b[2Jno lease"}}"#;
        assert_eq!(say(200, stream), Err("etcdserver: [2Jno lease".to_owned()));
        let newer = r#"{"code":5,"message":"etcdserver: requested lease not found","details":[]}"#;
        assert_eq!(say(404, newer), Err("etcdserver: requested lease not found".to_owned()));
        let off = say(404, "404 page not found\n").expect_err("no gateway");
        assert!(off.contains("enable-grpc-gateway"), "{off}");
        assert_eq!(say(502, "<html>"), Err("it answers 502".to_owned()));
        for text in ["", "{}", "[]", "{\"header\":{}}", "null", "{\"header\":{\"cluster_id\":3}}"] {
            assert!(say(200, text).is_err(), "{text}");
        }
        // Cut anywhere, an answer is none.
        let holder = kv("a", 4, 4, 77);
        let whole = format!("{{{HEADER},\"succeeded\":true,\"responses\":[{holder},{NONE}]}}");
        for cut in 0..whole.len() {
            let part = whole.as_bytes().get(..cut).unwrap_or_default();
            assert!(group().answer(&Request::Read, 200, part).is_err(), "cut at {cut}");
        }
    }

    #[test]
    fn the_watch_tells_which_group_is_meant() {
        let question = watch("/giveover");
        let value: Value = serde_json::from_str(&question.body).expect("JSON");
        let request = &value["create_request"];
        assert_eq!(plain(&request["key"]), "/giveover/group/");
        assert_eq!(plain(&request["range_end"]), "/giveover/group0");
        let event = |key: &str| {
            let kv = json!({"key": BASE64.encode(key)});
            json!({"result": {"events": [{"kv": kv}]}}).to_string().into_bytes()
        };
        assert!(group().is_meant(&event("/giveover/group/front/last")));
        assert!(!group().is_meant(&event("/giveover/group/front2/last")));
        assert!(!group().is_meant(b"{\"result\": {\"created\": true}}"));
        assert!(!group().is_meant(b"{\"result\""));
    }

    #[test]
    fn a_members_word_about_itself_is_read() {
        let well =
            format!("{{{HEADER},\"version\":\"3.5.16\",\"leader\":\"10276657743932975437\"}}");
        assert_eq!(trouble(200, well.as_bytes()), None);
        let alone = format!("{{{HEADER},\"version\":\"3.5.16\"}}");
        assert!(trouble(200, alone.as_bytes()).is_some_and(|it| it.contains("no leader")));
        assert!(trouble(404, b"nginx").is_some_and(|it| it.contains("404")));
        assert!(trouble(200, b"hello").is_some_and(|it| it.contains("is no etcd")));
    }
}
