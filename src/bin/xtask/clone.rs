//! `trunk serve` and the tests in wasm, in a copy of the sources without anything else of this checkout.

use std::{
    env,
    fs::{self, File},
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant},
};

use xshell::{Shell, cmd};

use super::{
    Error,
    build::{self, files},
    test::{WASM, summaries},
};

/// How long `trunk serve` may take to build and to answer.
const PATIENCE: Duration = Duration::from_mins(20);

/// The checks of a copy of the sources.
pub(crate) fn check(shell: &Shell) -> Result<Vec<String>, Error> {
    let clone = env::current_dir()?.join("target/clone");
    copy(&clone)?;
    let _folder = shell.push_dir(&clone);
    // Outside the folder of this checkout's own builds: cargo would take what the clone builds for theirs.
    let _builds = shell.push_env("CARGO_TARGET_DIR", clone.with_file_name("clone-builds"));
    // Nobody looks for mistakes in it, or edits it.
    let _debug = shell.push_env("CARGO_PROFILE_DEV_DEBUG", "0");
    let _incremental = shell.push_env("CARGO_INCREMENTAL", "0");
    serve(shell)?;
    // Here, where the library has just been compiled for browsers.
    summaries(cmd!(
        shell,
        "cargo test --target {WASM} --package megatron-memory-api --test wasm"
    ))
}

/// Copies what belongs to the sources. Files keep their times: what an earlier copy was built from need not be compiled
/// again.
fn copy(clone: &Path) -> Result<(), Error> {
    if clone.exists() {
        fs::remove_dir_all(clone)?;
    }
    for entry in fs::read_dir(".")? {
        let name = PathBuf::from(entry?.file_name());
        if ["target", "dist", ".git"].iter().any(|made| name == Path::new(made)) {
            continue;
        }
        let files = if name.is_dir() {
            files(&name)?.into_iter().map(|file| name.join(file)).collect()
        } else {
            vec![name]
        };
        for file in files {
            let to = clone.join(&file);
            build::copy(&file, &to)?;
            File::options()
                .append(true)
                .open(to)?
                .set_modified(fs::metadata(file)?.modified()?)?;
        }
    }
    Ok(())
}

/// Runs `trunk serve`, and asks it for the page.
fn serve(shell: &Shell) -> Result<(), Error> {
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port().to_string();
    let mut trunk = Command::from(cmd!(shell, "trunk serve --offline --port {port}")).spawn()?;
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
