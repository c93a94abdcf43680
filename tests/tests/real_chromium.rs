//! The dashboard and the pictures in a real browser, Debian's Chromium without a screen: at two
//! widths, light and dark, what is shown and that nothing is cut off.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use giveover_tests::{free_port, giveover, text_of, with_puppet};

/// Runs the browser on `url`.
fn browser(url: &str, dark: bool, width: u32, what: &[&str]) -> Output {
    let profile = tempfile::tempdir().expect("a directory");
    // a browser that hangs must not hang the test
    let mut command = Command::new("timeout");
    command
        .args(["120", "chromium"])
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .arg("--hide-scrollbars")
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("--window-size={width},900"))
        .args(what);
    if dark {
        command.args(["--force-dark-mode", "--blink-settings=preferredColorScheme=0"]);
    }
    let output = command.arg(url).output().expect("chromium");
    assert!(output.status.success(), "{}", text_of(&output));
    output
}

/// Takes a picture; how many bytes it has.
fn screenshot(url: &str, dark: bool, width: u32, into: &Path) -> u64 {
    browser(url, dark, width, &[&format!("--screenshot={}", into.display())]);
    fs::metadata(into).expect("a picture").len()
}

fn dom(url: &str, dark: bool, width: u32) -> String {
    String::from_utf8_lossy(&browser(url, dark, width, &["--dump-dom"]).stdout).into_owned()
}

#[test]
fn the_dashboard_is_shown_at_two_widths_light_and_dark() {
    let port = free_port();
    let more = format!("[watch]\nlisten = \"127.0.0.1:{port}\"\n");
    let (daemon, _) = with_puppet(env!("CARGO_BIN_EXE_puppet"), &[], &more);
    daemon.wait_status("web", "ok");
    daemon.mood("503");
    daemon.wait_status("web", "faulted");
    let url = format!("http://127.0.0.1:{port}/");
    let dir = tempfile::tempdir().expect("a directory");
    let mut sizes = Vec::new();
    for (width, dark) in [(1280, false), (1280, true), (500, false), (500, true)] {
        let page = dom(&url, dark, width);
        for text in ["1 service: 1 faulted", ">web<", "faulted", "What happened", "503"] {
            assert!(page.contains(text), "{text} at {width}, dark {dark}: {page}");
        }
        let picture = dir.path().join(format!("{width}-{dark}.png"));
        sizes.push(screenshot(&url, dark, width, &picture));
    }
    assert!(sizes.iter().all(|size| *size > 8_000), "something is drawn: {sizes:?}");
    let pictures = ["1280-false", "1280-true", "500-false", "500-true"];
    let bytes = pictures.map(|name| fs::read(dir.path().join(format!("{name}.png"))).expect("it"));
    assert!(bytes[0] != bytes[1] && bytes[2] != bytes[3], "dark is another picture");
}

/// Draws a ready scenario, as SVG and as a page, under `dir`.
fn drawn(example: &str, dir: &Path) -> (String, String) {
    let file = dir.join(format!("{example}.toml"));
    let text = Command::new(giveover()).args(["simulate", "--example", example]).output();
    fs::write(&file, text.expect("giveover runs").stdout).expect("a file");
    let (svg, html) = (file.with_extension("svg"), file.with_extension("html"));
    let mut command = Command::new(giveover());
    command.arg("simulate").arg(&file).arg("--svg").arg(&svg).arg("--html").arg(&html);
    let output = command.output().expect("giveover runs");
    assert!(output.status.success(), "{}", text_of(&output));
    (format!("file://{}", svg.display()), format!("file://{}", html.display()))
}

#[test]
fn a_timeline_is_drawn_light_and_dark() {
    let dir = tempfile::tempdir().expect("a directory");
    let (url, html) = drawn("crash-loop", dir.path());
    for (dark, width) in [(false, 1280), (true, 1280), (false, 500), (true, 500)] {
        let page = dom(&html, dark, width);
        for text in ["budget 2 restarts in 300s", "giveover granted", "died", "<svg"] {
            assert!(page.contains(text), "{text}: {page}");
        }
    }
    let light = dir.path().join("light.png");
    let dark = dir.path().join("dark.png");
    assert!(screenshot(&url, false, 1280, &light) > 8_000);
    assert!(screenshot(&url, true, 1280, &dark) > 8_000);
    assert_ne!(fs::read(light).expect("it"), fs::read(dark).expect("it"));
}

/// Members of a pool, and a service that moves, have lanes.
#[test]
fn lanes_are_drawn() {
    let dir = tempfile::tempdir().expect("a directory");
    for (example, words) in [
        ("pool", [">at work<", ">reserve<", ">drained<", ">frozen: blind<"]),
        ("moving", [">on one<", ">on other<", ">runs no more on one<", ">holds the address<"]),
    ] {
        let (svg, html) = drawn(example, dir.path());
        let page = dom(&html, true, 500);
        for text in words {
            assert!(page.contains(text), "{text}: {page}");
        }
        assert!(screenshot(&svg, false, 1280, &dir.path().join("lanes.png")) > 8_000, "{example}");
    }
}
