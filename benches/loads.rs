//! How long the page and its embeds take from an address to an answer, in Chromium, slowed down as Lighthouse does for
//! phones, and how many bytes an embed loads. Needs `dist/` and its files under Brotli in `target/brotli`: `cargo xtask
//! bench` makes both.

use std::{
    fs,
    net::TcpListener,
    thread,
    time::{Duration, Instant},
};

use browser::{
    server::{self, Response},
    webdriver::{Browser, Font},
};
use serde_json::{Value, json};

/// How often each visit is measured, each time with nothing in the browser's cache.
const RUNS: usize = 5;
/// The longest that a visit may take.
const LIMIT: Duration = Duration::from_mins(1);
/// After so long nothing of the start is left to do: panels out of sight are built one a second.
const SETTLED: Duration = Duration::from_secs(6);
/// A task below this many milliseconds blocks nobody, by the definition of the total blocking time.
const SHORT_TASK: f64 = 50.0;

/// A line and a processor.
struct Device {
    /// Milliseconds to the server and back.
    round_trip: u32,
    /// Bytes a second.
    bytes: u32,
    /// How many times slower the processor is.
    slowdown: u32,
}

/// What Lighthouse's mobile run stands for: slow 4G of 1.6 Mbit/s and a phone of the middle.
const PHONE: Device = Device {
    round_trip: 150,
    bytes: 204_800,
    slowdown: 4,
};
/// A desktop on a line of 10 Mbit/s.
const DESKTOP: Device = Device {
    round_trip: 40,
    bytes: 1_250_000,
    slowdown: 1,
};

/// Notes in every document, before anything of its own: the largest paint, the tasks that the browser calls long, and
/// when the first number and when everything is there. `data-testid` is on what the calculator draws, not on the first
/// view that the document itself brings.
const NOTE: &str = "\
    window.noted = { lcp: 0, tasks: [] }; \
    const observe = (type, note) => new PerformanceObserver((list) => list.getEntries().forEach(note)).observe({ type, buffered: true }); \
    observe('largest-contentful-paint', ({ startTime }) => { noted.lcp = startTime; }); \
    observe('longtask', ({ startTime, duration }) => noted.tasks.push([startTime, duration])); \
    const watch = () => { \
      if (document.querySelector('[data-testid=total]')?.textContent) noted.verdict ??= performance.now(); \
      const isBusy = document.documentElement.hasAttribute('data-starting') \
        || document.querySelector('.results[aria-busy=true], [data-view=table]:not(:has(td))'); \
      if (noted.verdict && !isBusy) noted.usable ??= performance.now(); \
      else requestAnimationFrame(watch); \
    }; \
    requestAnimationFrame(watch);";

/// What one visit took, in milliseconds.
struct Visit {
    largest_paint: f64,
    verdict: f64,
    usable: f64,
    blocking: f64,
    longest_task: f64,
    /// What came over the line until it was usable, in bytes.
    loaded: f64,
}

fn main() {
    let site = serve();
    let page = format!("{site}/index.html");
    let phone: Vec<Visit> = (0..RUNS).map(|_| visit(&page, &PHONE)).collect();
    let desktop: Vec<Visit> = (0..RUNS).map(|_| visit(&page, &DESKTOP)).collect();
    println!("| a first visit, {RUNS} runs | median | worst |\n|---|---:|---:|");
    row("largest paint, slow 4G and a phone, ms", &phone, |visit| {
        visit.largest_paint
    });
    row("usable, slow 4G and a phone, ms", &phone, |visit| visit.usable);
    row("blocking time, ms", &phone, |visit| visit.blocking);
    row("longest task, ms", &phone, |visit| visit.longest_task);
    row("verdict at 10 Mbit/s, ms", &desktop, |visit| visit.verdict);
    for view in ["bar", "compact", "table"] {
        let embed = format!("{site}/embed.html?view={view}#v1;m=llama3-8b@1");
        let visits: Vec<Visit> = (0..RUNS).map(|_| visit(&embed, &PHONE)).collect();
        row(&format!("numbers of an embed `{view}`, ms"), &visits, |visit| {
            visit.verdict
        });
        row(&format!("bytes of an embed `{view}`"), &visits, |visit| visit.loaded);
    }
}

/// Serves `dist/` as hosts do that compress files once, and gives its address.
fn serve() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let root = browser::root();
    thread::spawn(move || {
        server::serve(&listener, "X-Content-Type-Options: nosniff\r\n", move |path| {
            let packed = fs::read(root.join("target/brotli").join(path.trim_start_matches('/')));
            let plain = server::file(&root.join("dist"), path);
            match (packed, encoded(plain.kind)) {
                (Ok(body), Some(kind)) => Response { kind, body, ..plain },
                _ => plain,
            }
        });
    });
    format!("http://{address}")
}

/// The type of a file, followed by the header that says that it is compressed.
fn encoded(kind: &str) -> Option<&'static str> {
    [
        "text/html; charset=utf-8\r\nContent-Encoding: br",
        "text/javascript; charset=utf-8\r\nContent-Encoding: br",
        "text/css; charset=utf-8\r\nContent-Encoding: br",
        "application/wasm\r\nContent-Encoding: br",
    ]
    .into_iter()
    .find(|encoded| encoded.starts_with(kind))
}

/// Visits an address with an empty cache.
fn visit(address: &str, device: &Device) -> Visit {
    let browser = Browser::chromium(Font::Wide);
    let Device {
        round_trip,
        bytes,
        slowdown,
    } = device;
    browser.devtools("Network.enable", &json!({}));
    browser.devtools("Network.setCacheDisabled", &json!({ "cacheDisabled": true }));
    browser.devtools(
        "Network.emulateNetworkConditions",
        &json!({ "offline": false, "latency": round_trip, "downloadThroughput": bytes, "uploadThroughput": bytes / 2 }),
    );
    browser.devtools("Emulation.setCPUThrottlingRate", &json!({ "rate": slowdown }));
    if *slowdown > 1 {
        browser.devtools(
            "Emulation.setDeviceMetricsOverride",
            &json!({ "width": 412, "height": 823, "deviceScaleFactor": 1.75, "mobile": true }),
        );
    }
    browser.devtools("Page.enable", &json!({}));
    browser.devtools("Page.addScriptToEvaluateOnNewDocument", &json!({ "source": NOTE }));
    browser.go(address);
    let end = Instant::now() + LIMIT;
    while browser.script("return noted.usable ?? null", &json!([])) == Value::Null {
        assert!(Instant::now() < end, "{address} is not usable");
        thread::sleep(Duration::from_millis(50));
    }
    let loaded = browser.script(
        "return performance.getEntriesByType('resource').reduce((sum, { encodedBodySize }) => sum + encodedBodySize, \
         performance.getEntriesByType('navigation')[0].encodedBodySize)",
        &json!([]),
    );
    thread::sleep(SETTLED);
    let noted = browser.script("return noted", &json!([]));
    let number = |name: &str| noted[name].as_f64().unwrap();
    let usable = number("usable");
    let tasks = noted["tasks"].as_array().unwrap().iter();
    let tasks: Vec<f64> = tasks.filter_map(|task| task[1].as_f64()).collect();
    Visit {
        largest_paint: number("lcp"),
        verdict: number("verdict"),
        usable,
        blocking: tasks.iter().map(|task| (task - SHORT_TASK).max(0.0)).sum(),
        longest_task: tasks.iter().copied().fold(0.0, f64::max),
        loaded: loaded.as_f64().unwrap(),
    }
}

/// Prints the median and the worst of what some visits took.
fn row(name: &str, visits: &[Visit], of: fn(&Visit) -> f64) {
    let mut numbers: Vec<f64> = visits.iter().map(of).collect();
    numbers.sort_by(f64::total_cmp);
    println!(
        "| {name} | {:.0} | {:.0} |",
        numbers[numbers.len() / 2],
        numbers[numbers.len() - 1]
    );
}
