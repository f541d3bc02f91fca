//! How long a key takes to show, also beside a long file that is read, and a layout search to end, in Chromium. Needs `dist/`: `cargo
//! xtask bench` builds it.
//!
//! Three times per key. *Work*: from the key to the end of the frame that shows its effect, without the wait for that
//! frame: what this page is to blame for. *Shown*: the same from the browser's own time stamp of the key, with the
//! wait, which at 60 frames a second is 8 ms on average even when there is no work. *In all*: scripts, style and layout
//! as the browser accounts for them, with what is drawn out of sight after that frame.

use std::time::{Duration, Instant};

use browser::page::Page;
use serde_json::Value;

/// Keys to measure: the first of a visit, and as many after them, when the browser has compiled what they run.
const KEYS: usize = 50;

/// Pushes two times in milliseconds for every key. A message is delivered after the task that sends it: here, after the
/// handlers of the key, and after the frame has been made.
const WATCH: &str = "\
    window.worked = []; \
    window.shown = []; \
    const after = (act) => { \
      const { port1, port2 } = new MessageChannel(); \
      port1.onmessage = () => act(performance.now()); \
      port2.postMessage(0); \
    }; \
    addEventListener('keydown', (event) => { \
      const start = performance.now(); \
      let handled = Infinity; \
      after((now) => { handled = now; }); \
      requestAnimationFrame(() => { \
        const frame = performance.now(); \
        after((now) => { \
          window.worked.push(Math.min(handled, frame) - start + now - frame); \
          window.shown.push(now - event.timeStamp); \
        }); \
      }); \
    }, true)";

/// The search of the most layouts: every size and every way of recomputing, for the same GPUs and the same way to
/// train.
const SEARCH: &str = "v1;m=deepseek-v3@1;gpus=2048";

/// Notes the tasks of more than 50 ms, which are those that the browser calls long.
const LONG_TASKS: &str = "\
    window.long = []; \
    new PerformanceObserver((list) => { \
      for (const task of list.getEntries()) long.push(task.duration); \
    }).observe({ type: 'longtask' })";

/// Five megabytes of what is no job, as JavaScript.
const GARBAGE: [(&str, &str); 4] = [
    ("one letter", "'x'.repeat(5e6)"),
    ("lines of YAML", "'model:\\n' + '  a: b\\n'.repeat(7e5)"),
    (
        "a program",
        "'import os\\nx = 1\\ndef f(a=1):\\n    return a.b\\n'.repeat(1e5)",
    ),
    (
        "JSON of many keys",
        "'{\"num_layers\":2' + Array.from({ length: 190000 }, (_, i) => `,\"key_number_${i}_of_many\":1`).join('') + '}'",
    ),
];

fn main() {
    keys();
    readings();
    stopping();
    search();
}

/// A search of all layouts, and then another order of what it found, with the tasks that keep the page from answering.
fn search() {
    let page = Page::open(SEARCH);
    page.until("document.querySelector('[data-testid=search-layouts]')");
    page.run(LONG_TASKS);
    page.click("[data-testid=search-layouts]");
    page.until("document.querySelector('dialog.modal[open] [name=start]')");
    page.run(
        "for (const box of document.querySelectorAll('dialog.modal input[name^=\"vary:\"]')) { \
           if (!box.checked && !/world_size|peft/.test(box.name)) box.click(); \
         }",
    );
    println!("\n| DeepSeek-V3 on 2,048 GPUs | seconds | tasks over 50 ms | longest ms |\n|---|---:|---:|---:|");
    for (name, button) in [
        ("every layout searched", "start"),
        ("what fits, by peak", "sort:peak_bytes"),
    ] {
        page.run("window.long.length = 0");
        let start = Instant::now();
        page.click(&format!("dialog.modal [name=\"{button}\"]"));
        page.until_within(
            Duration::from_mins(3),
            "document.querySelector('dialog.modal .layouts-table[aria-busy=false]')",
        );
        let seconds = start.elapsed().as_secs_f64();
        let long = page.eval("window.long");
        let long = long.as_array().unwrap().iter().filter_map(Value::as_f64);
        let long: Vec<f64> = long.collect();
        let longest = long.iter().copied().fold(0.0, f64::max);
        println!("| {name} | {seconds:.1} | {} | {longest:.0} |", long.len());
    }
    println!("\n{}", page.text("dialog.modal .layouts-progress"));
}

/// What a page's reader notices of a file of five megabytes that another thread reads: how long it takes to be refused,
/// and how long a letter that is typed meanwhile takes to its frame. The dialog has been used before.
fn readings() {
    let page = Page::open("");
    page.click("[data-testid=import]");
    page.until("document.querySelector('dialog.modal[open] [name=hub]')");
    println!(
        "\n| 5 MB of | refused after, median ms | worst of 9 | letter to frame, 95th percentile ms | worst | letters |"
    );
    println!("|---|---:|---:|---:|---:|---:|");
    for (what, text) in GARBAGE {
        let measured = page.eval(&format!("({READ})({text})"));
        let [times, letters] = ["times", "letters"].map(|name| sorted(&measured[name]));
        println!(
            "| {what} | {:.0} | {:.0} | {:.0} | {:.0} | {} |",
            at(&times, 50),
            at(&times, 100),
            at(&letters, 95),
            at(&letters, 100),
            letters.len()
        );
    }
}

/// Drops a file ten times, and types a letter in each frame until it is refused. The first turn does not count.
const READ: &str = "\
    async (text) => { \
      const dialog = document.querySelector('dialog.modal'); \
      const field = dialog.querySelector('[name=hub]'); \
      const isRefused = () => dialog.querySelector('[role=alert]').innerText !== ''; \
      const frame = () => new Promise((done) => requestAnimationFrame(() => { \
        const { port1, port2 } = new MessageChannel(); \
        port1.onmessage = done; \
        port2.postMessage(0); \
      })); \
      const [times, letters] = [[], []]; \
      for (let turn = 0; turn < 10; turn++) { \
        const data = new DataTransfer(); \
        data.items.add(new File([text], 'garbage.txt')); \
        const start = performance.now(); \
        document.body.dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true })); \
        while (!isRefused()) { \
          const typed = performance.now(); \
          field.value = 'a'.repeat(1 + (letters.length % 20)); \
          field.dispatchEvent(new InputEvent('input', { bubbles: true })); \
          await frame(); \
          if (turn > 0) letters.push(performance.now() - typed); \
        } \
        if (turn > 0) times.push(performance.now() - start); \
        dialog.querySelector('[name=forget]').click(); \
        while (isRefused()) await frame(); \
      } \
      return { times, letters }; \
    }";

/// How soon the reader can stop a text that takes long, and how soon it then has stopped: beside a thread that never
/// answers.
fn stopping() {
    let page = Page::blank();
    page.before_load("window.Worker = class { postMessage() {} terminate() {} };");
    page.load("");
    page.click("[data-testid=import]");
    page.until("document.querySelector('dialog.modal[open] [name=hub]')");
    let measured = page.eval(&format!("({STOP})('--num-layers 4\\n'.repeat(3e5))"));
    let milliseconds = |name: &str| measured[name].as_f64().unwrap();
    println!("\n| a text that takes long | ms |\n|---|---:|");
    println!("| Stop is offered after | {:.0} |", milliseconds("offered"));
    println!("| stopped after | {:.0} |", milliseconds("stopped"));
}

/// Drops a file, waits for the button that stops reading, and presses it.
const STOP: &str = "\
    async (text) => { \
      const dialog = document.querySelector('dialog.modal'); \
      const until = async (test) => { while (!test()) await new Promise(requestAnimationFrame); return performance.now(); }; \
      const data = new DataTransfer(); \
      data.items.add(new File([text], 'long.sh')); \
      const start = performance.now(); \
      document.body.dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true })); \
      const button = () => dialog.querySelector('[name=stop-reading]'); \
      const offered = await until(button); \
      button().click(); \
      const stopped = await until(() => dialog.querySelector('[role=alert]').innerText.startsWith('Reading was stopped.')); \
      return { offered: offered - start, stopped: stopped - offered }; \
    }";

/// The numbers of a list, the least first.
fn sorted(list: &Value) -> Vec<f64> {
    let numbers = list.as_array().unwrap().iter();
    let mut numbers: Vec<f64> = numbers.filter_map(Value::as_f64).collect();
    numbers.sort_by(f64::total_cmp);
    numbers
}

/// A percentile of sorted numbers; zero where there are none.
fn at(sorted: &[f64], percent: usize) -> f64 {
    let last = sorted.len().saturating_sub(1);
    sorted.get(percent * last / 100).copied().unwrap_or_default()
}

fn keys() {
    let page = Page::open("");
    page.eval(&format!("(() => {{ {WATCH} }})()"));
    page.click("#field-mbs");
    let mut in_all = Vec::new();
    for turn in 0..2 * KEYS {
        let before = page.busy();
        // Up and down in turn, so that every key changes the result.
        page.press(["\u{E013}", "\u{E015}"][turn % 2]);
        page.until(&format!("window.shown.length === {}", turn + 1));
        in_all.push(1000.0 * (page.busy() - before));
    }
    let told = |name: &str| -> Vec<f64> {
        let times = page.eval(name);
        let times = times.as_array().unwrap().iter();
        times.filter_map(Value::as_f64).collect()
    };
    let (work, shown) = (told("window.worked"), told("window.shown"));
    println!("| keys | median ms | 95th percentile ms | worst ms |\n|---|---:|---:|---:|");
    for (name, mut times) in [("work", work), ("shown", shown), ("in all", in_all)] {
        let (first, next) = times.split_at_mut(KEYS);
        for (which, times) in [("first", first), ("next", next)] {
            times.sort_by(f64::total_cmp);
            println!(
                "| {name}, {which} {KEYS} | {:.1} | {:.1} | {:.1} |",
                at(times, 50),
                at(times, 95),
                at(times, 100)
            );
        }
    }
}
