//! Visits without a network, and new versions, which wait until the reader agrees.

use std::{
    collections::BTreeMap,
    fs,
    net::TcpListener,
    path::Path,
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use super::page::Page;
use super::server::{self, Response};

/// The host keeps nothing of the page: what the browser shows without it is what the service worker has.
const HEADERS: &str = "Cache-Control: no-store\r\n";
const FOLDER: &str = "/some/folder/";
const LIMIT: Duration = Duration::from_mins(1);

/// What the host answers: its files, or nothing while it is down.
type Files = Option<BTreeMap<String, Vec<u8>>>;

/// A host whose files can change, and which can go down.
struct Host {
    address: String,
    files: Arc<Mutex<Files>>,
}

impl Host {
    fn new(files: BTreeMap<String, Vec<u8>>) -> Self {
        let files = Arc::new(Mutex::new(Some(files)));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}{FOLDER}", listener.local_addr().unwrap());
        let served = Arc::clone(&files);
        let respond = move |path: &str| {
            let name = path.strip_prefix(FOLDER).unwrap_or("missing");
            let name = if name.is_empty() { "index.html" } else { name };
            let files = served.lock().unwrap();
            match files.as_ref().and_then(|files| files.get(name)) {
                // The kind of a file follows from its name alone.
                Some(body) => Response {
                    body: body.clone(),
                    ..server::file(&dist(), name)
                },
                None => Response::missing(),
            }
        };
        thread::spawn(move || server::serve(&listener, HEADERS, respond));
        Self { address, files }
    }

    fn serves(&self, files: Files) {
        *self.files.lock().unwrap() = files;
    }
}

fn dist() -> std::path::PathBuf {
    browser::root().join("dist")
}

/// The files of the build, which must be a release: one for editing has no service worker.
fn built() -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(dist()).unwrap().map(Result::unwrap);
    let entries = entries.filter(|entry| entry.file_type().unwrap().is_file());
    let files: BTreeMap<String, Vec<u8>> = entries
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, fs::read(entry.path()).unwrap())
        })
        .collect();
    assert!(
        files.contains_key("service-worker.js"),
        "build the page as a release: cargo xtask build"
    );
    files
}

/// The same build with other words in its first page, as a later version.
fn later(mut files: BTreeMap<String, Vec<u8>>) -> BTreeMap<String, Vec<u8>> {
    let script = String::from_utf8(files["service-worker.js"].clone()).unwrap();
    let between = |start: &str, end: char| {
        let rest = script.split_once(start).unwrap().1;
        rest.split_once(end).unwrap().0.to_owned()
    };
    let version = between("const version = \"", '"');
    let newer: String = version.chars().rev().collect();
    assert_ne!(version, newer);
    let mut sums: BTreeMap<String, Value> =
        serde_json::from_str(&format!("{{{}}}", between("const files = {", '}'))).unwrap();
    let old_sums = between("const files = {", '}');
    for (name, body) in &mut files {
        let names_others = Path::new(name)
            .extension()
            .is_some_and(|kind| kind == "html" || kind == "js");
        let listed = if name == "index.html" { "" } else { name };
        let Some(sum) = sums.get_mut(listed).filter(|_| names_others) else {
            continue;
        };
        let text = String::from_utf8(body.clone()).unwrap();
        let text = text.replace(&version, &newer);
        *body = text
            .replace("<title>Megatron Memory", "<title>Newer Memory")
            .into_bytes();
        let new_sum = body.iter().fold(0x811c_9dc5, |hash: u32, byte| {
            (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193)
        });
        *sum = json!(new_sum);
    }
    let new_sums = serde_json::to_string(&sums).unwrap();
    let script = script.replace(&format!("{{{old_sums}}}"), &new_sums);
    let script = script.replace(&version, &newer);
    files.insert(String::from("service-worker.js"), script.into_bytes());
    files
}

/// Opens the calculator and waits until it is kept for visits without the host.
fn kept(host: &Host) -> Page {
    let page = Page::blank();
    page.visit(&host.address);
    page.until_started();
    page.eval("(navigator.serviceWorker.ready.then(() => { window.kept = true; }), true)");
    page.until_within(LIMIT, "window.kept");
    page
}

fn loads(page: &Page, address: &str) {
    page.visit("about:blank");
    page.visit(address);
    page.until_started();
}

#[test]
fn after_the_first_visit_no_network_is_needed() {
    let host = Host::new(built());
    let page = kept(&host);
    host.serves(None);
    loads(&page, &format!("{}#v1;m=llama3-8b@2;tp=2", host.address));
    assert_eq!(page.value("#field-tp"), "2");
    assert!(!page.shows("#update"));
    // The layout search has a worker of its own.
    page.eval("(fetch('./search-worker_bg.wasm').then((r) => { window.worker = r.ok; }), true)");
    page.until("window.worker");
    page.visit(&format!("{}fewest-gpus.html", host.address));
    assert_eq!(page.text("h1"), "Fewest GPUs");
    page.until("!document.querySelector('.filters').hidden");
    // What was never part of the build is still missing.
    page.visit(&format!("{}elsewhere.html", host.address));
    assert_eq!(page.text("body"), "not found");
}

#[test]
fn a_new_version_waits_until_the_reader_agrees() {
    let files = built();
    let host = Host::new(files.clone());
    let page = kept(&host);
    loads(&page, &host.address);
    // Half of a new version is on the host: some files are there, others are those of before.
    let newer = later(files.clone());
    let mut mixed = newer.clone();
    mixed.insert(String::from("evidence.html"), files["evidence.html"].clone());
    host.serves(Some(mixed));
    loads(&page, &host.address);
    page.eval("(navigator.serviceWorker.getRegistration().then((r) => r.update()).catch(() => { window.refused = true; }), true)");
    thread::sleep(Duration::from_secs(8));
    assert!(!page.shows("#update"));
    assert_eq!(page.eval("document.title.includes('Newer')"), json!(false));
    // Now all of it.
    host.serves(Some(newer));
    loads(&page, &format!("{}#v1;m=llama3-8b@2;tp=2", host.address));
    page.until_within(LIMIT, "!document.getElementById('update').hidden");
    assert!(page.text("#update").contains("A new version is ready"));
    page.screenshot("update");
    let served = "(fetch('./').then((r) => r.text()).then((text) => { window.served = text; }), true)";
    page.eval(served);
    page.until("window.served");
    assert_eq!(page.eval("window.served.includes('<title>Newer')"), json!(false));
    page.click("#update [name=update]");
    page.until_within(LIMIT, "window.served === undefined");
    page.until_started();
    page.eval(served);
    page.until("window.served");
    assert_eq!(page.eval("window.served.includes('<title>Newer')"), json!(true));
    assert_eq!(page.value("#field-tp"), "2");
    assert!(!page.shows("#update"));
}
