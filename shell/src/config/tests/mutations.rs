//! Whatever a file holds, it is read or refused.

use super::super::tree::{self, Table};
use super::*;

/// A generator with a seed: the same texts each time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        // xorshift64*: small, and good enough to pick places in a text.
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let roll = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        usize::try_from(roll).unwrap_or(0) % sides.max(1)
    }
}

const PIECES: [&str; 24] = [
    "\"",
    "'",
    "[",
    "]",
    "{",
    "}",
    "=",
    ".",
    ",",
    "#",
    "\n",
    "\r",
    "\t",
    "\\",
    "\"\"\"",
    "\0",
    "é",
    "🦀",
    "0",
    "-1",
    "[[service.web.check]]\n",
    "[service.web]\n",
    "check.",
    "\u{feff}",
];

/// Cuts, flips, doubles and inserts in `text`.
fn mutate(text: &str, dice: &mut Dice) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=dice.roll(4) {
        let (from, length) = (dice.roll(bytes.len()), dice.roll(40));
        let to = (from + length).min(bytes.len());
        match dice.roll(5) {
            0 => drop(bytes.drain(from..to)),
            1 => bytes.truncate(from),
            2 if from < bytes.len() => bytes[from] ^= 1 << dice.roll(8),
            3 => {
                let again = bytes[from..to].to_vec();
                let at = dice.roll(bytes.len());
                bytes.splice(at..at, again);
            }
            _ => {
                let piece = PIECES[dice.roll(PIECES.len())];
                bytes.splice(from..from, piece.bytes());
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn no_text_makes_it_panic() {
    let seeds = [
        include_str!("../../../examples/command.toml"),
        include_str!("../../../examples/nginx.toml"),
        include_str!("../../../examples/two-services.toml"),
        include_str!("../presets/xfnts.toml"),
        "[service.web]\nunit = \"a.service\"\n\
         check.a = { url = \"agent://[::]:1/a\", units = [\"b\"], key = \"k\", skew = \"5s\" }\n\
         check.b = { kind = \"agent\", transport = \"unix\", socket = \"/s\", name = \"c\" }\n\
         check.c = { url = \"log:///a\", pattern = [\"E\", 'a\\s'], ignore = \"x\", cap = \"4KiB\" }\n\
         check.d = { kind = \"remote\", socket = \"/s\", service = \"w\", expect = \"ok\" }\n\
         check.e = { url = \"systemd://a@b.service\", expect = [\"active\"] }\n\
         check.f = { kind = \"path\", list = \"/etc/exports\" }\n\
         check.g = { url = \"rpc://h\", program = \"nfsd\", transport = \"tcp\" }\n",
        "[policy.a]\nlike = \"b\"\n[service.web]\npreset = \"redis\"\ncheck.ping = false\n\
         ladder = [\"a\"]\nneeds = [\"web\"]\npolicy = { like = \"a\", retry_count = \"unlimited\" }\n",
    ];
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    for round in 0..4000 {
        let text = mutate(seeds[round % seeds.len()], &mut dice);
        match load_str("mutated.toml", &text) {
            Ok(loaded) => drop(loaded.warnings.to_string()),
            // Refused with a reason, each with a place in the text.
            Err(errors) => {
                assert!(!errors.is_empty(), "refused for nothing: {text:?}");
                assert!(!errors.to_string().is_empty() && errors.to_json().is_array());
            }
        }
    }
}

/// The tree of `text` in the words of the `toml` crate; `None` if it has a syntax error. Dates
/// are all one: nothing here takes one.
fn tree_of(text: &str) -> Option<toml::Table> {
    let mut out = Findings::default();
    let mut sources = Sources::default();
    let source = Source::new("x".to_owned(), "x".to_owned(), text.to_owned());
    let number = sources.add(source);
    let tree = syntax::parse(&sources, number, &mut out);
    (out.count() == 0).then(|| table_of(&tree))
}

fn table_of(table: &Table) -> toml::Table {
    table.0.iter().map(|entry| (entry.key.clone(), value_of(&entry.node.value))).collect()
}

fn value_of(value: &tree::Value) -> toml::Value {
    match value {
        tree::Value::Text(text) => toml::Value::String(text.clone()),
        tree::Value::Integer(number) => toml::Value::Integer(*number),
        tree::Value::Float(number) => toml::Value::String(format!("float {number}")),
        tree::Value::Bool(yes) => toml::Value::Boolean(*yes),
        tree::Value::Date => toml::Value::String("date".to_owned()),
        tree::Value::List(list) => {
            toml::Value::Array(list.iter().map(|node| value_of(&node.value)).collect())
        }
        tree::Value::Table(table) => toml::Value::Table(table_of(table)),
    }
}

/// The same of what the `toml` crate read.
fn plain(value: toml::Value) -> toml::Value {
    match value {
        toml::Value::Float(number) => toml::Value::String(format!("float {number}")),
        toml::Value::Datetime(_) => toml::Value::String("date".to_owned()),
        toml::Value::Array(list) => toml::Value::Array(list.into_iter().map(plain).collect()),
        toml::Value::Table(table) => {
            toml::Value::Table(table.into_iter().map(|(key, value)| (key, plain(value))).collect())
        }
        other => other,
    }
}

/// Tables by headers, dots, braces and lists of them, each beside and over each.
const SHAPES: &str = r#"
a.b = 1
a.c.d = [1, 2.5, { x = "y", z.w = true }, [[], {}]]
"q k".'l' = """
two lines"""
[t]
u.v = 0xff
[t.w.x]
y = 1979-05-27
[t.w]
z = -1_000
[[l]]
m = 1
[l.n]
o = 2
[[l]]
[[l.p]]
[s]
[s.l]
"#;

#[test]
fn the_tree_is_that_of_the_toml_crate() {
    let seeds = [
        SHAPES,
        include_str!("../../../examples/command.toml"),
        include_str!("../presets/redis.toml"),
    ];
    let mut dice = Dice(0x0123_4567_89ab_cdef);
    let mut same = 0;
    for round in 0..6000 {
        let seed = seeds[round % seeds.len()];
        let text = if round < seeds.len() { seed.to_owned() } else { mutate(seed, &mut dice) };
        let theirs = text.parse::<toml::Table>().ok().map(|table| plain(table.into()));
        let ours = tree_of(&text).map(toml::Value::Table);
        match (&theirs, &ours) {
            // They refuse dates that are none; here every date is refused, by what has a value.
            (None, Some(_)) if text.contains("19") => {}
            _ => assert_eq!(ours, theirs, "\n{text}"),
        }
        same += usize::from(theirs.is_some());
    }
    assert!(same > 500, "only {same} of the texts could be read: the test shows little");
}

#[test]
fn deep_nesting_is_refused_and_no_more() {
    let dots = vec!["a"; 78].join(".");
    let deep = format!("{} x = 1 {}", format!("{dots} = {{ ").repeat(78), "}".repeat(78));
    let wide = format!("a = {}", "[".repeat(5000));
    let long = format!("[{}]", vec!["a"; 5000].join("."));
    for text in [deep, wide, long] {
        let errors = load_str("deep.toml", &text).expect_err("refused");
        assert!(errors.to_string().contains("nested too deep"), "{}", errors.summary());
    }
}

#[test]
fn many_keys_given_twice_take_no_longer_than_a_few() {
    let text = "a = 1\n".repeat(3000);
    let errors = load_str("twice.toml", &text).expect_err("refused");
    assert_eq!(errors.findings().len(), 3000);
}
