import { filesOfNode, optionName, UserError, type LoadedNode } from '@sheaf/gateway';
import { lentFiles } from './containers.js';
import { objectName } from './kubernetes_pod.js';
import { objectNameOfNats } from './kubernetes_nats.js';
import { wantedNats } from './nats.js';
import type { Problem } from './problem.js';
import { unwritableCharacter } from './quoting.js';

/** Returns the texts of a configuration that generators write. Names and addresses have no other characters than letters and signs. */
const writtenValues = (loaded: LoadedNode): (Required<Pick<Problem, 'at' | 'shared'>> & { text: string })[] => [
  ...filesOfNode(loaded).map(({ path, at, shared }) => ({ text: path, at, shared })),
  ...(loaded.registry?.options.nats ?? []).map((text) => ({ text, at: ['registry', 'nats'], shared: true })),
];

/** A character that ends a line makes a line of its own of what follows, such as a command for root. */
export const unwritableValues = (loaded: LoadedNode): Problem[] =>
  writtenValues(loaded).flatMap(({ text, at, shared }) => {
    const character = unwritableCharacter(text);
    if (character === undefined) return [];
    return [
      {
        message: `${optionName(at)} has the character ${character}, which cannot be written into the files of a deployment`,
        hint: 'give it a name without that character, and write that one',
        at,
        shared,
      },
    ];
  });

/** Longest name of a channel: names of files and of credentials have 255 bytes, and it is a part of one. */
const longestChannelName = 200;

export const longChannelNames = ({ node }: LoadedNode): Problem[] =>
  Object.keys('channels' in node ? node.channels : {})
    .filter((name) => name.length > longestChannelName)
    .map((name) => ({
      message: 'the name of a channel is too long for the name of a file',
      hint: `write one of at most ${longestChannelName} characters`,
      at: ['channels', name],
    }));

/** A path is the end of its line, and systemd knows no quotes there: it takes spaces off, and `\` joins the next line. */
const unfitEnd = /(?: |(?<!\\)(?:\\\\)*\\)$/;

export const unfitCredentials = (loaded: LoadedNode): Problem[] =>
  lentFiles(loaded)
    .filter(({ path }) => unfitEnd.test(path))
    .map(({ path, at, shared }) => ({
      message: `the path of ${optionName(at)} ends in a ${path.endsWith(' ') ? 'space' : 'backslash'}, which systemd does not take as part of it`,
      hint: 'rename the file, and correct the path',
      at,
      shared,
    }));

/** `sheaf@NAME.service.d` is the name of a directory, which has at most 255 bytes. */
const longestUnitName = 255 - 'sheaf@.service.d'.length;

export const unfitUnitName = ({ name }: LoadedNode): Problem[] =>
  name.length <= longestUnitName
    ? []
    : [
        {
          message: 'the name of the node is too long for the name of a unit',
          hint: `write one of at most ${longestUnitName} characters`,
          at: [],
        },
      ];

/** A label (RFC 1123) with room for what is put behind it: `-files`, and the hash of a revision of a StatefulSet */
const isLabel = (name: string): boolean => name.length <= 52 && /[a-z0-9]$/.test(name);

export function unfitObjectNames(loaded: LoadedNode): Problem[] {
  const nats = wantedNats(loaded);
  const hint = 'write one of at most 40 characters with a letter or a digit at its end';
  return [
    ...(isLabel(objectName(loaded))
      ? []
      : [{ message: 'Kubernetes has no objects with the name of this node', hint, at: [] }]),
    ...(nats === undefined || isLabel(objectNameOfNats(nats))
      ? []
      : [
          {
            message: 'Kubernetes has no objects with the name of `site`',
            hint,
            at: ['registry', 'site'],
            shared: true,
          },
        ]),
  ];
}

/** What a unit takes as a program: no `"`, `'` and `\`, and a path from the root or the name of a program */
const unitProgram = /^(?!.*["'\\])(?:\/.*[^/]|\w[^/]*)$/;

/** Refuses options of the command line that cannot be written. @throws UserError */
export function refuseUnfitOptions(
  options: Readonly<Record<'image' | 'program', string> & { out: string | undefined }>,
): void {
  const { image, program, out } = options;
  for (const [name, text] of Object.entries({ image, program, out })) {
    const character = text === undefined ? undefined : unwritableCharacter(text);
    if (character !== undefined)
      throw new UserError(
        'DEPLOYMENT_UNFIT',
        `\`--${name}\` has the character ${character}, which cannot be written into the files of a deployment`,
        { hint: `write --${name} without that character` },
      );
  }
  if (!unitProgram.test(program))
    throw new UserError('DEPLOYMENT_UNFIT', '`--program` is nothing that a unit of systemd can run', {
      hint: 'write an absolute path without quotes and backslashes, such as --program /usr/bin/sheaf',
    });
}
