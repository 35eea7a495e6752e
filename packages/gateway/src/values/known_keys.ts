import { distance } from 'fastest-levenshtein';
import type { ValuePath } from './document.js';

interface SchemaNode {
  properties?: Record<string, SchemaNode>;
  items?: SchemaNode;
  anyOf?: SchemaNode[];
}

/** Returns the keys that the JSON Schema knows for the map at `path`. A union offers the keys of all its maps. */
export function knownKeys(schema: unknown, path: ValuePath): string[] {
  let nodes = [schema as SchemaNode];
  for (const step of path) {
    nodes = nodes
      .flatMap(alternatives)
      .map((node) => (typeof step === 'number' ? node.items : node.properties?.[String(step)]))
      .filter((node) => node !== undefined);
  }
  return nodes.flatMap(alternatives).flatMap((node) => Object.keys(node.properties ?? {}));
}

function alternatives(node: SchemaNode): SchemaNode[] {
  return node.anyOf ? node.anyOf.flatMap(alternatives) : [node];
}

/** Returns the candidate that was probably meant: at most a third of its letters differ. */
export function closest(word: string, candidates: readonly string[]): string | undefined {
  const ranked = candidates
    .map((candidate) => ({ candidate, edits: distance(word.toLowerCase(), candidate.toLowerCase()) }))
    .sort((left, right) => left.edits - right.edits);
  const best = ranked[0];
  return best && best.edits <= Math.max(1, Math.ceil(best.candidate.length / 3)) ? best.candidate : undefined;
}
