// The file THIRD_PARTY_LICENSES of a package that brings libraries of Debian. Names, versions, licences and texts come from
// Debian's copyright files.
import { readFileSync, realpathSync } from 'node:fs';
import { basename } from 'node:path';
import { StepError } from '../setup/process.mjs';

const commonLicences = '/usr/share/common-licenses';
const rule = '='.repeat(78);

/** Returns the text for libraries as `packedLibraries` returns them. `read` returns the text of a file by its path. */
export function thirdPartyLicences(libraries, read = readText) {
  const names = [...new Set(libraries.map(({ source }) => source))].sort();
  const sources = new Map(names.map((name) => [name, libraries.filter(({ source }) => source === name)]));
  const texts = new Map([...sources].map(([source, [first]]) => [source, copyrightOf(first, read)]));
  const named = [...new Set([...texts.values()].flatMap(commonLicencesIn))].sort();
  return [
    introduction,
    ...[...sources].map(([source, of]) => describe(source, of, texts.get(source))),
    ...[...texts].map(([source, text]) => section(`Copyright and licences of ${source}`, text)),
    ...named.map((name) => section(`The text ${commonLicences}/${name}, which is named above`, readCommon(name, read))),
  ].join('\n');
}

const introduction = `Libraries of others in this package

The folder build/Release/libraries has libraries of Debian as Debian distributes them, without a
change. The addon in build/Release links to them when it is loaded. Each of them, those under the
GNU Lesser General Public License (LGPL) among them, is a shared object of its own and may be
replaced: put a file of the same name and interface in its place, or remove it to use the one of
the system. \`npm_config_build_from_source=true npm rebuild @sheaf/native\` builds an addon that uses
the system's libraries alone.

Their sources are the source packages of Debian that are named below, in the versions that are
named there. On a system with Debian's deb-src entries, \`apt-get source NAME=VERSION\` fetches them.

The addon also contains code from the headers of node-addon-api, which npm installs beside this
package with its licence (MIT).
`;

function describe(source, libraries, text) {
  const [{ sourceVersion }] = libraries;
  const files = libraries.map(({ name, package: owner, version }) => `  ${name} (package ${owner} ${version})\n`);
  return `${source} ${sourceVersion}\n  licence: ${libraryLicence(text, source)}\n${files.join('')}`;
}

const section = (title, text) => `${rule}\n${title}\n${rule}\n\n${text.trimEnd()}\n`;

/**
 * Returns the licence of a library by its Debian copyright file. A machine-readable file states it for the sources in C, or else for
 * all files. Others say it in a sentence. @throws StepError when the file says it in neither way
 */
export function libraryLicence(text, source) {
  const paragraphs = text.split(/\n\s*\n/).map(fieldsOf);
  const about = (pattern) => paragraphs.find(({ Files = '' }) => Files.split(/\s+/).includes(pattern))?.License;
  const stated = about('*.c') ?? about('*');
  if (stated) return stated.split('\n')[0].trim();
  const [, sentence] = /library (?:itself )?is licensed (?:under|as) ([^,;]+)[,;]\s/.exec(text) ?? [];
  if (sentence) return sentence.replaceAll(/\s+/g, ' ');
  throw new StepError(`The licence of ${source} was not found in its copyright file.`, {
    cause: 'the file states no licence in a form that `libraryLicence` of scripts/pack/licences.mjs knows',
  });
}

/** Reads the fields of a paragraph of a machine-readable copyright file. */
function fieldsOf(paragraph) {
  const fields = [...paragraph.matchAll(/^([A-Z][\w-]*):[ \t]*(.*(?:\n[ \t].*)*)/gm)];
  return Object.fromEntries(fields.map(([, name, value]) => [name, value]));
}

const copyrightOf = (library, read) => read(`/usr/share/doc/${library.package}/copyright`);

/** Returns the licences that a copyright file refers to instead of containing them. */
const commonLicencesIn = (text) =>
  [...text.matchAll(/\/usr\/share\/common-licenses\/([A-Za-z]+(?:-\d+(?:\.\d+)?)?)/g)].map(([, name]) => newest(name));

/** `GPL` is a link to the newest version of it. */
function newest(name) {
  try {
    return basename(realpathSync(`${commonLicences}/${name}`));
  } catch {
    return name;
  }
}

const readCommon = (name, read) => read(`${commonLicences}/${name}`);

function readText(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new StepError(`${path} is missing.`, { cause: `${error.message}; a package without licences is not made` });
  }
}
