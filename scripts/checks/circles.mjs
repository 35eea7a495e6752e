// Refuses circles: a file must not import itself through others, and a folder must not import one that imports it.
import { dirname, join } from 'node:path';
import { fileGraph } from './imports.mjs';

/** Trees whose folders form layers, each folder below another by itself */
const layered = ['native/lib', 'gateway/src', 'web-client/src', 'cli/src', 'bench/src'].map(
  (path) => `packages/${path}`,
);
/** Trees whose top folders form one layer with their subfolders */
const layeredWithSubfolders = ['native', 'gateway', 'web-client', 'cli', 'bench'].map(
  (name) => `packages/${name}/test`,
);

const allTrees = [
  ...['scripts', ...layered].map((path) => ({ path, withSubfolders: false })),
  ...['packages/native/src', ...layeredWithSubfolders].map((path) => ({ path, withSubfolders: true })),
];

/** Searches all trees of sources below `root`. `found` has one line for each circle. */
export function checkCircles(root, trees = allTrees) {
  const found = [];
  let folders = 0;
  let files = 0;
  for (const { path, withSubfolders } of trees) {
    const graph = fileGraph(join(root, path));
    const arrows = new Map([...graph].map(([file, imports]) => [file, new Set(imports.map(({ target }) => target))]));
    const between = folderGraph(arrows, withSubfolders);
    files += arrows.size;
    folders += [...between.keys()].filter((node) => node.endsWith('/')).length;
    const circles = new Set([...circlesOf(arrows), ...circlesOf(between)].map((circle) => circle.join(' -> ')));
    for (const circle of circles) found.push(`${path}: circle ${circle}`);
  }
  return { found, folders, files, trees: trees.length };
}

/** `0 circles in N folders, M files of T trees of sources` */
export function describeCircles({ found, folders, files, trees }) {
  return `${found.length} ${found.length === 1 ? 'circle' : 'circles'} in ${folders} folders, ${files} files of ${trees} trees of sources`;
}

/**
 * Builds the graph of folders. A file outside of folders is a node of its own: `index.ts` is the roof of a package, and
 * others are its ground.
 */
function folderGraph(files, withSubfolders) {
  const graph = new Map();
  for (const [file, targets] of files) {
    const from = folderOf(file, withSubfolders);
    if (!graph.has(from)) graph.set(from, new Set());
    for (const target of targets)
      if (folderOf(target, withSubfolders) !== from) graph.get(from).add(folderOf(target, withSubfolders));
  }
  return graph;
}

function folderOf(file, withSubfolders) {
  if (dirname(file) === '.') return file;
  return `${withSubfolders ? file.split('/')[0] : dirname(file)}/`;
}

/** Returns a shortest circle for every set of nodes that reach each other. */
function circlesOf(graph) {
  const circles = [];
  const seen = new Set();
  for (const start of [...graph.keys()].sort()) {
    if (seen.has(start)) continue;
    const circle = wayBack(graph, start);
    if (circle === undefined) continue;
    circles.push(circle);
    for (const node of mutual(graph, start)) seen.add(node);
  }
  return circles;
}

function wayBack(graph, start) {
  const before = new Map();
  const queue = [start];
  for (const node of queue) {
    for (const next of graph.get(node) ?? []) {
      if (next === start) {
        const way = [start];
        for (let step = node; step !== start; step = before.get(step)) way.push(step);
        return [...way, start].reverse();
      }
      if (before.has(next)) continue;
      before.set(next, node);
      queue.push(next);
    }
  }
  return undefined;
}

/** Returns all nodes that `start` reaches and that reach `start`. */
function mutual(graph, start) {
  return [...reached(graph, start)].filter((node) => reached(graph, node).has(start));
}

function reached(graph, start) {
  const found = new Set();
  const queue = [start];
  for (const node of queue) {
    for (const next of graph.get(node) ?? []) {
      if (found.has(next)) continue;
      found.add(next);
      queue.push(next);
    }
  }
  return found;
}
