import { spawn } from 'node:child_process';
import { experimentCommands, type Command } from '@sheaf/cli';
import { exitCodes, UserError } from '@sheaf/gateway';

const actions = ['list', 'run', 'report', 'documents'] as const;

interface EvidenceOptions {
  action: (typeof actions)[number];
  ids: string[];
  json: boolean;
  quick: boolean;
  again: boolean;
  check: boolean;
  open: boolean;
}

/** The actions that accept an option */
const takenBy: Readonly<Record<string, readonly (typeof actions)[number][]>> = {
  json: ['list'],
  quick: ['run'],
  again: ['run'],
  check: ['run', 'documents'],
  open: ['report'],
};

export const evidence: Command<EvidenceOptions> = {
  ...experimentCommands.evidence,
  options: (yargs) =>
    yargs
      .positional('action', {
        choices: actions,
        demandOption: true,
        describe: 'list the artefacts, run them, write the report, or write the tables of documents',
      })
      .positional('ids', {
        type: 'string',
        array: true,
        default: [],
        describe: 'run: artefacts such as page-loads/figure-6, or a paper such as page-loads; default: all',
      })
      .option('json', { type: 'boolean', default: false, describe: 'list: print only JSON on standard output' })
      .option('quick', {
        type: 'boolean',
        default: false,
        describe: 'run: a few runs of each, kept apart from full ones',
      })
      .option('again', { type: 'boolean', default: false, describe: 'run: also what is up to date' })
      .option('check', {
        type: 'boolean',
        default: false,
        describe:
          'run: end with code 5 when a claim is contradicted or an arm of it is missing; documents: when a table differs from the results',
      })
      .option('open', { type: 'boolean', default: false, describe: 'report: show it in the default browser' })
      .example('$0 evidence list', 'Every figure and table of the five papers, with state and verdict')
      .example('$0 evidence run --quick', 'A few runs of every artefact')
      .example('$0 evidence run page-loads/figure-6', 'All runs of one artefact; goes on after Ctrl-C')
      .example('$0 evidence report --open', 'Published figures beside ours, on one page')
      .example('$0 evidence documents', 'Tables of README.md and docs from the full results'),
  async run({ action, ids, open, ...options }, world) {
    for (const [option, owners] of Object.entries(takenBy)) {
      if (({ open, ...options } as Record<string, unknown>)[option] === true && !owners.includes(action))
        throw new UserError('USAGE', `\`evidence ${action}\` does not take --${option}`, {
          hint: `use it with ${owners.map((owner) => `\`evidence ${owner}\``).join(' or ')}`,
        });
    }
    if (ids.length > 0 && action !== 'run')
      throw new UserError('USAGE', `\`evidence ${action}\` is about all artefacts`, {
        hint: `leave out ${ids.join(' ')}`,
      });
    const { listEvidence, reportEvidence, runEvidence, writeEvidenceDocuments } =
      await import('../evidence/evidence.js');
    const { openLaboratory } = await import('../evidence/laboratory.js');
    const laboratory = await openLaboratory();
    const output = {
      print: (line: string): void => void world.stdout.write(`${line}\n`),
      progress: (line: string): void => void world.stderr.write(`evidence ${line}\n`),
    };
    if (action === 'list') return listEvidence(laboratory, options, output);
    if (action === 'run') return runEvidence(laboratory, { ids, ...options }, output);
    if (action === 'documents') return writeEvidenceDocuments(laboratory, options, output);
    const page = await reportEvidence(laboratory, output);
    if (open)
      spawn('xdg-open', [page], { detached: true, stdio: 'ignore' })
        .on('error', () => undefined)
        .unref();
    return exitCodes.success;
  },
};
