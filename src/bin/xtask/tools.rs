//! Programs that cargo does not bring: Trunk and wasm-bindgen in `target/tools`, and for the tests browsers, their
//! drivers, Node and Python from the system's packages.

use std::{
    env,
    fs::{self, File},
    path::{Path, PathBuf},
};

use xshell::{Shell, cmd};

use super::Error;

/// The version of Trunk; its next one needs a newer compiler.
const TRUNK: &str = "0.21.14";

/// The version of Firefox's driver, which the system's packages lack.
const GECKODRIVER: &str = "0.37.1";

/// The parts of wasm-bindgen that read and write modules, with what they call for every item, which are optimized: after
/// every edit they go through all of the unoptimized page, some fifty megabytes. Its server for tests and the rest are
/// not, since they take longer to build than that saves.
const READS_MODULES: [&str; 10] = [
    "gimli",
    "hashbrown",
    "id-arena",
    "indexmap",
    "leb128fmt",
    "rustc-demangle",
    "walrus",
    "wasm-bindgen-cli-support",
    "wasm-encoder",
    "wasmparser",
];

/// Where cargo installs programs for this project.
const TOOLS: &str = "target/tools";

/// Where it builds them.
const BUILDS: &str = "target/tools/build";

/// Trunk, and wasm-bindgen of the version that the app is linked with, with the program that runs its tests.
pub(crate) fn for_build(shell: &Shell) -> Result<(), Error> {
    for_modules(shell)?;
    cargo_install(shell, "trunk", "trunk", TRUNK, &["--locked"])?;
    // Trunk calls cargo without network.
    Ok(cmd!(shell, "cargo fetch --quiet --locked").run()?)
}

/// wasm-bindgen.
pub(crate) fn for_modules(shell: &Shell) -> Result<(), Error> {
    put_first_on_path(shell)?;
    let bindgen = locked("wasm-bindgen")?;
    let optimized = READS_MODULES.map(|package| format!("profile.dev.package.{package}.opt-level=2"));
    let mut programs = vec!["--bin", "wasm-bindgen", "--bin", "wasm-bindgen-test-runner"];
    // The standard library asserts and checks for overflow in generic code, which these packages compile for themselves.
    programs.extend(["--config", "profile.dev.debug-assertions=false"]);
    programs.extend(["--config", "profile.dev.overflow-checks=false"]);
    programs.extend(optimized.iter().flat_map(|setting| ["--config", setting]));
    // Not with its own lock file, which names a release of a dependency that is not to be had.
    cargo_install(shell, "wasm-bindgen", "wasm-bindgen-cli", &bindgen, &programs)
}

fn put_first_on_path(shell: &Shell) -> Result<(), Error> {
    let own = env::current_dir()?.join(TOOLS).join("bin");
    let path = env::var_os("PATH").unwrap_or_default();
    let all = env::join_paths([own].into_iter().chain(env::split_paths(&path)))?;
    shell.set_var("PATH", all);
    Ok(())
}

/// Installs a program of a crate unless there is one of this version already.
pub(crate) fn cargo_install(
    shell: &Shell,
    program: &str,
    package: &str,
    version: &str,
    options: &[&str],
) -> Result<(), Error> {
    // Tasks that run beside each other install each program once. The file is unlocked where it is closed.
    fs::create_dir_all(TOOLS)?;
    let lock = File::create(Path::new(TOOLS).join("lock"))?;
    lock.lock()?;
    let found = cmd!(shell, "{program} --version").quiet().ignore_stderr().read();
    // Some programs write a `v` before their version.
    let is_version = |word: &str| word.strip_prefix('v').unwrap_or(word) == version;
    if found.is_ok_and(|text| text.split_whitespace().any(is_version)) {
        return Ok(());
    }
    println!("installing {package} {version} into {TOOLS}");
    // Fast to build rather than fast to run; with dependencies that this compiler can build; without TLS, since nothing
    // is to be downloaded by these programs.
    let places = ["--root", TOOLS, "--target-dir", BUILDS];
    cmd!(
        shell,
        "cargo install {package}@{version} {places...} --debug --no-default-features {options...}"
    )
    .env("CARGO_PROFILE_DEV_DEBUG", "0")
    .env("CARGO_RESOLVER_INCOMPATIBLE_RUST_VERSIONS", "fallback")
    .run()?;
    Ok(fs::remove_dir_all(BUILDS)?)
}

/// The version of a package in `Cargo.lock`.
fn locked(package: &str) -> Result<String, Error> {
    let lock = fs::read_to_string("Cargo.lock")?;
    let entry = format!("name = \"{package}\"\nversion = \"");
    let version = lock.split_once(&entry).and_then(|(_, rest)| rest.split('"').next());
    Ok(version
        .ok_or_else(|| format!("{package} is not in Cargo.lock"))?
        .to_owned())
}

/// Browsers, their drivers, fonts, Node, and Python for documentation sites.
pub(crate) fn for_tests(shell: &Shell) -> Result<(), Error> {
    put_first_on_path(shell)?;
    let font = |name: &str| {
        cmd!(shell, "fc-list {name}")
            .quiet()
            .ignore_stderr()
            .read()
            .is_ok_and(|list| !list.is_empty())
    };
    // Debian keeps what virtual environments need in a package of its own.
    let venv = cmd!(shell, "python3 -c")
        .arg("import ensurepip")
        .quiet()
        .ignore_stderr();
    let needed = [
        (exists(shell, "chromium"), "chromium"),
        (exists(shell, "chromedriver"), "chromium-driver"),
        (exists(shell, "firefox-esr") || exists(shell, "firefox"), "firefox-esr"),
        (exists(shell, "node"), "nodejs"),
        (exists(shell, "npm"), "npm"),
        (venv.run().is_ok(), "python3-venv"),
        (exists(shell, "fc-list"), "fontconfig"),
        // The two fonts of tests/browser/webdriver.rs.
        (font("DejaVu Sans"), "fonts-dejavu-core"),
        (font("Liberation Sans Narrow"), "fonts-liberation"),
    ];
    let packages: Vec<&str> = needed
        .iter()
        .filter(|(there, _)| !there)
        .map(|(_, package)| *package)
        .collect();
    if !packages.is_empty() {
        println!("installing {}", packages.join(", "));
        apt(shell, &["update"])?;
        apt(
            shell,
            &[&["install", "--no-install-recommends"], &packages[..]].concat(),
        )?;
        // Newer systems have it in a package of its own.
        if !font("Liberation Sans Narrow") {
            apt(shell, &["install", "fonts-liberation-sans-narrow"])?;
        }
    }
    cargo_install(shell, "geckodriver", "geckodriver", GECKODRIVER, &[])
}

/// Whether a program of this name can be started.
pub(crate) fn exists(shell: &Shell, program: &str) -> bool {
    cmd!(shell, "{program} --version")
        .quiet()
        .ignore_stdout()
        .ignore_stderr()
        .run()
        .is_ok()
}

fn apt(shell: &Shell, arguments: &[&str]) -> Result<(), Error> {
    // Only root may install; `id` and not $USER, which containers leave unset.
    let root = cmd!(shell, "id -u").quiet().read()? == "0";
    let command = if root {
        ["env"].as_slice()
    } else {
        &["sudo", "--non-interactive", "env"]
    };
    let (program, rest) = command.split_first().ok_or("no command")?;
    let apt = ["DEBIAN_FRONTEND=noninteractive", "apt-get", "--quiet", "--yes"];
    Ok(cmd!(shell, "{program} {rest...} {apt...} {arguments...}").run()?)
}

/// A file of a package with its version, fetched once.
///
/// # Errors
///
/// Where there is no npm or no network.
pub(crate) fn npm(shell: &Shell, package: &str, file: &str) -> Result<PathBuf, Error> {
    // A folder each: npm clears away what it was not asked for.
    let folder = env::current_dir()?.join("target/npm").join(package);
    let file = folder.join("node_modules").join(file);
    if !Path::new(&file).exists() {
        cmd!(
            shell,
            "npm install --silent --no-audit --no-fund --no-save {package} --prefix {folder}"
        )
        .run()?;
    }
    Ok(file)
}

/// The accessibility checker's script.
pub(crate) fn axe(shell: &Shell) -> Result<PathBuf, Error> {
    npm(shell, "axe-core@4.10.3", "axe-core/axe.min.js")
}
