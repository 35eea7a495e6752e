interface Explanation {
  /** What was so, as a sentence */
  meaning: string;
  /** What an operator can do */
  fix: string;
}

const nothing = 'Nothing is wrong.';

/**
 * Why the gateway sent a response, or the rest of one, although its route permits that a backend does. The reasons of the
 * native code are among them: `OfferRefusal` and `ReturnLost`. docs/reference/delivery.md has this table.
 */
export const fallbackReasons = {
  'http-version': {
    meaning: 'The request came over HTTP/1.1 or HTTP/2.',
    fix: `${nothing} Only with HTTP/3 can packets have several senders.`,
  },
  method: { meaning: 'The request is no GET.', fix: nothing },
  'request-body': { meaning: 'The request has a body.', fix: nothing },
  'early-data': {
    meaning: 'The request came in 0-RTT.',
    fix: `${nothing} Later requests of the connection are not affected.`,
  },
  'page-session': {
    meaning: 'The request came over the session of the page loader.',
    fix: 'Switch it off where responses are large: `page_loader: off`.',
  },
  'passed-on': {
    meaning: 'Another backend passed the request on, as it has no route for it.',
    fix: 'Give that backend the route.',
  },
  'multi-end': {
    meaning: 'The client speaks Multi-End and may ask the backends of the route over paths of its own.',
    fix: `${nothing} Leave \`path\` out of the \`delivery\` of the route where its responses should be returned all the same.`,
  },
  'no-path': {
    meaning: 'The route permits a path of the client to the backend and no `return`, and the client asked the gateway.',
    fix: 'Add `return` to the `delivery` of the route: most clients do not speak Multi-End.',
  },
  'no-return': {
    meaning: 'The backend has no `return`, or has not said yet that it has.',
    fix: "Add `return` to the backend, with the gateway's address in `from`.",
  },
  'no-runs': {
    meaning: 'Gateway and backend have no connection for runs, or the backend does not have the key for grants yet.',
    fix: 'If it lasts: `sheaf status` of the gateway says why. All nodes need the same release.',
  },
  unreachable: {
    meaning:
      'The backend sends, and nothing of it reaches the client, or within the last ten minutes another client of its network.',
    fix: "Let the network pass packets of the backend with the gateway's address: `rp_filter`, filters of clouds, routers between them.",
  },
  unconfirmed: {
    meaning: "The handshake of the client's connection is not confirmed yet.",
    fix: `${nothing} It takes one round trip.`,
  },
  paths: {
    meaning: 'The client opened a second path, or abandoned the first.',
    fix: `${nothing} It lasts as long as the client has several paths.`,
  },
  backends: {
    meaning: "As many other backends as possible send to the client's connection.",
    fix: 'Let fewer backends have a part in what one client loads.',
  },
  taken: { meaning: 'The response has been offered to a backend already.', fix: 'Report it as a fault of Sheaf.' },
  grants: {
    meaning: "Backends send 128 other responses to the client's connection, and no more at a time.",
    fix: nothing,
  },
  ended: { meaning: "The client's connection, or the session with the backend, has just ended.", fix: nothing },
  response: {
    meaning:
      'The response has no body that a backend sends itself: a status such as 304 or 404, or another kind of target.',
    fix: nothing,
  },
  small: { meaning: 'The body is so small that a grant costs more than to proxy it.', fix: nothing },
  unknown: {
    meaning: 'No other backend could go on with the body: its length or its strong entity tag is not known.',
    fix: 'Let the upstream send `content-length` and an `etag` that is not weak. A file gets its strong one some seconds after it changed.',
  },
  draining: { meaning: 'The backend is about to stop.', fix: nothing },
  busy: { meaning: 'The backend holds as many responses, files or bytes as it may.', fix: 'Add backends.' },
  refused: {
    meaning: 'The backend cannot use the grant.',
    fix: "The backend's log says why. Most often `return.from` does not name the address at which the client reached the gateway.",
  },
  silent: {
    meaning: 'The gateway heard nothing of the backend for 600 ms while it sent.',
    fix: "Look at the backend's load, and at the connection between both nodes.",
  },
  failed: {
    meaning:
      'The backend could not go on, for instance as the file had changed, or its answer to the offer made no sense.',
    fix: 'Replace files by renaming instead of writing into them.',
  },
  gone: { meaning: 'The backend, or the session with it, ended while it sent.', fix: nothing },
} as const satisfies Record<string, Explanation>;

export type FallbackReason = keyof typeof fallbackReasons;

/** Returns what an operator can do about those of these reasons that have a remedy. */
export function remediesFor(reasons: ReadonlySet<string>): { reason: string; fix: string }[] {
  return Object.entries<Explanation>(fallbackReasons).flatMap(([reason, { fix }]) =>
    reasons.has(reason) && !fix.startsWith(nothing) ? [{ reason, fix }] : [],
  );
}

/** Returns all reasons as a table of Markdown. */
export function fallbackTable(): string {
  const rows = Object.entries<Explanation>(fallbackReasons).map(
    ([reason, { meaning, fix }]) => `| \`${reason}\` | ${meaning} | ${fix} |`,
  );
  return ['| reason | what was so | what to do |', '| --- | --- | --- |', ...rows].join('\n');
}
