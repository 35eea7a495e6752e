import { UserError } from '../errors/user_error.js';

/** A proxy for UDP, by its template of URIs (RFC 9298 §2) */
export interface ProxyTemplate {
  host: string;
  port: number;
  /** `:authority` of its requests */
  authority: string;
  /** Returns the path of the request for a target. */
  pathTo(host: string, port: number): string;
}

/** Bytes of UDP payload that carry a packet of 1200 bytes in a tunnel, with which a client of a proxy begins */
export const outerDatagram = 1_350;

/** Where a proxy serves that names no template */
const defaultTemplate = '/.well-known/masque/udp/{target_host}/{target_port}/';

/** A variable, or a list of variables of the query (RFC 6570 §3.2.2, §3.2.8, §3.2.9) */
const expression = /\{([?&]?)((?:target_host|target_port)(?:,(?:target_host|target_port))*)\}/g;

/** Reads `https://proxy.example`, or a template with `{target_host}` and `{target_port}`. @throws UserError */
export function parseProxyTemplate(text: string): ProxyTemplate {
  const [, origin = '', rest = ''] = /^(https:\/\/[^/?#{]+)([^#]*)$/.exec(text) ?? [];
  const url = URL.canParse(origin) ? new URL(origin) : undefined;
  const template = rest === '' || rest === '/' ? defaultTemplate : rest;
  const named = [...template.matchAll(expression)].flatMap(([, , names = '']) => names.split(','));
  const isWhole = ['target_host', 'target_port'].every((name) => named.filter((each) => each === name).length === 1);
  const isKnown = isWhole && !/[{}]/.test(template.replace(expression, ''));
  if (url?.username !== '' || url.password !== '' || !isKnown)
    throw new UserError('USAGE', `\`${withoutUser(text)}\` is no proxy for UDP`, {
      hint: 'write `https://proxy.example`, or a template with `{target_host}` and `{target_port}`',
    });
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? 443 : Number(url.port),
    authority: url.host,
    pathTo: (host, port) => expand(template, { target_host: host, target_port: String(port) }),
  };
}

/** What a message may show: a user may have written a password. */
const withoutUser = (text: string): string => text.replace(/\/\/[^/@]*@/, '//');

function expand(template: string, values: Readonly<Record<string, string>>): string {
  const path = template.replace(expression, (_whole, operator: string, names: string) => {
    const encoded = names.split(',').map((name) => [name, encodeURIComponent(values[name] ?? '')] as const);
    if (operator === '') return encoded.map(([, value]) => value).join(',');
    return operator + encoded.map(([name, value]) => `${name}=${value}`).join('&');
  });
  return path.startsWith('/') ? path : `/${path}`;
}
