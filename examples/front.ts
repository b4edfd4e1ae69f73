interface Env {
  APP: Fetcher;
  WAGGLE: Fetcher;
}

/** Two Workers behind one address. Deployed, each has its own. */
export default {
  fetch(request, { APP, WAGGLE }) {
    return new URL(request.url).pathname.startsWith("/api/") ? WAGGLE.fetch(request) : APP.fetch(request);
  },
} satisfies ExportedHandler<Env>;
