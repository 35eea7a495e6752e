import { exitCodes, UserError, version } from '@sheaf/gateway/client';
import yargs, { type Argv } from 'yargs';
import type { AddCommand, Command } from './command.js';
import { experimentCommands, loadExperiments, type ExperimentCommandName } from './experiments.js';
import { reportError } from './report_error.js';
import { write, type World } from './world.js';

type Load = (add: AddCommand, world: World) => Promise<void> | void;

/**
 * Commands in the order of the help. Each is loaded on demand, so `sheaf fetch` loads nothing that only serving needs.
 */
const commands: Record<string, Load> = {
  up: async (add) => add((await import('./commands/up.js')).up),
  init: async (add) => add((await import('./commands/init.js')).init),
  check: async (add) => add((await import('./commands/check.js')).check),
  deploy: async (add) => add((await import('./commands/deploy.js')).deploy),
  schema: async (add) => add((await import('./commands/schema.js')).schema),
  healthcheck: async (add) => add((await import('./commands/healthcheck.js')).healthcheck),
  status: async (add) => add((await import('./commands/status.js')).status),
  reload: async (add) => add((await import('./commands/reload.js')).reload),
  upgrade: async (add) => add((await import('./commands/upgrade.js')).upgrade),
  dashboard: async (add) => add((await import('./commands/dashboard.js')).dashboard),
  backend: async (add) => add((await import('./commands/backend.js')).backend),
  publish: async (add) => add((await import('./commands/publish.js')).publish),
  watch: async (add) => add((await import('./commands/watch.js')).watch),
  fetch: async (add) => add((await import('./commands/fetch.js')).fetch),
  cert: async (add) => add((await import('./commands/cert.js')).cert),
  keys: async (add) => add((await import('./commands/keys.js')).keys),
  registry: async (add) => add((await import('./commands/registry.js')).registry),
  secrets: async (add) => add((await import('./commands/secrets.js')).secrets),
  demo: async (add) => add((await import('./commands/demo.js')).demo),
  link: async (add) => add((await import('./commands/link.js')).link),
  record: experiments('record'),
  bench: experiments('bench'),
  evidence: experiments('evidence'),
};

/** Loads the named command of @sheaf/bench. If that is absent, adds a command that tells how to install it. */
function experiments(name: ExperimentCommandName): Load {
  return async (add, world) => {
    try {
      (await loadExperiments(`sheaf ${name}`, world)).addCommand[name](add);
    } catch (error) {
      add({
        // Accepts any arguments, even `--help`, and always prints the same advice.
        usage: `${name} [arguments..]`,
        summary: experimentCommands[name].summary,
        options: (yargs) => yargs.help(false).strict(false).strictCommands(false),
        run: () => Promise.reject(error as Error),
      });
    }
  };
}

/** Commands of earlier versions, and their current names */
const renamedCommands: Readonly<Record<string, string>> = { end: 'backend' };

const epilogue = `Exit codes:
  0    done
  1    a fault of Sheaf itself
  2    the command line or the configuration is wrong
  3    the machine refuses: a port, a file, a certificate, a missing build
  4    the other side cannot be reached or broke off
  5    the command ran, and the result is negative
  130  ended at once by Ctrl-C (a gateway: by the second one)

Documentation: docs/reference/cli.md, docs/reference/configuration.md, docs/reference/errors.md`;

/** Runs the command that the world's arguments name. Resolves with the exit code, and never rejects. */
export async function run(world: World): Promise<number> {
  try {
    return await dispatch(world);
  } catch (error) {
    return reportError(error, world);
  }
}

async function dispatch(world: World): Promise<number> {
  refuseRenamed(world.args);
  let outcome: Promise<number> | undefined;
  const parser = yargs()
    .scriptName('sheaf')
    .usage('$0 COMMAND\n\nServes web pages over HTTP/3, WebTransport, HTTP/2 and HTTP/1.1 from one configuration file.')
    .version(version)
    .alias({ h: 'help', v: 'version' })
    .strict()
    .demandCommand(1, 'name a command')
    .recommendCommands()
    .completion('completion', 'Print a completion script for bash or zsh')
    .parserConfiguration({ 'boolean-negation': false, 'greedy-arrays': false })
    .wrap(100)
    .epilogue(epilogue)
    .exitProcess(false)
    .fail((message: string | undefined, error: Error | undefined) => {
      throw error ?? usageError(message ?? '', world.args[0] ?? '');
    });
  const add: AddCommand = <Options>(command: Command<Options>): void => {
    let built: Argv | undefined;
    parser.command(
      command.usage,
      command.summary,
      (own: Argv) => {
        built = own.epilogue('');
        command.options(built);
        return built;
      },
      (options) => {
        outcome = command.run(lastValues(options, built) as Options, world);
      },
    );
  };
  for (const load of wantedCommands(world.args)) await load(add, world);
  const output = await parse(parser, world);
  if (output !== '') await write(world.stdout, output.endsWith('\n') ? output : `${output}\n`);
  return outcome ?? exitCodes.success;
}

/** Refuses the earlier name of a command. @throws UserError */
function refuseRenamed([name = '', ...rest]: readonly string[]): void {
  const now = Object.hasOwn(renamedCommands, name) ? renamedCommands[name] : undefined;
  if (now !== undefined)
    throw new UserError('USAGE', `unknown command \`${name}\``, {
      hint: `it is called \`sheaf ${[now, ...rest].join(' ')}\` now`,
    });
}

/** The one that is named; all of them where help, a completion or a suggestion is wanted; none for the version. */
function wantedCommands([name = '']: readonly string[]): Load[] {
  if (name === '--version' || name === '-v') return [];
  const named = Object.hasOwn(commands, name) ? commands[name] : undefined;
  return named ? [named] : Object.values(commands);
}

/**
 * Keeps only the last value of a repeated option, unless the option accepts several. (yargs' own setting would apply to
 * those as well.)
 */
function lastValues(options: object, built: unknown): object {
  const { array } = (built as { getOptions(): { array: string[] } }).getOptions();
  const camelCase = (name: string): string =>
    name.replace(/-([a-z])/g, (_match, letter: string) => letter.toUpperCase());
  const several = new Set(['_', ...array, ...array.map(camelCase)]);
  return Object.fromEntries(
    Object.entries(options).map(([name, value]: [string, unknown]) => [
      name,
      Array.isArray(value) && !several.has(name) ? (value.at(-1) as unknown) : value,
    ]),
  );
}

/** Runs the parser. Resolves with yargs' own output: help, version or completion. */
async function parse(parser: Argv, world: World): Promise<string> {
  let text = '';
  await parser.parseAsync([...world.args], {}, (error, _options, output) => {
    if (error) throw error;
    text = output;
  });
  return text;
}

/** Rewrites yargs' complaint in the words of our other errors. */
function usageError(message: string, command: string): UserError {
  const help = '`sheaf --help` shows the commands, `sheaf COMMAND --help` their options';
  if (message.startsWith('Did you mean'))
    return new UserError('USAGE', `unknown command \`${command}\``, {
      hint: message.replace(/^D/, 'd').replace(/mean (.*)\?$/, 'mean `$1`?'),
    });
  if (message.startsWith('Not enough non-option'))
    return new UserError('USAGE', `\`sheaf ${command}\` needs a value`, {
      hint: `\`sheaf ${command} --help\` shows which`,
    });
  return new UserError(
    'USAGE',
    message.replace(/^./, (letter) => letter.toLowerCase()),
    { hint: help },
  );
}
