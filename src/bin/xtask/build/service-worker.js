// Keeps the files of one build for visits without a network. The build writes `version` and `files`.
//
// All files come from one build: each is compared with the checksum that the build wrote, and a new version takes over only
// when all of its files are there and the reader has agreed to it (src/web/loader.js asks). Another version's files have
// another `?v=`; this worker leaves requests for them to the network.
const version = "";
/** The checksum of every file by its name; "" is the folder itself, which hosts answer with `index.html`. */
const files = {};

const scope = self.registration.scope;
const prefix = `megatron-memory ${scope} `;
const cacheName = prefix + version;

/** FNV-1a with 32 bits, as `cargo xtask finish` computes it. */
const checksum = (bytes) => {
  let hash = 0x811c9dc5;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
};

/** Pages have plain addresses, and everything that they load has the version on its address. */
const addressOf = (file) => new URL(file === "" || file.endsWith(".html") ? file : `${file}?v=${version}`, scope).href;

/** A file as this build made it. What the browser or a proxy had kept may be of another build; then it is fetched anew. */
const fetched = async (file) => {
  for (const cache of ["default", "reload"]) {
    const response = await fetch(addressOf(file), { cache });
    const bytes = new Uint8Array(await response.arrayBuffer());
    if (response.ok && checksum(bytes) === files[file]) {
      // The body is decoded already, and a response that was redirected may not answer a navigation.
      const headers = new Headers(response.headers);
      headers.delete("Content-Encoding");
      headers.delete("Content-Length");
      return new Response(bytes, { headers });
    }
  }
  throw new Error(`${file} is of another version`);
};

const install = async () => {
  const cache = await caches.open(cacheName);
  try {
    for (const file of Object.keys(files)) await cache.put(addressOf(file), await fetched(file));
  } catch (error) {
    await caches.delete(cacheName);
    throw error;
  }
};

const removeOthers = async () => {
  const names = await caches.keys();
  await Promise.all(names.filter((name) => name.startsWith(prefix) && name !== cacheName).map((name) => caches.delete(name)));
};

/** The kept file that a request asks for; `undefined` where it asks for something else. */
const fileOf = (request) => {
  const { href, searchParams } = new URL(request.url);
  const path = href.split(/[?#]/)[0];
  if (request.method !== "GET" || !path.startsWith(scope)) return undefined;
  const file = path.slice(scope.length);
  const asked = searchParams.get("v");
  return Object.hasOwn(files, file) && (asked === null || asked === version) ? file : undefined;
};

addEventListener("install", (event) => event.waitUntil(install()));
addEventListener("activate", (event) => event.waitUntil(removeOthers()));
addEventListener("message", ({ data }) => data === "activate" && skipWaiting());
addEventListener("fetch", (event) => {
  const file = fileOf(event.request);
  if (file === undefined) return;
  // Browsers may clear what is kept.
  const kept = caches.open(cacheName).then((cache) => cache.match(addressOf(file)));
  event.respondWith(kept.then((response) => response ?? fetch(event.request)));
});
