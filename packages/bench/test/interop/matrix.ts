import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './programs.js';

/** What is tried with each implementation, in the order of the tables. */
export const clientFeatures = {
  parallel: 'parallel downloads',
  hello: 'ClientHello in two datagrams',
  retry: 'Retry',
  loss: '5 % loss',
  keyUpdate: 'key update',
  rebinding: 'rebinding',
  migration: 'migration',
  resumption: 'resumption',
  early: '0-RTT',
  handshakes: '50 handshakes',
  streams: 'WebTransport streams',
  datagrams: 'WebTransport datagrams',
  closes: 'WebTransport close codes',
} as const;

export const serverFeatures = {
  servesParallel: 'parallel downloads',
  servesRetry: 'Retry',
  servesLoss: '5 % loss',
  servesKeyUpdate: 'key update',
  servesRebinding: 'rebinding',
  servesMigration: 'migration',
  servesResumption: 'resumption',
  servesEarly: '0-RTT',
  servesHelloRetry: 'HelloRetryRequest to 0-RTT',
  servesHandshakes: '50 handshakes',
} as const;

export type Feature = keyof typeof clientFeatures | keyof typeof serverFeatures;

/** What an implementation cannot do that is no server, or is not tried as one. */
export const noServer = (reason: string): Partial<Record<Feature, string>> =>
  Object.fromEntries(Object.keys(serverFeatures).map((feature) => [feature, reason]));

/** `yes`, `no: reason` or `cannot: reason`. */
export type Verdict = 'yes' | `no: ${string}` | `cannot: ${string}`;
export type Verdicts = Record<Feature, Verdict>;

export interface Row {
  name: string;
  verdicts: Verdicts;
}

const verdictDirectory = join(import.meta.dirname, 'verdicts');
const documentPath = join(root, 'docs', 'reference', 'interoperability.md');
const [begin, end] = ['<!-- matrix: written by the tests -->', '<!-- end of the matrix -->'];

/** Keeps what a run found; returns false when something else was kept before. The document follows. */
export function keep(slug: string, row: Row): boolean {
  const path = join(verdictDirectory, `${slug}.json`);
  const text = `${JSON.stringify(row, undefined, 2)}\n`;
  if (existsSync(path) && readFileSync(path, 'utf8') === text) return true;
  mkdirSync(verdictDirectory, { recursive: true });
  writeFileSync(path, text);
  writeFileSync(documentPath, withMatrix(document(), keptRows()));
  return false;
}

export const document = (): string => readFileSync(documentPath, 'utf8');

export const keptRows = (): Row[] =>
  readdirSync(verdictDirectory)
    .sort()
    .map((file) => JSON.parse(readFileSync(join(verdictDirectory, file), 'utf8')) as Row);

/** The document with the tables of these rows. */
export function withMatrix(text: string, rows: readonly Row[]): string {
  const [before, after] = [text.indexOf(begin), text.indexOf(end)];
  if (before < 0 || after < before) throw new Error(`${documentPath} has no place for the matrix`);
  const parts = [
    '### As clients of a gateway',
    table(clientFeatures, rows),
    "### As servers of Sheaf's client",
    table(
      serverFeatures,
      rows.filter(({ verdicts }) =>
        Object.keys(serverFeatures).some((feature) => !isCannot(verdicts[feature as Feature])),
      ),
    ),
  ];
  return `${text.slice(0, before)}${begin}\n\n${parts.join('\n\n')}\n\n${text.slice(after)}`;
}

const isCannot = (verdict: Verdict): boolean => verdict.startsWith('cannot');

function table(features: Partial<Record<Feature, string>>, rows: readonly Row[]): string {
  const notes: string[] = [];
  const cell = (verdict: Verdict): string => {
    const [word, reason] = split(verdict);
    if (reason === undefined) return word;
    if (!notes.includes(reason)) notes.push(reason);
    return `${word} (${notes.indexOf(reason) + 1})`;
  };
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const lines = [
    line(['', ...Object.values(features)]),
    line(['---', ...Object.values(features).map(() => '---')]),
    ...rows.map(({ name, verdicts }) =>
      line([name, ...Object.keys(features).map((feature) => cell(verdicts[feature as Feature]))]),
    ),
  ];
  const list = notes.map((note, index) => `${index + 1}. ${note}`);
  return [lines.join('\n'), ...(list.length > 0 ? [list.join('\n')] : [])].join('\n\n');
}

function split(verdict: Verdict): [word: string, reason?: string] {
  const [word = '', ...rest] = verdict.split(': ');
  return rest.length === 0 ? [word] : [word, rest.join(': ')];
}
