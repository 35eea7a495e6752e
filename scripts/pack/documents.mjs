// The Markdown files of a packed package. In the repository they link to each other across folders that npm does not
// install. In a package they link to what it brings and to what the packages beside it bring; of anything else they say where it is
// in the repository.
import { dirname, join, normalize, relative } from 'node:path/posix';
import { links } from '../checks/documents.mjs';

/** The package that brings the documents for those who use Sheaf: every program of Sheaf depends on it. */
export const documentsHome = 'gateway';
const documents = /^docs\/(?:guide|reference)\//;

/**
 * Returns the Markdown files that a package brings, by their path in the package. `files` has the Markdown files of the repository by their
 * path, `shipped` the paths in each package by its short name, and `dependencies` the packages that are installed beside this one.
 */
export function packDocuments(name, { files, shipped, dependencies }) {
  const reachable = new Set([name, ...dependencies]);
  const packed = new Map();
  for (const [path, text] of files) {
    const own = placeOf(path);
    if (own?.name !== name || !isShipped(own, shipped)) continue;
    packed.set(
      own.path,
      replaceLinks(text, ({ label, target }) => {
        if (/^(?:[a-z]+:|#)/.test(target)) return `[${label}](${target})`;
        const [file, anchor] = target.split('#');
        const named = normalize(join(dirname(path), file));
        const place = placeOf(named);
        if (!place || !reachable.has(place.name) || !isShipped(place, shipped))
          return `${label} (\`${named}\` of the repository)`;
        const link = relative(dirname(installed(own)), installed(place));
        return `[${label}](${anchor === undefined ? link : `${link}#${anchor}`})`;
      }),
    );
  }
  return packed;
}

/** Returns where a file of the repository is in a package. */
function placeOf(path) {
  if (documents.test(path)) return { name: documentsHome, path };
  const [, name, rest] = /^packages\/([^/]+)\/(.+)$/.exec(path) ?? [];
  return name === undefined ? undefined : { name, path: rest };
}

const installed = ({ name, path }) => `${name}/${path}`;

/** A folder counts when a file in it does. */
function isShipped({ name, path }, shipped) {
  if (name === documentsHome && documents.test(path)) return true;
  const paths = [...(shipped.get(name) ?? [])];
  return paths.some((each) => each === path || each.startsWith(`${path}/`));
}

/** `links` knows what is code, where brackets are no link. */
function replaceLinks(text, replace) {
  const real = new Map(links(text).map(({ target, index }) => [index, target]));
  return text.replace(/!?\[((?:[^\]\\]|\\.)*)\]\(([^)\s]+)\)/g, (whole, label, target, offset) =>
    real.has(offset + whole.lastIndexOf('](')) ? replace({ label, target }) : whole,
  );
}
