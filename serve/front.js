import assets from "./assets.json";
import broker from "./index.js";

export * from "./index.js";

/** The broker's Worker with files before its routes. It knows which there are: no other request takes a way longer. */
export default {
  ...broker,
  fetch(request, env, ctx) {
    return answer(request, env) ?? broker.fetch(request, env, ctx);
  },
};

/** What the path of a file or folder is answered with; null = there is no such file. */
function answer(request, env) {
  if (request.method !== "GET" && request.method !== "HEAD") return null;
  const url = new URL(request.url);
  const { pathname } = url;
  if (pathname.endsWith("/")) return file(`${pathname}index.html`, request, env);
  if (pathname.endsWith("/index.html")) return moved(pathname, url, pathname.slice(0, -"index.html".length));
  return file(pathname, request, env) ?? moved(`${pathname}/index.html`, url, `${pathname}/`);
}

function moved(path, url, to) {
  if (!Object.hasOwn(assets, path)) return null;
  // A path that begins with two slashes would name another host.
  return new Response(null, { status: 307, headers: { location: to.replace(/^\/+/, "/") + url.search } });
}

function file(path, request, env) {
  return Object.hasOwn(assets, path) ? read(path, assets[path], request, env) : null;
}

async function read(path, { type, etag }, { method, headers: asked }, env) {
  const headers = { "content-type": type, etag, "cache-control": "public, max-age=0, must-revalidate" };
  const known = asked.get("if-none-match")?.split(/\s*,\s*/) ?? [];
  if (known.some((tag) => tag.replace(/^W\//, "") === etag)) return new Response(null, { status: 304, headers });
  const { status, body } = await env.ASSETS.fetch(`http://assets${path}`, { method });
  if (status !== 200) return new Response(`${path} is gone\n`, { status: 404 });
  return new Response(body, { headers });
}
