//! How long a key takes to show, in Chromium: from the browser's own time stamp of the key event to the end of the
//! frame that shows its effect. Needs `dist/`: `cargo xtask bench` builds it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    missing_docs,
    reason = "a measurement that meets a surprise should stop there and say so"
)]

#[path = "../tests/browser/page.rs"]
mod page;
#[path = "../src/bin/xtask/server.rs"]
mod server;
#[path = "../tests/browser/webdriver.rs"]
mod webdriver;

use page::Page;

/// Keys to measure, after as many to warm up.
const KEYS: usize = 100;

/// Pushes one time in milliseconds per key: a task queued in an animation frame runs when the frame has been made.
const WATCH: &str = "\
    window.times = []; \
    addEventListener('keydown', (event) => requestAnimationFrame(() => { \
      const { port1, port2 } = new MessageChannel(); \
      port1.onmessage = () => window.times.push(performance.now() - event.timeStamp); \
      port2.postMessage(0); \
    }), true)";

fn main() {
    let page = Page::open("");
    page.eval(&format!("(() => {{ {WATCH} }})()"));
    for turn in 0..2 * KEYS {
        // Two values in turn, so that every key changes the result.
        page.press(if turn % 2 == 0 {
            "\u{E013}"
        } else {
            "\u{E015}"
        });
        page.until(&format!("window.times.length === {}", turn + 1));
    }
    let mut times: Vec<f64> = page.eval("window.times").as_array().unwrap()[KEYS..]
        .iter()
        .filter_map(serde_json::Value::as_f64)
        .collect();
    times.sort_by(f64::total_cmp);
    let at = |percent: usize| times[percent * (times.len() - 1) / 100];
    println!("| keys | median ms | 95th percentile ms | worst ms |\n|---:|---:|---:|---:|");
    println!(
        "| {} | {:.1} | {:.1} | {:.1} |",
        times.len(),
        at(50),
        at(95),
        at(100)
    );
}
