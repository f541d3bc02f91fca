//! Whether `trunk serve` builds the page and serves it.

use std::{
    fs,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    path::Path,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use xshell::{Shell, cmd};

use super::Error;

/// How long `trunk serve` may take to build and to answer.
const PATIENCE: Duration = Duration::from_mins(20);

/// Where it builds: not where a release build puts its files.
const DIST: &str = "target/serve";

/// Runs `trunk serve` without what it built before, and asks it for the page.
pub(crate) fn check(shell: &Shell) -> Result<(), Error> {
    if Path::new(DIST).exists() {
        fs::remove_dir_all(DIST)?;
    }
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port().to_string();
    let mut trunk = Command::from(cmd!(shell, "trunk serve --offline --dist {DIST} --port {port}")).spawn()?;
    let start = Instant::now();
    let address = format!("127.0.0.1:{port}");
    let outcome = loop {
        thread::sleep(Duration::from_millis(500));
        if let Some(status) = trunk.try_wait()? {
            return Err(format!("trunk serve ended with {status}").into());
        }
        match get(&address, "/") {
            Ok(page) if page.contains("loader.js") => {
                break get(&address, "/page_bg.wasm");
            }
            _ if start.elapsed() > PATIENCE => break Err("trunk serve does not answer".into()),
            _ => {}
        }
    };
    trunk.kill()?;
    trunk.wait()?;
    if !outcome?.contains("application/wasm") {
        return Err("trunk serve does not say that the module is WebAssembly".into());
    }
    Ok(())
}

/// The answer to a request, with its head, as far as it is text.
fn get(address: &str, path: &str) -> Result<String, Error> {
    let mut stream = TcpStream::connect(address)?;
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
    )?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}
