// Finds symbols that nothing uses and that no compiler reports: what a module exports, and constants of C++.
import { readTracked } from './tracked_files.mjs';

const sources = /^(?:packages|scripts|fixtures)\/.*\.(?:cc|h|html|js|json|mjs|ts)$/;

/** Symbols that may stay without a user here, each with the reason */
const exceptions = new Map([
  ['checkQuicheInit', 'The WebTransport library calls a function of this name.'],
  ['k_spin_bit', 'The list of bits in the first byte of a packet is whole (RFC 9000, section 17).'],
]);

const exported = /^export (?:async )?(?:const|function\*?|class|abstract class) (\w+)/gm;
const constant = /^ *(?:inline |static )*const(?:expr|init)? [\w:<>, ]+ (k_\w+)/gm;

/** Returns one line for each function, class and constant that is exported, or a constant of C++, and not used. */
export function checkUnused(root) {
  return findUnused(readTracked(root, sources));
}

/** A symbol is used when its name stands in a second place. Types may be there for users of a package. */
export function findUnused(files) {
  const places = new Map();
  for (const { text } of files)
    for (const [word] of text.matchAll(/\w+/g)) places.set(word, (places.get(word) ?? 0) + 1);
  return files.flatMap(({ path, text }) =>
    [...text.matchAll(/\.(?:cc|h)$/.test(path) ? constant : exported)]
      .filter(([, name]) => places.get(name) === 1 && !exceptions.has(name))
      .map(({ 1: name, index }) => `${path}:${text.slice(0, index).split('\n').length}: nothing uses ${name}`),
  );
}
