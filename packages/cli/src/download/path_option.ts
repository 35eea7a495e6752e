import { isIP } from 'node:net';
import { UserError } from '@sheaf/gateway/client';

interface Endpoint {
  address: string;
  port?: number;
}

/** Form of a path on the command line */
export const pathForm = 'LOCAL[:PORT][>REMOTE[:PORT]][,backup][,weight=N]';

/** One `--path`, in `pathForm` */
export interface PathOption {
  /** Text of the option, as the user wrote it */
  text: string;
  local: Endpoint;
  remote?: Endpoint;
  backup: boolean;
  /** Share of the traffic under the scheduler `weighted`; default: 1 */
  weight?: number;
}

const endpoint = String.raw`(?:\[([^\]]*)\]|([^\s:>,[\]]+))(?::(\d{1,5}))?`;
const grammar = new RegExp(`^${endpoint}(?:>${endpoint})?((?:,[^,]*)*)$`);

const maxWeight = 1_000;

/** Parses one `--path`. @throws UserError */
export function parsePathOption(text: string): PathOption {
  const match = grammar.exec(text);
  const refuse = (why: string): UserError =>
    new UserError('USAGE', `--path ${text} ${why}`, {
      hint: `write ${pathForm}, such as --path 127.0.0.2 or --path "[2001:db8::7]>[2001:db8::1]:443,backup"`,
    });
  if (!match) throw refuse('is not a path');
  const local = parseEndpoint(match[1], match[2], match[3]);
  const named = match[4] !== undefined || match[5] !== undefined;
  const remote = named ? parseEndpoint(match[4], match[5], match[6]) : undefined;
  for (const end of [local, remote])
    if (end === null) throw refuse('has an end that is no IP address, or no port from 1 to 65535');
  if (remote && local && isIP(local.address) !== isIP(remote.address)) throw refuse('joins IPv4 with IPv6');
  return { text, local: local!, ...(remote ? { remote } : {}), ...parseUse(match[7] ?? '', refuse) };
}

/** Parses the words after the addresses, each with a comma before it. */
function parseUse(text: string, refuse: (why: string) => UserError): Pick<PathOption, 'backup' | 'weight'> {
  const words = text.split(',').slice(1);
  const weights = words.filter((word) => word.startsWith('weight=')).map((word) => word.slice('weight='.length));
  const backups = words.filter((word) => word === 'backup').length;
  const unknown = words.find((word) => word !== 'backup' && !word.startsWith('weight='));
  if (unknown !== undefined) throw refuse(`has \`${unknown}\`, which is neither \`backup\` nor \`weight=N\``);
  if (backups > 1 || weights.length > 1) throw refuse('says something twice');
  const [written] = weights;
  if (written === undefined) return { backup: backups > 0 };
  const weight = /^\d{1,4}$/.test(written) ? Number(written) : 0;
  if (weight < 1 || weight > maxWeight) throw refuse(`has a weight that is no whole number from 1 to ${maxWeight}`);
  return { backup: backups > 0, weight };
}

/**
 * Parses an address with an optional port; null when the text is none. IPv6 addresses stand in brackets, IPv4 addresses
 * do not.
 */
function parseEndpoint(
  bracketed: string | undefined,
  plain: string | undefined,
  portText: string | undefined,
): Endpoint | null {
  const address = bracketed ?? plain ?? '';
  const port = portText === undefined ? undefined : Number(portText);
  if (isIP(address) !== (bracketed === undefined ? 4 : 6)) return null;
  if (port !== undefined && (port < 1 || port > 65_535)) return null;
  return { address, ...(port === undefined ? {} : { port }) };
}
