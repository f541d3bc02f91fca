//! `cargo xtask serve`: the page, built again and loaded again whenever a source changes.

use std::{
    collections::BTreeMap,
    fs,
    net::{Ipv4Addr, TcpListener},
    path::{Path, PathBuf},
    sync::{Arc, Condvar, Mutex, PoisonError},
    thread,
    time::{Duration, SystemTime},
};

use super::{
    Error,
    dist::{self, Mode},
    server::{self, Response},
    tools,
};

/// What `dist/` is made from.
const SOURCES: [&str; 5] = ["src", "styles", "index.html", "Cargo.toml", "Cargo.lock"];

/// Loads the page again once the server knows of a newer build. A file, because the page allows no inline script.
const RELOAD: &str = "\
const build = async (after) => (await fetch(`./-/build/${after}`)).text();
const pause = () => new Promise((wake) => setTimeout(wake, 1000));
const first = await build('');
while (await build(first).catch(() => pause().then(() => first)) === first);
location.reload();
";

/// How long the server keeps one question open when nothing changes.
const PATIENCE: Duration = Duration::from_secs(20);

/// The number of the latest build, and a way to wait for the next.
#[derive(Default)]
struct Builds {
    number: Mutex<u64>,
    changed: Condvar,
}

impl Builds {
    fn finished(&self) {
        *self.number.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.changed.notify_all();
    }

    /// The number of the latest build; when that is `known`, waits a while for the next one.
    fn after(&self, known: &str) -> String {
        let number = self.number.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .changed
            .wait_timeout_while(number, PATIENCE, |number| number.to_string() == known);
        waited.unwrap_or_else(PoisonError::into_inner).0.to_string()
    }
}

/// [`serve`] with the options of the command line.
pub(crate) fn from_options(options: &[&str]) -> Result<(), Error> {
    let (mut mode, mut port) = (Mode::Dev, 8080);
    let mut options = options.iter();
    while let Some(&option) = options.next() {
        match option {
            "--release" => mode = Mode::Release,
            "--port" => port = options.next().ok_or("--port needs a number")?.parse()?,
            _ => return Err(format!("no option is called {option:?}").into()),
        }
    }
    tools::wasm_target()?;
    serve(mode, port)
}

/// Serves until it is interrupted.
fn serve(mode: Mode, port: u16) -> Result<(), Error> {
    let folder = Path::new("dist");
    let mut seen = fingerprint()?;
    dist::build(mode, folder)?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(|error| {
        format!("cannot serve on port {port}: {error}; choose another with --port N")
    })?;
    println!("serving http://{}", listener.local_addr()?);
    let builds = Arc::new(Builds::default());
    let answers = Arc::clone(&builds);
    thread::spawn(move || {
        server::serve(&listener, "Cache-Control: no-store\r\n", move |path| {
            respond(&answers, folder, path)
        });
    });
    loop {
        thread::sleep(Duration::from_millis(300));
        let now = fingerprint()?;
        if now != seen {
            seen = now;
            match dist::build(mode, folder) {
                Ok(()) => builds.finished(),
                // The compiler has said why; the last good page stays.
                Err(error) => eprintln!("{error}"),
            }
        }
    }
}

fn respond(builds: &Builds, folder: &Path, path: &str) -> Response {
    if let Some(known) = path.strip_prefix("/-/build/") {
        return Response::ok("text/plain", builds.after(known));
    }
    match path {
        "/-/reload.js" => Response::ok("text/javascript", RELOAD),
        "/" | "/index.html" => {
            let mut page = server::file(folder, "index.html");
            page.body
                .extend_from_slice(b"<script type=\"module\" src=\"./-/reload.js\"></script>");
            page
        }
        _ => server::file(folder, path),
    }
}

/// When each source was last written.
fn fingerprint() -> Result<BTreeMap<PathBuf, SystemTime>, Error> {
    let mut times = BTreeMap::new();
    for source in SOURCES.map(Path::new) {
        let inner = if source.is_dir() {
            dist::files(source)?
        } else {
            vec![PathBuf::new()]
        };
        for file in inner {
            // A file that has just vanished (an editor's temporary one) shows in the next round.
            let path = if file.as_os_str().is_empty() {
                source.to_owned()
            } else {
                source.join(file)
            };
            if let Ok(time) = fs::metadata(&path).and_then(|data| data.modified()) {
                times.insert(path, time);
            }
        }
    }
    Ok(times)
}
